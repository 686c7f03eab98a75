"""Hooks for several gradients, refused hooks on saved tensors, and counted writes: each as in PyTorch 2.13."""

import weakref

import pytest

import torchlike as torch
from torchlike.autograd import graph


def leaves(count: int) -> list[torch.Tensor]:
    return [torch.ones(2, requires_grad=True) for _ in range(count)]


def test_a_hook_for_all_gradients_comes_once_in_each_pass_that_reaches_some():
    x, y = leaves(2)
    w = x * 2
    seen: list[list[object]] = []
    handle = graph.register_multi_grad_hook(
        (x, y, w), lambda grads: seen.append([g if g is None else g.tolist() for g in grads])
    )
    (w * 3 + y).sum().backward()
    x.sum().backward()
    (y * 2).sum().backward()
    assert seen == [[[6, 6], [1, 1], [3, 3]], [[1, 1], None, None], [None, [2, 2], None]]
    handle.remove()
    (x * y).sum().backward()
    assert len(seen) == 3


def test_gradients_of_two_passes_are_never_mixed():
    x, y = leaves(2)
    seen: list[list[bool]] = []
    graph.register_multi_grad_hook((x, y), lambda grads: seen.append([g is None for g in grads]))

    def stop(gradient: torch.Tensor) -> None:
        raise ValueError("stop")

    broken = x * 1
    broken.register_hook(stop)
    with pytest.raises(ValueError, match="stop"):
        (broken + y).sum().backward()
    (x + y).sum().backward()
    assert seen[-1] == [False, False]


def test_a_hook_for_any_gradient_takes_the_first():
    x, y = leaves(2)
    seen: list[torch.Tensor] = []
    graph.register_multi_grad_hook((x, y), seen.append, mode="any")
    (x * 2 + y * 3).sum().backward()
    x.sum().backward()
    assert len(seen) == 2 and seen[1].tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got q"):
        graph.register_multi_grad_hook((x,), print, mode="q")


def test_hooks_on_saved_tensors_can_be_refused():
    with graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="^not here$"), graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        pass


def test_hooks_on_saved_tensors_see_no_python_number_that_changes():
    x = torch.tensor([0.5, -1.0], requires_grad=True)
    for step in range(8):  # after some steps the program takes the number as an input
        shapes: list[torch.Size] = []
        with graph.saved_tensors_hooks(lambda t, shapes=shapes: shapes.append(t.shape) or t, lambda t: t):
            y = torch.tanh(x * step) * x
        (gradient,) = torch.autograd.grad(y.sum(), x)
        assert shapes == [x.shape] * 3
        inner = torch.tanh(x.detach() * step)
        torch.testing.assert_close(gradient, inner + x.detach() * step * (1 - inner * inner))


def test_a_checkpoint_with_a_number_that_changes_computes_the_same_again():
    x, y = torch.tensor([0.5, -1.0], requires_grad=True), torch.ones(2, requires_grad=True)

    def norm_of_gradients(call, step):
        loss = (call(lambda x: torch.tanh(x * step) * x, x) * 0.5).pow(2).sum() + (y**3 * x).sum()
        total = sum((g**2).sum() for g in torch.autograd.grad(loss, [x, y], create_graph=True))
        return torch.autograd.grad(total, x)[0]

    for step in range(8):
        again = norm_of_gradients(lambda f, x: torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False), step)
        torch.testing.assert_close(again, norm_of_gradients(lambda f, x: f(x), step))


def test_a_counted_write_is_found_by_the_graph():
    x = torch.ones(1)
    graph.increment_version([x, x])
    assert x._version == 2
    storage = x.untyped_storage().data_ptr()
    graph.increment_version(x[:0])  # this only counts and writes nothing, so no check refuses it
    leaf = torch.ones(1, requires_grad=True)
    graph.increment_version(leaf)
    assert (x._version, leaf._version, x.untyped_storage().data_ptr()) == (3, 1, storage)
    with pytest.raises(RuntimeError, match=r"^increment_version expect a Iterable\[Tensor\] as input$"):
        graph.increment_version(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RuntimeError, match="^increment_version expects each element of the iterable to be a tensor$"):
        graph.increment_version([3])  # pyright: ignore[reportArgumentType]
    y = torch.ones(1, requires_grad=True) * 1
    z = y * y
    graph.increment_version(y.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def test_classes_of_nodes_are_called_as_the_nodes():
    (x,) = leaves(1)
    written = x * 1
    written[0] = 2.0
    cases = {
        "AddBackward0": x + 1, "PowBackward1": x**x, "SumBackward0": x.sum(), "ToCopyBackward0": x.double(), "CopySlices": written,
        "DoubledBackward": Doubled.apply(x),
    }  # fmt: skip
    for name, result in cases.items():
        node = result.grad_fn
        assert type(node).__name__ == name == node.name().rpartition("::")[2]
        assert isinstance(node, graph.Node)
        result.sum().backward()
    assert type((x + 1).grad_fn) is type((x + 2).grad_fn)
    assert repr(type((x + 1).grad_fn)) == "<class 'AddBackward0'>"
    assert repr(type(Doubled.apply(x).grad_fn)) == "<class 'torch.autograd.function.DoubledBackward'>"
    assert type((x + 1).grad_fn.next_functions[0][0]).__name__ == "AccumulateGrad"


def test_an_edge_has_names():
    (x,) = leaves(1)
    edge = graph.get_gradient_edge(x * 1)
    assert edge.output_nr == 0 and edge.node.name() == "MulBackward0" and isinstance(edge, graph.GradientEdge)


@pytest.mark.parametrize("retain", [False, True])
def test_a_graph_that_was_passed_through_holds_no_hooks_for_saved_tensors(retain):
    class Holder:
        """What a hook may hold: a whole parameter of which each device keeps a piece."""

    def multiply(x, w):
        packing, unpacking = Holder(), Holder()
        kept.extend([weakref.ref(packing), weakref.ref(unpacking)])

        def pack(tensor, holds=packing):
            return tensor

        def unpack(tensor, holds=unpacking):
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            return (x @ w).tanh().sum()

    kept = []
    x, w = torch.ones(2, 3), torch.ones(3, 3, requires_grad=True)
    loss = multiply(x, w)
    assert [reference() is None for reference in kept] == [True, False]  # the graph needs the second one
    loss.backward(retain_graph=retain)
    assert [reference() is None for reference in kept] == [True, not retain]
    assert loss.grad_fn is not None


def test_a_pack_hook_gets_leaves_themselves_and_others_with_their_history():
    x, w = torch.ones(2), torch.nn.Parameter(torch.full((2,), 3.0))
    h = w * 2
    seen = []

    def pack(tensor):
        seen.append((tensor is w, tensor.requires_grad, tensor.is_leaf, (tensor * 2).requires_grad))
        return (tensor,)

    with graph.saved_tensors_hooks(pack, lambda packed: packed[0]):
        y = (h * w).sum() + (w * x).sum()
        h.mul_(w)
    plain = (False, False, True, False)
    # Of ``x`` it is what it holds now: the operation may write to a tensor. So h's second value is no part of the first product.
    assert seen == [
        (True, True, True, False),
        (False, True, False, False),
        plain,
        (True, True, True, False),
        (False, True, False, False),
    ]
    (y + h.sum()).backward()
    assert w.grad is not None and w.grad.tolist() == [4 * 3.0 + 1 + 4 * 3.0] * 2


@pytest.mark.parametrize("wrong", [5, None, [1.0]])
def test_what_unpack_gives_back_is_a_tensor(wrong):
    text = f"^Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(wrong).__name__}$"
    x = torch.ones(2, requires_grad=True)
    with graph.saved_tensors_hooks(lambda tensor: tensor, lambda packed: wrong):
        y = (x * x).sum()
    with pytest.raises(TypeError, match=text):
        y.backward()
