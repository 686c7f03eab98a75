"""Complex functions at points with an infinite, NaN or zero part: PyTorch's values, signed zeros, and derivatives elsewhere."""

import math

import numpy as np
import pytest

import torchlike as torch
from tests.numerics.complex_points import DTYPES, FUNCTIONS, POINTS, POWERS, calls


@pytest.fixture(scope="module", params=DTYPES)
def results(request):
    return request.param, calls(torch, request.param)


def parts(value):
    return (value.real, value.imag) if isinstance(value, complex) else (value,)


def alike(got, expected, rtol):
    """Whether NaN and infinities are in the same places, zeros have the same signs, and other numbers are close."""
    if math.isnan(expected):
        return math.isnan(got)
    if math.isinf(expected) or expected == 0:
        return got == expected and math.copysign(1, got) == math.copysign(1, expected)
    return math.isclose(got, expected, rel_tol=rtol)


@pytest.mark.parametrize("name", [*FUNCTIONS, *POWERS])
def test_values_at_infinities_nan_and_zeros_are_those_of_pytorch(golden, results, name):
    dtype, found = results
    recorded = golden("complex")[dtype][name]
    wrong = []
    for point, got, words in zip(POINTS, found[name].tolist(), recorded, strict=True):
        expected = [float(word) for word in words.split()]
        if not all(alike(g, e, 1e-5) for g, e in zip(parts(got), expected, strict=True)):
            wrong.append((point, got, words))
    assert not wrong


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("abs", "sgn")])
def test_derivatives_at_ordinary_points_are_what_they_were(name):
    """Compared with the difference quotient; each function is analytic at these points."""
    z = torch.tensor([0.3 + 0.4j, -1.2 + 0.5j, 0.7 - 2.0j], dtype=torch.complex128, requires_grad=True)
    function = getattr(torch, name)
    (grad,) = torch.autograd.grad(function(z), z, torch.ones(3, dtype=torch.complex128))
    step = 1e-6
    slope = (function(z.detach() + step) - function(z.detach() - step)) / (2 * step)
    np.testing.assert_allclose(grad.numpy(), slope.conj().resolve_conj().numpy(), rtol=1e-7)


def test_second_derivatives_go_through():
    z = torch.tensor([0.3 + 0.4j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda z: torch.tanh(z) + torch.exp(z) * torch.sqrt(z), (z,))
