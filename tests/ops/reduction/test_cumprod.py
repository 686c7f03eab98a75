"""The gradient of running products whose factors are 0, infinite or NaN: PyTorch's, which weights of 1, 2, ... tell apart."""

import math
from typing import Any

import pytest

import torchlike as torch

pytestmark = pytest.mark.single

NAN, INF = math.nan, math.inf
GRADIENTS = [
    ([2.0, 3.0, 4.0], [43.0, 28.0, 18.0]),
    ([1.0, 0.0, 2.0, 0.0, 3.0], [1.0, 8.0, 0.0, 0.0, 0.0]),
    ([0.0, 0.0], [1.0, 0.0]),
    ([1.0, NAN, 2.0, 0.0, 3.0], [NAN, NAN, NAN, NAN, 0.0]),
    ([1.0, 2.0, NAN, 3.0], [NAN, NAN, NAN, NAN]),
    ([1.0, INF, 0.0, 3.0], [INF, NAN, INF, 0.0]),
    ([2.0, 0.0, INF, 3.0], [1.0, INF, 0.0, 0.0]),
    ([2.0, 0.0, 0.0, INF], [1.0, 4.0, 0.0, 0.0]),
    ([[1.0, 2.0, 0.0], [3.0, 4.0, 5.0]], [[5.0, 2.0, 6.0], [69.0, 51.0, 36.0]]),
]


def gradient(torch_: Any, values: Any) -> Any:
    x = torch_.tensor(values, requires_grad=True)
    weights = torch_.arange(1.0, x.shape[-1] + 1)
    (x.cumprod(-1) * weights).sum().backward()
    return x.grad


@pytest.mark.parametrize(("values", "expected"), GRADIENTS)
def test_the_gradient_is_pytorchs(values, expected):
    assert torch.equal(gradient(torch, values).nan_to_num(-1.0), torch.tensor(expected).nan_to_num(-1.0))


def test_the_table_is_pytorchs():
    real = pytest.importorskip("torch")
    for values, expected in GRADIENTS:
        real.testing.assert_close(gradient(real, values), real.tensor(expected), equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize("values", [[1.0, 0.0, 2.0, 0.0], [1.5, 2.0, -3.0]])
def test_all_derivatives_are_those_of_the_product(values):
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: x.cumprod(0), x)
    assert torch.autograd.gradgradcheck(lambda x: x.cumprod(0), (x,))
    last = torch.func.hessian(lambda x: x.cumprod(0)[-1])(x.detach())
    by_prod = torch.func.hessian(torch.prod)(x.detach())
    assert torch.allclose(
        last, by_prod, rtol=0, atol=1e-15
    )  # derivatives of prod by an element itself are 0 up to rounding
    assert not last.diagonal().any()
