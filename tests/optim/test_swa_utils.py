"""Averaged models, their schedule and recomputed batch statistics have PyTorch's values; parameters can be swapped for a while."""

from typing import Any

import numpy as np
import pytest

import torchlike as torch
from tests.optim.averages import KINDS, STRATEGIES, averaged, model, rates
from torchlike.optim import swa_utils

pytestmark = pytest.mark.composed


def flat(value: Any) -> Any:
    return [x for v in value for x in flat(v)] if isinstance(value, (list, tuple)) else [value]


def assert_same(found: Any, expected: Any) -> None:
    for a, b in zip(flat(found), flat(expected), strict=True):
        assert a == b if isinstance(b, str) else np.isclose(a, b, rtol=1e-6, atol=1e-7), (a, b)


@pytest.mark.parametrize("kind", KINDS)
def test_averages_are_pytorchs(golden, kind: str):
    assert_same(averaged(torch, kind), golden("optim_words")["averages"][kind])


@pytest.mark.parametrize(("strategy", "epochs"), STRATEGIES)
def test_rates_are_pytorchs(golden, strategy: str, epochs: int):
    assert_same(rates(torch, strategy, epochs), golden("optim_words")["averages"][f"{strategy}/{epochs}"])


def test_the_average_is_called_as_its_model_is():
    made = model(torch).eval()
    x = torch.ones(1, 2)
    assert swa_utils.AveragedModel(made)(x).tolist() == made(x).tolist()
    assert swa_utils.AveragedModel(made).n_averaged.item() == 0


OPTIMIZER = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: swa_utils.AveragedModel(model(torch), avg_fn=max, multi_avg_fn=max), AssertionError,
            "Only one of avg_fn and multi_avg_fn should be provided",
        ),
        (
            lambda: swa_utils.get_ema_avg_fn(2), ValueError,
            "Invalid decay value 2 provided. Please provide a value in [0,1] range.",
        ),
        (
            lambda: swa_utils.get_ema_multi_avg_fn(-1), ValueError,
            "Invalid decay value -1 provided. Please provide a value in [0,1] range.",
        ),
        (
            lambda: swa_utils.SWALR(OPTIMIZER, 0.05, anneal_strategy="x"), ValueError,  # pyright: ignore[reportArgumentType]
            "anneal_strategy must be one of 'cos' or 'linear', instead got x",
        ),
        (
            lambda: swa_utils.SWALR(OPTIMIZER, 0.05, anneal_epochs=-1), ValueError,
            "anneal_epochs must be equal or greater than 0, got -1",
        ),
        (
            lambda: swa_utils.SWALR(OPTIMIZER, [0.1, 0.2]), ValueError,
            "swa_lr must have the same length as optimizer.param_groups. swa_lr has 2 values, param_groups has 1.",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(make: Any, error: type[Exception], message: str):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message


def test_parameters_and_state_are_swapped_for_a_while():
    w, other = torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.Adam([w], lr=0.1)
    swap = torch.optim.swap_in_optimizer_params_and_state
    with pytest.raises(RuntimeError, match="requires initialized optimizer state"), swap(optimizer, {}, {}):
        pass
    w.grad = other.grad = torch.ones(2)
    optimizer.step()
    there = torch.optim.Adam([other], lr=0.5)
    there.step()
    state = there.state_dict()
    before = w.tolist()
    with swap(optimizer, {"other": other}, state):
        assert optimizer.param_groups[0]["lr"] == 0.5
        optimizer.step()
    assert w.tolist() == before
    assert other.tolist() == pytest.approx([-1.0, -1.0])
    assert [state["state"][0]["step"].item(), optimizer.state[w]["step"].item()] == [2.0, 1.0]
    assert optimizer.param_groups[0]["lr"] == 0.1
    for parameters, given, message in [
        ({}, state, "requires the explicit parameter state to match optimizer.param_groups ordering"),
        ({"other": other}, {"state": {}}, "to be a list of param-group dicts, got NoneType"),
        ({"other": other}, {"state": {}, "param_groups": []}, "has a different number of parameter groups"),
    ]:
        with pytest.raises(RuntimeError, match=message), swap(optimizer, parameters, given):
            pass
