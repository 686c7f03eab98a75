"""Tensors whose memory is replaced: their version counters, and the graphs that were recorded before."""

import pytest

import torchlike as torch


def test_graphs_made_before_data_is_set_lead_to_the_same_leaf():
    p = torch.tensor([1.0, 2.0], requires_grad=True)
    before = p * 3
    p.data = p.data * 10
    loss = (before * p).sum()
    (gradient,) = torch.autograd.grad(loss, p)
    assert gradient.tolist() == [3 * 10 + 3.0, 3 * 20 + 6.0]
    assert before.grad_fn.next_functions[0][0] is (p * 1).grad_fn.next_functions[0][0]


def test_a_hook_of_a_leaf_stays_when_data_of_another_dtype_is_set():
    p = torch.ones(2, requires_grad=True)
    p.register_hook(lambda grad: grad * 10)
    before = p * 1
    p.data = torch.ones(2, dtype=torch.float64)
    (p * 1).sum().backward()
    assert (p.grad.dtype, p.grad.tolist()) == (torch.float64, [10.0, 10.0])
    assert before.grad_fn.next_functions[0][0] is not (p * 1).grad_fn.next_functions[0][0]


def test_a_hook_of_the_node_stays_with_data_of_the_same_dtype():
    p = torch.ones(2, requires_grad=True)
    (p * 1).grad_fn.next_functions[0][0].register_prehook(lambda grads: (grads[0] * 7,))
    p.data = torch.ones(2) * 2
    (p * 1).sum().backward()
    assert p.grad.tolist() == [7.0, 7.0]


def test_set_counts_as_a_write_and_the_counter_stays_the_tensors_own():
    a, b = torch.zeros(3), torch.ones(3)
    b.add_(1).add_(1)
    a.set_(b)
    assert (a._version, b._version) == (1, 2)
    a.add_(1)
    assert (a._version, b._version, b.tolist()) == (2, 2, [4.0, 4.0, 4.0])
    b.add_(1)
    assert (a._version, b._version, a.tolist()) == (2, 3, [5.0, 5.0, 5.0])
    a.set_()
    assert (a._version, a.numel()) == (3, 0)


def test_a_graph_that_has_saved_a_tensor_notices_set():
    x, w = torch.ones(3, requires_grad=True), torch.ones(3)
    y = (w * x).sum()
    w.set_(torch.full((3,), 5.0))
    with pytest.raises(RuntimeError, match="modified by an inplace operation.* is at version 1; expected version 0"):
        y.backward()
