"""Derivatives at points where a function has none or an infinite one: PyTorch 2.13's values, on which masked losses rely."""

import math

import pytest

import torchlike as torch
from torchlike.nn import functional as F

INF, NAN = math.inf, math.nan
# function, inputs, and the gradient of each input for an output gradient of 1
CASES = {
    "the angle of the origin": (torch.atan2, [[0.0, 0.0, 1.0], [0.0, -0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 0.0, -1.0]]),
    "the distance of the origin": (torch.hypot, [[0.0, 0.0, 3.0], [0.0, INF, 4.0]], [[NAN, 0.0, 0.6], [NAN, NAN, 0.8]]),
    "logit outside": (torch.logit, [[0.0, 1.0, -1.0, 2.0, 0.5]], [[INF, INF, NAN, NAN, 4.0]]),
    "nothing times a logarithm": (
        torch.xlogy,
        [[0.0, 0.0, 0.0, 1.0], [-1.0, 0.0, 1.0, 2.0]],
        [[0.0, 0.0, 0.0, math.log(2.0)], [-0.0, NAN, 0.0, 0.5]],
    ),
    "nothing times log1p": (
        torch.special.xlog1py,
        [[0.0, 0.0, 1.0], [-2.0, -1.0, 1.0]],
        [[0.0, 0.0, math.log(2.0)], [-0.0, NAN, 0.5]],
    ),
    "a sum with infinity": (torch.logaddexp, [[1.0, INF, 0.0], [INF, 1.0, 0.0]], [[0.0, 1.0, 0.5], [1.0, 0.0, 0.5]]),
    "a binary sum with infinity": (
        torch.logaddexp2,
        [[1.0, INF, 0.0], [INF, 1.0, 0.0]],
        [[0.0, 1.0, 0.5], [1.0, 0.0, 0.5]],
    ),
    "polar numbers without size": (
        lambda size, angle: torch.polar(size, angle).real,
        [[0.0, -2.0, 2.0], [0.0, 0.0, 0.0]],
        [[0.0, -1.0, 1.0], [0.0, 0.0, 0.0]],
    ),
    "a loss infinitely far away": (
        lambda x: F.smooth_l1_loss(x, torch.zeros(4), reduction="sum"),
        [[INF, -INF, NAN, 0.5]],
        [[1.0, -1.0, NAN, 0.5]],
    ),
    "Huber's loss infinitely far away": (
        lambda x: F.huber_loss(x, torch.zeros(4), reduction="sum"),
        [[INF, -INF, NAN, 0.5]],
        [[1.0, -1.0, NAN, 0.5]],
    ),
    "a margin that is just met": (
        lambda x: F.multi_margin_loss(x, torch.tensor([0, 1]), reduction="sum"),
        [[[1.0, 0.0, 1.0], [NAN, 1.0, 2.0]]],
        [[[-1 / 3, 0.0, 1 / 3], [0.0, -1 / 3, 1 / 3]]],
    ),
    "a margin between labels that is just met": (
        lambda x: F.multilabel_margin_loss(x, torch.tensor([[0, -1, 0]]), reduction="sum"),
        [[[1.0, 0.0, 1.0]]],
        [[[-1 / 3, 0.0, 1 / 3]]],
    ),
    "a target without probability": (
        lambda x, y: F.kl_div(x, y, reduction="sum"),
        [[-1.0, -2.0, -1.0], [0.0, 0.5, -1.0]],
        [[-0.0, -0.5, 1.0], [NAN, 3.0 - math.log(2.0), NAN]],
    ),
    "a running sum after infinity": (
        lambda x: torch.logcumsumexp(x, 0),
        [[1.0, INF, 2.0, 3.0]],
        [[1.0, NAN, 0.0, 0.0]],
    ),
    "a running sum of nothing": (
        lambda x: torch.logcumsumexp(x, 0) * torch.tensor([0.0, 1.0, 2.0]),
        [[-INF, -INF, 1.0]],
        [[NAN, NAN, 2.0]],
    ),
    "a running sum of both infinities": (
        lambda x: torch.logcumsumexp(x.flip(0).view(1, -1), 1),
        [[INF, -INF, 1.0]],
        [[NAN, 0.0, 2.0]],
    ),
    "a running sum with nothing within": (
        lambda x: torch.logcumsumexp(x, 0),
        [[0.0, -INF, 0.0]],
        [[2.5, 0.0, 0.5]],
    ),
    "digamma of infinity": (torch.digamma, [[INF, 1.0]], [[0.0, math.pi**2 / 6]]),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_on_the_border_are_those_of_pytorch(name):
    function, inputs, expected = CASES[name]
    leaves = [torch.tensor(x, requires_grad=True) for x in inputs]
    function(*leaves).sum().backward()
    for leaf, gradient in zip(leaves, expected, strict=True):
        torch.testing.assert_close(leaf.grad, torch.tensor(gradient), equal_nan=True)


def test_what_is_masked_out_leaves_no_nan_in_the_angles():
    y, x = torch.zeros(2, requires_grad=True), torch.tensor([0.0, 1.0], requires_grad=True)
    torch.where(x > 0, torch.atan2(y, x), 0.0).sum().backward()
    assert y.grad.tolist() == [0.0, 1.0] and x.grad.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("count", [3, 5000])
def test_lgamma_of_minus_infinity_is_infinite(count):
    assert torch.lgamma(torch.full((count,), -INF)).tolist() == [INF] * count
