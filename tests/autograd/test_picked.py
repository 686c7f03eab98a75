"""Which gradients can be differentiated again: those of what picks elements cannot, those of steps can and give zeros, as in PyTorch."""

import pytest

import torchlike as torch
from torchlike.nn import functional as F

X = torch.tensor([[0.3, -1.2, 2.1], [1.4, 0.2, -0.4]], dtype=torch.float64)
Y, SIGNS, WHERE = torch.full_like(X, 0.5), torch.ones(2, 3).double(), torch.tensor([[0, 1, 1], [2, 0, 2]])
ZERO = torch.zeros((), dtype=torch.float64)

PICKS = {
    "sort": lambda x: x.sort()[0],
    "topk": lambda x: x.topk(2)[0],
    "max of a dimension": lambda x: x.max(1)[0],
    "min of a dimension": lambda x: x.min(1)[0],
    "max": torch.max,
    "amax": lambda x: x.amax(1),
    "amin": lambda x: x.amin(),
    "aminmax": lambda x: x.aminmax(dim=1)[0],
    "median": lambda x: x.median(1)[0],
    "median of all": torch.median,
    "nanmedian": lambda x: x.nanmedian(0)[0],
    "kthvalue": lambda x: x.kthvalue(2)[0],
    "mode": lambda x: x.mode()[0],
    "cummax": lambda x: x.cummax(1)[0],
    "cummin": lambda x: x.cummin(1)[0],
    "clamp": lambda x: x.clamp(-0.5, 1.0),
    "clamp by tensors": lambda x: x.clamp(ZERO, Y),
    "clamp_min": lambda x: x.clamp_min(0.0),
    "quantile": lambda x: x.quantile(0.3, 1),
    "maximum": lambda x: torch.maximum(x, Y),
    "fmin": lambda x: torch.fmin(x, Y),
    "nansum": torch.nansum,
    "scatter_reduce": lambda x: torch.zeros_like(x).scatter_reduce(1, WHERE, x, "amax"),
    "hinge": lambda x: F.hinge_embedding_loss(x, SIGNS),
    "margin": lambda x: F.margin_ranking_loss(x, Y, SIGNS),
    "nan_to_num": torch.nan_to_num,
}
STEPS = {
    "abs": torch.abs,
    "relu": torch.relu,
    "relu6": F.relu6,
    "hardtanh": F.hardtanh,
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "leaky_relu": F.leaky_relu,
    "threshold": lambda x: F.threshold(x, 0.1, 0.5),
    "prelu": lambda x: F.prelu(x, torch.full((1,), 0.25).double()),
    "rrelu": F.rrelu,
    "copysign": lambda x: torch.copysign(x, SIGNS),
    "l1_loss": lambda x: F.l1_loss(x, Y),
    "max_pool1d": lambda x: F.max_pool1d(x[None], 2),
    "adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(x[None], 2),
}
CURVES = {
    "maximum of curves": lambda x: torch.maximum(x * x, x**3),
    "sort of squares": lambda x: (x * x).sort()[0],
    "logsumexp": lambda x: x.logsumexp(1),
    "prod": lambda x: x.prod(1),
}


def _first(function):
    x = X.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    return x, gradient


@pytest.mark.parametrize("name", PICKS)
def test_what_picks_elements_has_no_second_derivative(name):
    x, gradient = _first(PICKS[name])
    assert not gradient.requires_grad and gradient.grad_fn is None
    seed = torch.ones_like(PICKS[name](x)).requires_grad_()  # the gradient is a function of what arrives
    (gradient,) = torch.autograd.grad(PICKS[name](x), x, seed, create_graph=True)
    by_x, by_seed = torch.autograd.grad(gradient.sum(), (x, seed), allow_unused=True)
    assert by_x is None and by_seed.abs().sum() > 0


@pytest.mark.parametrize("name", STEPS)
def test_what_is_made_of_straight_lines_has_zeros(name):
    x, gradient = _first(STEPS[name])
    assert torch.autograd.grad(gradient.sum(), x)[0].abs().sum().item() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", CURVES)
def test_what_is_curved_has_a_second_derivative(name):
    x, gradient = _first(CURVES[name])
    assert torch.autograd.grad(gradient.sum(), x)[0].abs().sum() > 0


def test_the_tangent_of_a_pick_is_no_function_of_what_it_picks_from():
    x, tangent = X.clone().requires_grad_(), torch.ones_like(X).requires_grad_()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, tangent)
        moved = torch.autograd.forward_ad.unpack_dual(dual.sort()[0]).tangent
        by_x, by_tangent = torch.autograd.grad(moved.sum(), (x, tangent), allow_unused=True)
    assert by_x is None and by_tangent.tolist() == [[1.0] * 3] * 2
