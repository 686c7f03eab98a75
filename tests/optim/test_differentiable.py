"""Steps that gradients flow through, and PyTorch's errors for options that choose between its kernels."""

from typing import Any

import pytest

import torchlike as torch
from torchlike import optim

pytestmark = pytest.mark.composed

START = (1.0, -2.0, 3.0)
SCALE = (0.3, 0.2, 0.1)


def stepped(name: str, arguments: dict[str, Any], scale: Any, rate: Any, differentiable: bool) -> Any:
    """Returns the parameters after two steps along gradients that depend on ``scale``."""
    param = torch.tensor(START, dtype=torch.float64, requires_grad=True)
    param = param.clone() if differentiable else param
    optimizer = getattr(optim, name)([param], lr=rate, differentiable=differentiable, **arguments)
    for _ in range(2):
        param.grad = (param.clone() * scale + 1).sin() if differentiable else (param.detach() * scale + 1).sin()
        optimizer.step()
    return param


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("SGD", {"weight_decay": 0.1}), ("Adam", {"amsgrad": True})],
)
def test_gradients_flow_through_steps(name: str, arguments: dict[str, Any]):
    scale = torch.tensor(SCALE, dtype=torch.float64, requires_grad=True)
    rate = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    after = stepped(name, arguments, scale, rate, True)
    assert torch.allclose(after, stepped(name, arguments, scale.detach(), 0.1, False))  # the same steps
    after.sum().backward()
    small = 1e-6

    def slope(of_scale: Any, of_rate: float) -> float:
        ends = [
            stepped(name, arguments, scale.detach() + sign * small * of_scale, 0.1 + sign * small * of_rate, False)
            .sum()
            .item()
            for sign in (1, -1)
        ]
        return (ends[0] - ends[1]) / (2 * small)

    along = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    assert (scale.grad * along).sum().item() == pytest.approx(slope(along, 0.0), rel=1e-6)
    assert rate.grad.item() == pytest.approx(slope(along * 0, 1.0), rel=1e-6)


def test_the_first_trace_of_momentum_has_no_history():
    scale: Any = torch.tensor(SCALE, dtype=torch.float64, requires_grad=True)
    after = stepped("SGD", {"momentum": 0.9}, scale, 0.1, True)
    after.sum().backward()
    # d/ds of the second step alone: -0.1 x cos(x s + 1), x being the parameter after the first
    first = (
        torch.tensor(START, dtype=torch.float64)
        - 0.1 * (torch.tensor(START, dtype=torch.float64) * scale.detach() + 1).sin()
    )
    assert torch.allclose(scale.grad, -0.1 * first * (first * scale.detach() + 1).cos())


def with_gradient(name: str, leaf: bool = True, **options: Any) -> Any:
    param = torch.nn.Parameter(torch.ones(2))
    param = param if leaf else param.clone()
    optimizer = getattr(optim, name)([param], **options)
    param.grad = torch.ones(2)
    return optimizer


ON = "must be on supported devices: ['cuda', 'xpu', 'hpu', 'privateuseone'"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("Adam", {}, f"params and state_steps {ON}, 'xla']."),
        ("AdamW", {"foreach": True}, f"params and state_steps {ON}]."),
        ("Adadelta", {}, f"params and state_steps {ON}]."),
        ("RMSprop", {"foreach": True}, f"params and state_steps {ON}, 'xla']."),
        ("NAdam", {}, f"params, mu_products and state_steps {ON}, 'xla']."),
        ("NAdam", {"foreach": True}, f"params, mu_products, and state_steps {ON}]."),
        ("ASGD", {}, f"params, mus, etas, and state_steps {ON}, 'xla']."),
    ],
)
def test_graphs_of_kernels_are_not_captured_on_the_cpu(name: str, options: dict[str, Any], message: str):
    optimizer = with_gradient(name, capturable=True, **options)
    with pytest.raises(AssertionError) as caught:
        optimizer.step()
    assert str(caught.value) == f"If capturable=True, {message}"
    assert optimizer.param_groups[0]["params"][0].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("options", "leaf", "error", "message"),
    [
        ({}, True, RuntimeError, "a leaf Variable that requires grad is being used in an in-place operation."),
        ({"foreach": True}, False, AssertionError, "_foreach ops don't support autograd"),
    ],
)
def test_what_a_step_with_history_refuses(options: dict[str, Any], leaf: bool, error: type[Exception], message: str):
    optimizer = with_gradient("Adam", leaf, differentiable=True, **options)
    with pytest.raises(error) as caught:
        optimizer.step()
    assert str(caught.value) == message


def test_a_loaded_option_counts():
    optimizer = with_gradient("Adam")
    state = optimizer.state_dict()
    state["param_groups"][0]["capturable"] = True
    optimizer.load_state_dict(state)
    with pytest.raises(AssertionError, match="If capturable=True"):
        optimizer.step()
