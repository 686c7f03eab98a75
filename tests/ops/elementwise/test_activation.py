"""Activations in special cases: derivatives at the borders of their ranges, NaN, large numbers, arguments that PyTorch refuses."""

from typing import Any

import pytest

import torchlike as torch
from torchlike.ops.elementwise import activation as act

pytestmark = pytest.mark.single

NAN = float("nan")


@pytest.mark.parametrize(
    ("function", "at", "slope"),
    [
        (torch.relu, 0.0, 0.0), (act.leaky_relu, 0.0, 0.01), (act.elu, 0.0, 1.0), (act.hardtanh, 1.0, 0.0), (act.hardtanh, -1.0, 0.0),
        (act.relu6, 6.0, 0.0), (act.relu6, 0.0, 0.0), (act.hardsigmoid, 3.0, 0.0), (act.hardswish, 3.0, 1.0),
        (act.hardswish, -3.0, 0.0), (act.softshrink, 0.5, 0.0), (act.hardshrink, 0.5, 0.0), (act.logsigmoid, 0.0, 0.5),
        (torch.abs, 0.0, 0.0), (lambda x: x.clamp(0, 1), 0.0, 1.0), (lambda x: x.clamp(0, 1), 1.0, 1.0),
    ],
)  # fmt: skip
def test_the_derivative_on_a_border_is_pytorchs(function, at, slope):
    x: Any = torch.tensor([at], requires_grad=True)
    function(x).sum().backward()
    assert x.grad.item() == pytest.approx(slope)


@pytest.mark.parametrize(
    "function",
    [torch.relu, act.elu, torch.selu, torch.celu, act.softplus, act.gelu, act.silu, act.mish, act.logsigmoid],
)
def test_far_from_zero_neither_value_nor_derivative_is_lost(function):
    x: Any = torch.tensor([-1e4, 1e4], requires_grad=True)
    y = function(x)
    y.sum().backward()
    assert torch.isfinite(y).all()
    assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize("function", [torch.relu, act.leaky_relu, act.relu6, act.hardtanh, act.hardswish, act.hardsigmoid,
                                      act.softshrink, act.hardshrink, act.elu, act.softplus])  # fmt: skip
def test_nan_stays_nan(function):
    assert torch.isnan(function(torch.tensor([NAN]))).item()


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: act.softshrink(x, -1.0), RuntimeError, "lambda must be greater or equal to 0, but found to be -1."),
        (lambda x: act.gelu(x, approximate="sigmoid"), RuntimeError, "approximate argument must be either none or tanh."),
        (lambda x: torch.nn.functional.hardtanh(x, 1.0, -1.0), ValueError, "min_val cannot be greater than max_val"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_sense(call, kind, message):
    with pytest.raises(kind) as caught:
        call(torch.ones(2))
    assert str(caught.value) == message


def test_a_slope_that_changes_does_not_recompile():
    x = torch.tensor([-1.0, 1.0])
    got = [act.leaky_relu(x, slope / 10).tolist()[0] for slope in range(8)]
    assert got == pytest.approx([-slope / 10 for slope in range(8)])


def test_composed_activations_show_their_parts():
    x: Any = torch.tensor([0.5], requires_grad=True)
    assert act.softsign(x).grad_fn.name() == "DivBackward0"
    assert act.tanhshrink(x).grad_fn.name() == "SubBackward0"


def test_selu_is_an_elu_in_the_graph():
    y: Any = torch.selu(torch.tensor([0.5], requires_grad=True))
    assert y.grad_fn.name() == "EluBackward0"
