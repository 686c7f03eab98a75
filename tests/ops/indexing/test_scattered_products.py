"""Products of elements that meet at one place: their derivatives of second order, with factors that are zero, and products of booleans."""

import pytest

import torchlike as torch

INDEX = torch.tensor([[0, 1], [0, 1], [2, 0], [1, 1], [0, 2]])
ROWS = torch.tensor([0, 0, 2, 1, 0])


def scattered(a, b, include_self):
    return a.scatter_reduce(0, INDEX, b, "prod", include_self=include_self)


def by_rows(a, b, include_self):
    return a.index_reduce(0, ROWS, b, "prod", include_self=include_self)


@pytest.mark.costly
@pytest.mark.uncompiled
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("function", [scattered, by_rows])
@pytest.mark.parametrize("zeros", [(), (0,), (0, 1), (0, 1, 4)], ids=lambda z: f"{len(z)} zeros")
def test_products_have_second_derivatives(function, include_self, zeros):
    torch.manual_seed(0)
    a, b = (torch.randn(n, 2, dtype=torch.float64) for n in (3, 5))
    b[list(zeros)] = 0
    # A product is linear in each of its factors, so its derivative is a product too, whatever is zero.
    inputs = (a.requires_grad_(), b.requires_grad_())
    assert torch.autograd.gradgradcheck(lambda x, y: function(x, y, include_self), inputs)


def test_second_derivatives_are_pytorchs():
    a = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([2.0, 3.0], dtype=torch.float64, requires_grad=True)
    for call in (a.scatter_reduce, a.index_reduce):
        first = torch.autograd.grad(call(0, torch.tensor([0, 0]), b, "prod").sum(), (a, b), create_graph=True)
        second = torch.autograd.grad(sum(x.sum() for x in first), (a, b))
        assert [x.tolist() for x in (*first, *second)] == [[6.0], [3.0, 2.0], [5.0], [4.0, 3.0]]


def test_booleans_are_scattered():
    false, true = torch.zeros(3, dtype=torch.bool), torch.ones(3, dtype=torch.bool)
    index, source = torch.tensor([0, 0, 1]), torch.tensor([True, False, True])
    for reduce, expected in (("sum", [True, True, False]), ("amax", [True, True, False]), ("amin", [False] * 3)):
        assert false.scatter_reduce(0, index, source, reduce).tolist() == expected
    assert true.scatter_reduce(0, index, source, "prod").tolist() == [False, True, True]
    assert true.scatter(0, index, source, reduce="multiply").tolist() == [False, True, True]
    with pytest.raises(NotImplementedError) as caught:
        false.scatter_reduce(0, index, source, "mean")
    assert str(caught.value) == "\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'"
