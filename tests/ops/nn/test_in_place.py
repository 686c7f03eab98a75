"""Layers of an LSTM on a TPU: gates lie where products of the inputs lay, and gradients where gates lay."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from tests.numerics.lstms import assert_close
from torchlike import nn
from torchlike.accelerator import described
from torchlike.numerics.exact_math import computed_on
from torchlike.ops.nn._recurrence import Inputs, LayerInputs, Plan, outputs, plan_of, run

pytestmark = pytest.mark.recorded
STEPS, BATCH, FEATURES, SIZE = 6, 5, 3, 4
# The arguments of a plan, and for packed sequences how many reach so far.
LAYERS: dict[str, tuple[tuple[Any, ...], list[int] | None]] = {
    "plain": (("LSTM", True, 1, False, False), None),
    "no bias": (("LSTM", False, 1, False, False), None),
    "two layers, both directions": (("LSTM", True, 2, True, False), None),
    "packed, both directions": (("LSTM", True, 2, True, False), [5, 5, 3, 2, 1, 1]),
    "projected": (("LSTM", True, 1, True, True), None),
}


def arguments(plan: Plan, sizes: list[int] | None) -> tuple[Inputs, LayerInputs]:
    random = np.random.default_rng(0)

    def array(*shape: int) -> jax.Array:
        return jnp.asarray(random.standard_normal(shape), jnp.float32)

    directions = 2 if plan.bidirectional else 1
    out, rows = 2 if plan.projected else SIZE, plan.cell.gates * SIZE
    weights = []
    for layer in range(plan.num_layers):
        for _ in range(directions):
            weights += [array(rows, directions * out if layer else FEATURES), array(rows, out)]
            weights += [array(rows), array(rows)] * plan.has_biases + [array(out, SIZE)] * plan.projected
    hidden = [array(plan.num_layers * directions, BATCH, size) for size in (out, SIZE)[: plan.results - 1]]
    data = array(STEPS, BATCH, FEATURES) if sizes is None else array(sum(sizes), FEATURES)
    return Inputs(data, hidden, weights), LayerInputs([], None if sizes is None else jnp.asarray(sizes))


def computed(platform: str, layer: str, order: int) -> list[np.ndarray]:
    """Results, and gradients of this order of all that has one."""
    options, sizes = LAYERS[layer]
    plan = plan_of(*options)
    inputs, others = arguments(plan, sizes)

    def total(inputs: Inputs) -> Any:
        kept = jax.lax.stop_gradient(run(plan, inputs, others))
        found: Any = outputs(plan, inputs, others, kept)
        return sum(jnp.sin(f).sum() * (n + 1) for n, f in enumerate(found)), found

    def twice(inputs: Inputs) -> Any:
        gradients = jax.grad(lambda x: total(x)[0])(inputs)
        return sum(jnp.cos(g).sum() for g in jax.tree.leaves(gradients))

    with computed_on(platform):
        function: Any = functools.partial(jax.grad, has_aux=True)(total) if order == 1 else jax.grad(twice)
        return [np.asarray(a) for a in jax.tree.leaves(jax.jit(function)(inputs))]


@pytest.mark.parametrize(("layer", "order"), [*((layer, 1) for layer in LAYERS), ("plain", 2)])
def test_results_and_gradients_are_those_of_loops_that_keep_both(layer: str, order: int) -> None:
    assert_close(computed("tpu", layer, order), computed("gpu", layer, order))


def test_gates_are_kept_in_place_of_products_on_a_tpu_alone() -> None:
    plan = plan_of("LSTM", True, 1, False, False)
    inputs, others = arguments(plan, None)

    def kept(platform: str) -> list[tuple[int, ...]]:
        with computed_on(platform):
            return [a.shape for a in jax.eval_shape(lambda inputs: run(plan, inputs, others), inputs)[plan.results :]]

    state = (STEPS, BATCH, SIZE)
    assert kept("tpu") == [state, state, (STEPS, BATCH, 4 * SIZE)]
    assert kept("gpu") == kept("cpu") == [state] * 6


def test_a_step_keeps_the_gates_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # CPUs stand for the chips.
    monkeypatch.setattr(described, "_chips", lambda topology: jax.devices("cpu")[:4])
    steps, batch, size = 64, 32, 64
    with torch.compiled_for("tpu:v5e:2x2") as compiled:
        layer, x = nn.LSTM(8, size).to("tpu"), torch.zeros(steps, batch, 8)
        for _ in range(3):
            loss = layer(x.to("tpu"))[0][-1].square().sum()
            loss.backward()
            loss.item()
            layer.zero_grad()
    state = 4 * steps * batch * size
    # Four gates, states, cells, gradients of the states, and for the product with them a copy of each array. While products, gates and
    # factors of the derivative lay beside each other, it was 19.
    assert compiled.programs[-1].temporary_bytes < 13 * state
