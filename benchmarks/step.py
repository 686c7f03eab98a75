"""Time of one training step: torchlike, hand-written JAX and PyTorch, in turns in one process, on the same unmodified loop.

    python -m benchmarks.step [--rounds 7] [--only mlp]

Each engine runs a burst of steps in its turn, so that a machine whose speed drifts treats all alike; the medians over the rounds and
their ratios are printed. PyTorch takes part where it is installed. After the first round nothing may be compiled: that is asserted.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Burst = Callable[[int], float]  # runs so many steps and returns the last loss
CASES = {
    "mlp": {"sizes": (784, 512, 512, 10), "batch": 64, "steps": 60},
    "tiny": {"sizes": (784, 16, 16, 10), "batch": 8, "steps": 600},
}
LR = 1e-3


def data(sizes: tuple[int, ...], batch: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.normal(size=(batch, sizes[0])).astype(np.float32), random.integers(0, sizes[-1], batch)


def pytorch_loop(torch: Any, sizes: tuple[int, ...], batch: int) -> Burst:
    """The loop every PyTorch user writes, for PyTorch itself or for what claims to be it."""
    nn = torch.nn
    torch.manual_seed(0)
    layers: list[Any] = [nn.Flatten()]
    for fan_in, fan_out in itertools.pairwise(sizes):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    loss_fn, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=LR)
    inputs, labels = data(sizes, batch)
    X, y = torch.from_numpy(inputs).clone(), torch.from_numpy(labels).clone()

    def burst(steps: int) -> float:
        for _ in range(steps):
            loss = loss_fn(model(X), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return loss.item()

    return burst


def jax_loop(sizes: tuple[int, ...], batch: int) -> Burst:
    """The same step as one hand-written jitted function with donated parameters."""
    random = np.random.default_rng(1)
    params = [
        (
            jnp.asarray(random.uniform(-1, 1, (m, n)) / m**0.5, jnp.float32),
            jnp.zeros((n,), jnp.float32),
        )
        for m, n in itertools.pairwise(sizes)
    ]
    inputs, labels = data(sizes, batch)
    X, y = jnp.asarray(inputs), jnp.asarray(labels.astype(np.int32))

    def loss_of(params: Any, X: jax.Array, y: jax.Array) -> jax.Array:
        for i, (w, b) in enumerate(params):
            X = X @ w + b
            if i < len(params) - 1:
                X = jax.nn.relu(X)
        return -jnp.take_along_axis(jax.nn.log_softmax(X), y[:, None], axis=1).mean()

    def step(params: Any, X: jax.Array, y: jax.Array) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(params, X, y)
        return jax.tree.map(lambda p, g: p - LR * g, params, grads), loss

    jitted = jax.jit(step, donate_argnums=0)
    state = params

    def burst(steps: int) -> float:
        nonlocal state
        for _ in range(steps):
            state, loss = jitted(state, X, y)
        return float(loss)

    return burst


def engines(case: dict[str, Any]) -> dict[str, Burst]:
    shape = {k: case[k] for k in ("sizes", "batch")}
    found = {"torchlike": pytorch_loop(importlib.import_module("torchlike"), **shape), "jax": jax_loop(**shape)}
    with contextlib.suppress(ModuleNotFoundError):
        found["pytorch"] = pytorch_loop(importlib.import_module("torch"), **shape)
    return found


def measure(case: dict[str, Any], rounds: int) -> dict[str, list[float]]:
    """Microseconds a step, for each engine and round."""
    import torchlike

    bursts, steps = engines(case), case["steps"]
    for burst in bursts.values():
        burst(steps)  # warm-up: compilation
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
