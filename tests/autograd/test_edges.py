"""``GradientEdge`` in place of a tensor: in ``grad`` and ``backward``, as an input and as an output. Values are PyTorch's."""

from typing import Any

import pytest

import torchlike as torch
from torchlike.autograd import backward, grad
from torchlike.autograd.graph import GradientEdge, get_gradient_edge


def leaf() -> Any:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def values(tensors):
    return [tensor.tolist() for tensor in tensors]


def test_gradients_with_respect_to_edges():
    x = leaf()
    y = x * 2
    edge, z = get_gradient_edge(y), (y * y).sum()
    del y  # nothing but the edge is kept
    assert values(grad(z, (edge, x, get_gradient_edge(x)))) == [[4, 8], [8, 16], [8, 16]]
    x = leaf()
    first, second = x.split(1)
    z = (first * 2 + second * 3).sum()
    assert values(grad(z, (get_gradient_edge(second), get_gradient_edge(first)))) == [[3], [2]]
    y = x * 2
    assert values(grad(y.sum(), GradientEdge(y.grad_fn, 0))) == [[1, 1]]


def test_a_gradient_at_an_edge_has_a_history():
    x = leaf()
    y = x * 2
    (gradient,) = grad((y**3).sum(), get_gradient_edge(y), create_graph=True)
    gradient.sum().backward()
    assert gradient.tolist() == [12, 48] and x.grad.tolist() == [24, 48]


def test_hooks_of_the_tensor_run_behind_its_edge():
    x = leaf()
    y = x * 2
    y.register_hook(lambda gradient: gradient * 10)
    assert values(grad((y * y).sum(), (get_gradient_edge(y), x))) == [[4, 8], [80, 160]]


def test_gradients_of_edges():
    x = leaf()
    y = x * 2
    edge = get_gradient_edge(y)
    assert values(grad(edge, x, torch.ones(2), retain_graph=True)) == [[2, 2]]
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        grad(edge, x)
    with pytest.raises(
        RuntimeError, match=r"shape of torch.Size\(\[3\]\) and output\[0\] has a shape of torch.Size\(\[2\]\)"
    ):
        grad(edge, x, torch.ones(3))
    backward((edge, (y * 3).sum()), (torch.ones(2), None))
    assert x.grad.tolist() == [8, 8]
    x = leaf()
    backward(get_gradient_edge((x * 2).sum()))
    assert x.grad.tolist() == [2, 2]


def test_edges_as_inputs_of_backward():
    x = leaf()
    y, other = x * 2, leaf()
    z = (y * y * other).sum()
    z.backward(inputs=get_gradient_edge(y), retain_graph=True)
    assert (x.grad, other.grad) == (None, None)
    backward(z, inputs=[get_gradient_edge(x), other, y])
    assert x.grad.tolist() == [8, 32] and other.grad.tolist() == [4, 16] and y.grad.tolist() == [4, 16]


def test_edges_that_are_not_reached():
    x, w = leaf(), leaf() * 1
    edge = get_gradient_edge(w)
    assert grad((x * 2).sum(), edge, allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        grad((x * 2).sum(), edge)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        grad((x * 2).sum(), edge, materialize_grads=True)


def test_an_edge_leads_on_to_a_leaf_that_has_left_its_graphs():
    x = leaf()
    edge, y = get_gradient_edge(x), x * 2
    with torch.no_grad():
        x.set_(torch.ones(5))
    assert grad(y.sum(), edge)[0].tolist() == [2, 2]
    assert grad(y.sum(), x, allow_unused=True) == (None,)
    edge, y = get_gradient_edge(gone := leaf()), gone * 3
    del gone
    assert grad(y.sum(), edge)[0].tolist() == [3, 3]
