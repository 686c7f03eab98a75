"""Products with NaN, infinities and zeros: values and gradients are PyTorch's."""

import math

import numpy as np
import pytest

import torchlike as torch

pytestmark = pytest.mark.single

NAN, INF = math.nan, math.inf
# Elements, the gradient of their product, and that of the product along a dimension.
CASES = [
    ([0.0, 0.0, 2.0], [0, 0, 0], [0, 0, 0]),
    ([NAN, 2.0], [NAN, NAN], [NAN, NAN]),
    ([NAN, 0.0], [0, NAN], [0, NAN]),
    ([INF, 0.0, 1.0], [0, INF, NAN], [0, INF, NAN]),
    ([INF, 2.0], [NAN, INF], [NAN, INF]),
    ([0.0, 0.0, NAN], [0, 0, 0], [NAN, NAN, 0]),
    ([0.0, INF, INF], [INF, NAN, NAN], [INF, NAN, NAN]),
    ([-0.0, 2.0], [2, -0.0], [2, -0.0]),
    ([INF, -INF, 0.0], [NAN, NAN, -INF], [NAN, NAN, -INF]),
]


@pytest.mark.parametrize(("elements", "whole", "along"), CASES)
def test_gradients(elements, whole, along):
    x = torch.tensor(elements, requires_grad=True)
    x.prod().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.array(whole, np.float32))
    numbers = ~np.isnan(whole)
    np.testing.assert_array_equal(np.signbit(x.grad.numpy())[numbers], np.signbit(np.array(whole, np.float32))[numbers])
    y = torch.tensor([elements, elements], requires_grad=True)
    y.prod(1).sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), np.array([along, along], np.float32))


def test_second_derivatives_where_several_elements_are_zero():
    x = torch.tensor([0.0, 0.0, 2.0], requires_grad=True)
    (first,) = torch.autograd.grad(x.prod(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [2, 2, 0]


@pytest.mark.parametrize(
    ("shape", "dim"), [((0,), None), ((0,), 0), ((0, 3), 0), ((0, 3), 1), ((2, 0, 3), 1), ((2, 0), None)]
)
def test_a_product_of_no_elements_is_one_and_has_an_empty_gradient(shape, dim):
    x = torch.ones(shape, requires_grad=True)
    product = x.prod() if dim is None else x.prod(dim)
    product.sum().backward()
    assert x.grad.shape == shape
    assert torch.equal(product, torch.ones_like(product))
