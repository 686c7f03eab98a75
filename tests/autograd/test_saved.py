"""What nodes show of what they have saved, and PyTorch's nodes within one of torchlike's: as libraries read them that draw graphs."""

import gc
import importlib.util
import weakref

import pytest

import torchlike as torch
from tests.golden.record_saved_names import FILE, names_of_nodes
from torchlike.autograd import Function
from torchlike.nn import functional as F

pytestmark = pytest.mark.composed


def leaf(*shape):
    return torch.ones(*shape, requires_grad=True)


def node(tensor):
    return tensor.grad_fn


def saved_names(tensor):
    return [name for name in dir(node(tensor)) if name.startswith("_saved_")]


def graph(node):
    """The names of the nodes that a node leads to, nested."""
    if node is None:
        return None
    return [type(node).__name__.replace("AccumulateGrad", "leaf"), *[graph(each) for each, _ in node.next_functions]]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")
def test_the_names_are_pytorchs():
    import json

    assert json.loads(FILE.read_text("utf-8")) == names_of_nodes()


def test_inputs_that_were_saved():
    a, b = leaf(2), leaf(2)
    product = node(a * b)
    assert product._saved_self is a and product._saved_other is b
    assert node(a * torch.ones(2))._saved_self is None  # nothing needs it
    later = node((a + 1) * b)._saved_self
    assert later.grad_fn.name() == "AddBackward0"
    assert node(a**2)._saved_exponent == 2
    assert node(a * 2)._saved_other.item() == 2
    with pytest.raises(AttributeError, match="^'MulBackward0' object has no attribute '_saved_result'$"):
        product._saved_result


def test_results_that_were_saved():
    y = leaf(2).exp()
    result = node(y)._saved_result
    assert torch.equal(result, y) and result.grad_fn is y.grad_fn and result is not y


def test_arguments():
    a = leaf(2, 3)
    assert node(a.softmax(-1))._saved_dim == 2**64 - 1  # PyTorch shows its integers without a sign
    total = node(a.sum(1))
    assert (total._saved_dim, total._saved_keepdim, total._saved_self_sym_sizes) == ((1,), False, (2, 3))
    assert node(a.transpose(0, 1))._saved_dim1 == 1 and node(a.permute(1, 0))._saved_dims == (1, 0)
    assert [index.tolist() for index in node(a[torch.tensor([0])])._saved_indices] == [[0]]
    assert saved_names(a + a) == ["_saved_alpha"] and saved_names(a.t()) == []


def test_those_of_a_linear_layer_are_pytorchs():
    x, weight, bias = leaf(2, 3), leaf(4, 3), leaf(4)
    y = node(F.linear(x, weight, bias))
    assert y._saved_mat1 is x and y._saved_mat2.shape == (3, 4) and y._saved_mat2.grad_fn.name() == "TBackward0"


def test_freed_or_overwritten():
    a = leaf(2)
    y = a * a
    y.sum().backward()
    with pytest.raises(RuntimeError, match="^Trying to backward through the graph a second time"):
        node(y)._saved_self
    b = leaf(2) * 1
    y = b * b
    b.add_(1)
    with pytest.raises(RuntimeError, match="^one of the variables needed for gradient computation has been modified"):
        node(y)._saved_self


def test_hooks_for_one_saved_tensor():
    a = leaf(2)
    y = a * a
    raw = node(y)._raw_saved_self
    raw.register_hooks(lambda tensor: tensor * 2, lambda tensor: tensor / 2 * 10)
    assert node(y)._saved_self.tolist() == [10.0, 10.0]
    with pytest.raises(RuntimeError, match="whose hooks have already been set. Hint: only one pair of hooks"):
        raw.register_hooks(lambda tensor: tensor, lambda tensor: tensor)
    y.sum().backward()
    assert a.grad is not None and a.grad.tolist() == [11.0, 11.0]
    with pytest.raises(RuntimeError, match="^Calling register_hooks on a saved tensor after it has been freed. Saved"):
        raw.register_hooks(lambda tensor: tensor, lambda tensor: tensor)
    with pytest.raises(RuntimeError, match="^Calling register_hooks on a saved tensor with value None is forbidden$"):
        node(a * 2)._raw_saved_self.register_hooks(lambda tensor: tensor, lambda tensor: tensor)


def test_hooks_for_what_a_function_has_saved():
    class Saves(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * ctx.saved_tensors[0]

    a = leaf(2)
    y = Saves.apply(a)
    first, second = node(y)._raw_saved_tensors
    first.register_hooks(lambda tensor: tensor * 2, lambda tensor: tensor * 0 + 7)
    with pytest.raises(RuntimeError, match="whose hooks have already been set"):
        first.register_hooks(lambda tensor: tensor, lambda tensor: tensor)
    with pytest.raises(RuntimeError, match="with value None is forbidden"):
        second.register_hooks(lambda tensor: tensor, lambda tensor: tensor)
    y.sum().backward()
    assert a.grad is not None and a.grad.tolist() == [7.0, 7.0]


# ---- nodes within nodes


def test_linear_layers_lead_to_pytorchs_nodes():
    weight, bias = leaf(4, 3), leaf(4)
    transposed = ["TBackward0", ["leaf"]]
    assert graph(node(F.linear(leaf(2, 3), weight, bias))) == ["AddmmBackward0", ["leaf"], ["leaf"], transposed]
    assert graph(node(F.linear(torch.ones(2, 3), weight, bias))) == ["AddmmBackward0", ["leaf"], None, transposed]
    assert graph(node(F.linear(leaf(2, 3), weight))) == ["MmBackward0", ["leaf"], transposed]
    viewed = ["ViewBackward0", ["leaf"]]
    inner = ["AddmmBackward0", ["leaf"], viewed, transposed]
    assert graph(node(F.linear(leaf(5, 2, 3), weight, bias))) == ["ViewBackward0", inner]
    assert graph(node(F.linear(leaf(5, 2, 3), weight))) == ["UnsafeViewBackward0", ["MmBackward0", viewed, transposed]]
    assert graph(node(leaf(5, 2, 3) @ leaf(3, 4))) == ["UnsafeViewBackward0", ["MmBackward0", viewed, ["leaf"]]]


def test_inner_nodes_stay_the_same_and_keep_nothing_alive():
    y = F.linear(leaf(2, 3), leaf(4, 3), leaf(4))
    inner = node(y).next_functions[2][0]
    assert inner is node(y).next_functions[2][0]
    with pytest.raises(NotImplementedError, match="^torchlike computes TBackward0 within AddmmBackward0"):
        inner.register_hook(lambda *gradients: None)
    outer = weakref.ref(node(y))
    gc.disable()
    try:
        del y, inner
        assert outer() is None
    finally:
        gc.enable()


def test_hooks_of_a_linear_node_see_gradients_in_pytorchs_order():
    seen = []
    y = F.linear(leaf(2, 3), leaf(4, 3), leaf(4))
    node(y).register_hook(lambda inputs, outputs: seen.extend(tuple(gradient.shape) for gradient in inputs))
    y.sum().backward()
    assert seen[:2] == [(4,), (2, 3)]


def test_a_saved_result_is_the_memory_of_the_result():
    y = leaf(2).exp()
    saved = node(y)._saved_result
    with torch.no_grad():
        y += 1
    assert saved.tolist() == y.tolist() and saved._version == y._version == 1


def test_a_hook_may_not_write_to_a_result_either():
    with pytest.raises(RuntimeError, match="^A saved tensor pack hook is modifying its input in place"):
        node(leaf(2).exp())._raw_saved_result.register_hooks(lambda tensor: tensor.add_(1), lambda tensor: tensor)
