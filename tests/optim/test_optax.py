"""Optax's transformations as optimizers: their numbers are options of the groups, and their state is saved and loaded."""

import copy
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import torchlike as torch

pytestmark = pytest.mark.composed


def leaves() -> list[Any]:
    return [torch.tensor([[3.0, -4.0]], requires_grad=True), torch.tensor([1.0], requires_grad=True)]


def train(optimizer: Any, params: list[Any], steps: int, closure: bool = False) -> None:
    def loss() -> Any:
        optimizer.zero_grad()
        loss: Any = sum((p * p).sum() for p in params)
        loss.backward()
        return loss

    for _ in range(steps):
        if closure:
            optimizer.step(loss)
        else:
            loss()
            optimizer.step()


@pytest.mark.costly
@pytest.mark.parametrize(
    "make",
    [
        lambda: optax.sgd(0.1, momentum=0.9),
        lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.1)),
        lambda: optax.lion(0.01),
        lambda: optax.adafactor(0.1),
        lambda: optax.rmsprop(optax.exponential_decay(0.1, 2, 0.5)),
    ],
    ids=["sgd", "clipped adamw", "lion", "adafactor", "scheduled rmsprop"],
)
def test_steps_are_optaxs(make: Any):
    params = leaves()
    train(torch.optim.Optax(params, make()), params, 4)
    tx: Any = make()
    arrays: Any = [jnp.asarray(p.detach().numpy().copy()) for p in leaves()]
    with jax.numpy_dtype_promotion("standard"):
        state = tx.init(arrays)
        for _ in range(4):
            updates, state = tx.update([2 * a for a in arrays], state, arrays)
            arrays = optax.apply_updates(arrays, updates)
    for param, array in zip(params, arrays, strict=True):
        np.testing.assert_allclose(param.detach().numpy(), array, rtol=1e-5)


def test_injected_numbers_are_options_and_compile_nothing():
    params = leaves()
    optimizer = torch.optim.Optax(params, optax.inject_hyperparams(optax.sgd)(learning_rate=0.25))
    assert optimizer.param_groups[0]["lr"] == 0.25
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    with torch.op_by_op(False):
        for step in range(8):
            if step == 5:
                torch.explain(reset=True)
            train(optimizer, params, 1)
            schedule.step()
        assert torch.explain().compiles == 0
    expected = np.prod([1 - 2 * 0.25 * 0.5**i for i in range(8)])
    assert params[1].item() == pytest.approx(expected, rel=1e-6)


def test_the_loss_of_a_closure_reaches_the_transformation():
    params = leaves()
    plateau = optax.contrib.reduce_on_plateau(factor=0.5, patience=1, rtol=0.9)
    optimizer = torch.optim.Optax(params, optax.chain(optax.sgd(0.01), plateau))
    train(optimizer, params, 4, closure=True)
    scale = next(own for path, own in optimizer.state["group 0"].items() if path.endswith(".scale"))
    assert scale.item() < 1.0


def test_state_goes_there_and_back_and_copies_go_on():
    params = leaves()
    optimizer = torch.optim.Optax(params, optax.adam(0.1))
    train(optimizer, params, 2)
    assert list(optimizer.state["group 0"]) == ["[0].count", "[0].mu[0]", "[0].mu[1]", "[0].nu[0]", "[0].nu[1]"]
    state, there = copy.deepcopy(optimizer.state_dict()), [p.detach().clone() for p in params]
    train(optimizer, params, 2)
    others = [p.clone().requires_grad_() for p in there]
    other = torch.optim.Optax(others, optax.adam(0.1))
    other.load_state_dict(state)
    train(other, others, 2)
    assert [p.tolist() for p in others] == [p.tolist() for p in params]
    again = copy.deepcopy(other)
    train(again, again.param_groups[0]["params"], 1)
    train(other, others, 1)
    assert again.param_groups[0]["params"][1].tolist() == others[1].tolist()


def test_a_parameter_without_gradient_counts_as_zeros_and_no_gradients_as_no_step():
    params = leaves()
    optimizer = torch.optim.Optax(params, optax.adamw(0.1, weight_decay=0.5))
    optimizer.step()
    assert params[0].tolist() == [[3.0, -4.0]]
    params[0].grad = torch.ones(1, 2)
    optimizer.step()
    assert params[1].item() == pytest.approx(0.95)


def test_what_is_no_transformation_is_refused():
    with pytest.raises(TypeError, match=r"^tx must be an optax.GradientTransformation, but got float$"):
        torch.optim.Optax(leaves(), 0.1)
