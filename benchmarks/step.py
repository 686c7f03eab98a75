"""Time of one training step: torchlike, hand-written JAX and PyTorch, in turns in one process, on the same unmodified loop.

    python -m benchmarks.step [--rounds 7] [--only mlp]

The models are in `benchmarks/models`: mlp, tiny (little but overhead), lenet, lstm, gpt, resnet. Each engine runs a burst of
steps in its turn, so that a machine whose speed drifts treats all alike; the medians over the rounds and their ratios are printed.
PyTorch takes part where it is installed. After the first round nothing may be compiled: that is asserted.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .models import CASES, Case

Burst = Callable[[int], float]  # runs so many steps and returns the last loss
LR = 1e-3


def pytorch_loop(torch: Any, case: Case) -> Burst:
    """The loop every PyTorch user writes, for PyTorch itself or for what claims to be it."""
    torch.manual_seed(0)
    model, loss_fn = case.model(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    inputs, labels = case.data()
    X, y = torch.from_numpy(inputs).clone(), torch.from_numpy(labels).clone()

    def burst(steps: int) -> float:
        for _ in range(steps):
            loss = loss_fn(model(X), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return loss.item()

    return burst


def jax_loop(case: Case) -> Burst:
    """The same step as one hand-written jitted function with donated parameters."""
    inputs, labels = case.data()
    X = jnp.asarray(inputs.astype(np.int32) if inputs.dtype.kind == "i" else inputs)
    y = jnp.asarray(labels.astype(np.int32))

    def step(params: Any, X: jax.Array, y: jax.Array) -> Any:
        loss, grads = jax.value_and_grad(case.loss)(params, X, y)
        return jax.tree.map(lambda p, g: p - LR * g, params, grads), loss

    jitted = jax.jit(step, donate_argnums=0)
    state = case.params(np.random.default_rng(1))

    def burst(steps: int) -> float:
        nonlocal state
        for _ in range(steps):
            state, loss = jitted(state, X, y)
        return float(loss)

    return burst


def engines(case: Case) -> dict[str, Burst]:
    found = {"torchlike": pytorch_loop(importlib.import_module("torchlike"), case), "jax": jax_loop(case)}
    with contextlib.suppress(ModuleNotFoundError):
        found["pytorch"] = pytorch_loop(importlib.import_module("torch"), case)
    return found


def measure(case: Case, rounds: int) -> dict[str, list[float]]:
    """Microseconds a step, for each engine and round."""
    import torchlike

    bursts, steps = engines(case), case.steps
    for burst in bursts.values():
        burst(max(steps, 3))  # warm-up: compilation
    compiled = torchlike.explain().compiles
    times: dict[str, list[float]] = {name: [] for name in bursts}
    for _ in range(rounds):
        for name, burst in bursts.items():
            start = time.perf_counter()
            burst(steps)
            times[name].append((time.perf_counter() - start) / steps * 1e6)
    if torchlike.explain().compiles != compiled:
        raise AssertionError(f"something was compiled after the warm-up:\n{torchlike.explain()}")
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=CASES)
    args = parser.parse_args()
    for name, case in CASES.items():
        if args.only not in (None, name):
            continue
        medians = {engine: statistics.median(times) for engine, times in measure(case, args.rounds).items()}
        row = "  ".join(f"{engine} {microseconds:9.1f} us" for engine, microseconds in medians.items())
        ratios = "  ".join(
            f"/{engine} {medians['torchlike'] / t:.2f}" for engine, t in medians.items() if engine != "torchlike"
        )
        print(f"{name:6s} {row}   torchlike {ratios}")


if __name__ == "__main__":
    main()
