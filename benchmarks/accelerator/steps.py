"""Training steps of six models: torchlike, hand-written JAX, and PyTorch eager and compiled, in float32 and in bfloat16."""

from __future__ import annotations

import functools
import importlib
import time
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..models import CASES, LARGE, SMALL, Case
from ..step import LR, MODULES, Burst, in_jax, pytorch_loop, settle
from . import device
from .workers import Figures, Measurement, Preparation, in_turns

ENGINES = ("torchlike", "jax")
PYTORCH = ("pytorch", "pytorch compiled")
OVERHEAD = ("mlp", "tiny")  # which show what a step costs besides the device's work
# Seconds that compiling all engines of a model and measuring them took on an H100, roughly. Those that need few come first: what they
# leave over goes to those that need many.
NEEDED = {"tiny": 25, "mlp": 25, "lstm512": 30, "unet": 45, "vit": 60, "bert": 60, "gpt2": 65, "resnet50": 80}


def cases() -> dict[str, Case]:
    """The models, small ones where the device is made up."""
    return SMALL if device.is_made_up() else LARGE


def in_order() -> list[str]:
    """The models to measure, those that need little time first."""
    return device.chosen("models", sorted((*cases(), *OVERHEAD), key=NEEDED.__getitem__))


def share(names: Sequence[str], seconds: float) -> float:
    """The part of the time that is left for these models which the first of them gets: the others get theirs, whatever it takes."""
    return seconds * NEEDED[names[0]] / sum(NEEDED[name] for name in names)


def training(engine: str, case: Case, half: bool) -> Burst:
    """The loop of an engine: as users write it, the products in bfloat16 if ``half``."""
    if engine == "jax":
        return jax_training(case, half)
    module, _, how = engine.partition(" ")
    torch = importlib.import_module(MODULES[module])
    place = device.for_torchlike() if module == "torchlike" else "cuda"
    burst = pytorch_loop(torch, case, place, how == "compiled")
    if not half:
        return burst

    def mixed(steps: int) -> float:
        # The backward pass is inside the context too, which makes no difference to its dtypes.
        with torch.autocast(place, dtype=torch.bfloat16):
            return burst(steps)

    return mixed


def jax_training(case: Case, half: bool) -> Burst:
    """One jitted function with donated parameters. Its precisions are those of PyTorch: convolutions may use TF32."""
    state, X, y = in_jax(case, device.for_jax())

    def loss_of(params: Any, X: jax.Array, y: jax.Array) -> jax.Array:
        if half:
            params = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
            X = X.astype(jnp.bfloat16) if X.dtype == jnp.float32 else X
        return case.loss(params, X, y)

    @functools.partial(jax.jit, donate_argnums=0)
    def step(params: Any, X: jax.Array, y: jax.Array) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(params, X, y)
        return jax.tree.map(lambda p, g: p - LR * g, params, grads), loss

    def burst(steps: int) -> float:
        nonlocal state
        with jax.default_matmul_precision("highest"):
            for _ in range(steps):
                state, loss = step(state, X, y)
        return float(loss)

    return burst


def prepare(engine: str, name: str, half: bool) -> Measurement:
    """Compiles everything, and measures a burst of steps each time."""
    begun = time.perf_counter()
    case = CASES[name] if name in OVERHEAD else cases()[name]
    burst = training(engine, case, half)
    first = burst(1)
    waited = time.perf_counter() - begun
    if not np.isfinite(first):
        raise ArithmeticError(f"the loss of the first step is {first}")
    if engine == "torchlike":
        settle(burst, 3)
    burst(3)

    def measure() -> Figures:
        start = time.perf_counter()
        burst(case.steps)
        took = (time.perf_counter() - start) / case.steps
        return {"ms": took * 1e3, "MiB": device.peak_memory(engine.partition(" ")[0]), "first_s": waited, "loss": first}

    return measure


def run(name: str, rounds: int, ready: float, deadline: float) -> dict[str, Figures]:
    """The figures of a model by engine and precision. Its engines are prepared at the same time, those of other models are not."""
    engines = device.chosen("engines", (*ENGINES, *(PYTORCH if device.pytorch_has_it() else ())))
    precisions = ("float32",) if name in OVERHEAD else device.chosen("precisions", ("float32", "bfloat16"))
    preparations: dict[str, Preparation] = {
        f"{engine}, {precision}": functools.partial(prepare, engine, name, precision == "bfloat16")
        for precision in precisions
        for engine in engines
    }
    return in_turns(preparations, rounds, ready, deadline)
