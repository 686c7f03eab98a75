"""Normalisations: derivatives of all orders, with and without weights, and of the statistics."""

import pytest

import torchlike as torch
from torchlike.nn import functional as F


def numbers(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


NORMALISATIONS = {
    "layer": ((3, 2, 4), (2, 4), lambda x, w, b: F.layer_norm(x, (2, 4), w, b)),
    "layer of all": ((2, 3), (2, 3), lambda x, w, b: F.layer_norm(x, (2, 3), w, b)),
    "batch": ((3, 2, 4), (2,), lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True)),
    "batch of vectors": ((5, 2), (2,), lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True)),
    "instance": ((2, 3, 4), (3,), lambda x, w, b: F.instance_norm(x, None, None, w, b)),
    "group": ((2, 4, 3), (4,), lambda x, w, b: F.group_norm(x, 2, w, b)),
    "groups of one": ((2, 3, 4), (3,), lambda x, w, b: F.group_norm(x, 3, w, b)),
}
GIVEN = {"both": (True, True), "a weight": (True, False), "a bias": (False, True), "none": (False, False)}


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("name", NORMALISATIONS)
def test_derivatives_are_those_of_differences(name, given):
    torch.manual_seed(1)
    shape, of_weights, normalise = NORMALISATIONS[name]
    x, extra = numbers(*shape), [numbers(*of_weights) for each in GIVEN[given] if each]

    def function(x, *extra):
        left = [*extra]
        return normalise(x, *[left.pop(0) if each else None for each in GIVEN[given]])

    assert torch.autograd.gradcheck(function, (x, *extra), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, (x, *extra))


@pytest.mark.parametrize("wanted", [(True, False, False), (False, True, False), (False, False, True)])
@pytest.mark.parametrize("name", ["layer", "batch", "group"])
def test_a_gradient_by_itself_is_that_among_others(name, wanted):
    torch.manual_seed(1)
    shape, of_weights, normalise = NORMALISATIONS[name]
    inputs = numbers(*shape), numbers(*of_weights), numbers(*of_weights)
    along = torch.randn(*shape, dtype=torch.float64)
    whole = torch.autograd.grad(normalise(*inputs), inputs, along)
    alone = [each.detach().requires_grad_(want) for each, want in zip(inputs, wanted, strict=True)]
    (found,) = torch.autograd.grad(normalise(*alone), [each for each in alone if each.requires_grad], along)
    torch.testing.assert_close(found, whole[wanted.index(True)], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", NORMALISATIONS)
def test_gradients_of_half_types_are_rounded_once(name, dtype):
    torch.manual_seed(1)
    shape, of_weights, normalise = NORMALISATIONS[name]
    half = [torch.randn(*size).to(dtype).requires_grad_() for size in (shape, of_weights, of_weights)]
    wide = [each.detach().float().requires_grad_() for each in half]
    along = torch.randn(*shape).to(dtype)
    found = torch.autograd.grad(normalise(*half), half, along)
    expected = torch.autograd.grad(normalise(*wide), wide, along.float())
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == dtype
        torch.testing.assert_close(one.float(), other, rtol=2 * torch.finfo(dtype).eps, atol=1e-3)
