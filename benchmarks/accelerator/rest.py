"""What else depends on the device: attention over many tokens, random numbers, dropout, reading results, copies, single operations."""

from __future__ import annotations

import functools
import importlib
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..step import MODULES
from . import device
from .workers import Figures, Measurement, Preparation, in_turns

Turn = Callable[[], object]  # what is timed; ends when the device has done it


def _torch(engine: str) -> tuple[Any, str]:
    return importlib.import_module(MODULES[engine]), device.for_torchlike() if engine == "torchlike" else "cuda"


def _long() -> tuple[int, int, int, int]:
    """Batch, heads, tokens, and size of a head."""
    return (1, 2, 64, 16) if device.is_made_up() else (4, 16, 4096, 128)


def attention(engine: str) -> Turn:
    """Causal attention in bfloat16, forward and backward."""
    B, H, T, D = _long()
    if engine == "jax":
        q, k, v = (jax.random.normal(jax.random.key(i), (B, T, H, D), jnp.bfloat16) for i in range(3))

        @jax.jit
        def gradients(q: jax.Array, k: jax.Array, v: jax.Array) -> Any:
            how = None if device.is_made_up() else "cudnn"

            def total(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
                out = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation=how)
                return out.astype(jnp.float32).sum()

            return jax.grad(total, (0, 1, 2))(q, k, v)

        return lambda: jax.block_until_ready(gradients(q, k, v))
    torch, place = _torch(engine)
    leaves = [torch.randn(B, H, T, D, device=place, dtype=torch.bfloat16).requires_grad_() for _ in range(3)]

    def turn() -> float:
        out = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=True)
        grads = torch.autograd.grad(out.float().sum(), leaves)
        return (grads[0][0, 0, 0, 0] + grads[1][0, 0, 0, 0] + grads[2][0, 0, 0, 0]).item()

    return turn


def random_numbers(engine: str, kind: str) -> Turn:
    """Sixteen million numbers, drawn for the device and added up."""
    shape = (64, 64) if device.is_made_up() else (4096, 4096)
    if engine == "jax":
        draw = {"normal": jax.random.normal, "uniform": jax.random.uniform}[kind]
        return lambda: float(draw(jax.random.key(0), shape).sum())
    torch, place = _torch(engine)
    draw = {"normal": torch.randn, "uniform": torch.rand}[kind]
    return lambda: draw(shape, device=place).sum().item()


def dropout(engine: str) -> Turn:
    """A step of a layer with dropout over sixteen million numbers."""
    torch, place = _torch(engine)
    width = 64 if device.is_made_up() else 4096
    x, layer = torch.ones(width, width, device=place), torch.nn.Dropout(0.1)
    weight = torch.ones(width, device=place).requires_grad_()

    def turn() -> float:
        layer(x * weight).sum().backward()
        found, weight.grad = weight.grad, None
        return found[0].item()

    return turn


def one_read(engine: str) -> Turn:
    """A sum of a few numbers, and reading it."""
    if engine == "jax":
        ones, total = jnp.ones(16, device=device.for_jax()), jax.jit(lambda x: (x + 1).sum())
        return lambda: float(total(ones))
    torch, place = _torch(engine)
    x = torch.ones(16, device=place)
    return lambda: (x + 1).sum().item()


def one_copy(engine: str, direction: str) -> Turn:
    """A copy of 64 MiB."""
    torch, place = _torch(engine)
    here = torch.rand(2**20 if device.is_made_up() else 2**24)
    here = here.pin_memory() if direction == "pinned" else here
    there = here.to(place) + 1
    if direction == "back":
        return lambda: (there + 1).cpu()[0].item()
    return lambda: (here.to(place, non_blocking=True) + 1)[0].item()


def unfused(engine: str) -> Turn:
    """A hundred small operations, of which the last result is read."""
    torch, place = _torch(engine)
    x = torch.ones(64, 64, device=place)

    def turn() -> float:
        y = x
        for _ in range(50):
            y = torch.relu(y + x)
        return y[0, 0].item()

    return turn


# What is measured of each engine, and whether JAX has a like.
KINDS: dict[str, tuple[Callable[[str], Turn], bool]] = {
    "attention": (attention, True),
    "normal numbers": (functools.partial(random_numbers, kind="normal"), True),
    "uniform numbers": (functools.partial(random_numbers, kind="uniform"), True),
    "dropout": (dropout, False),
    "read": (one_read, True),
    "copy to it": (functools.partial(one_copy, direction="there"), False),
    "copy to it, pinned": (functools.partial(one_copy, direction="pinned"), False),
    "copy from it": (functools.partial(one_copy, direction="back"), False),
    "hundred small operations": (unfused, False),
}
TURNS = 5


def prepare(engine: str) -> Measurement:
    """Runs each kind until everything is compiled, and then a few times at each call. One that fails does not end the others."""
    turns: dict[str, Turn] = {}
    failed: dict[str, str] = {}
    peaks: dict[str, float] = {}
    for kind, (make, has_jax) in KINDS.items():
        if engine == "jax" and not has_jax:
            continue
        try:
            turn = make(engine)
            for _ in range(6):
                turn()
            turns[kind] = turn
        except Exception as error:
            failed[kind] = f"{type(error).__name__}: {str(error)[:300]}"
        if kind == "attention":
            peaks[f"{kind}, MiB"] = device.peak_memory(engine)  # later kinds may need more

    def measure() -> Figures:
        figures: Figures = {}
        for kind, turn in turns.items():
            start = time.perf_counter()
            for _ in range(TURNS):
                turn()
            figures[kind] = (time.perf_counter() - start) / TURNS * 1e3
        return figures | failed | peaks

    return measure


def run(rounds: int, deadline: float) -> dict[str, Figures]:
    """Milliseconds of each kind by engine."""
    names = device.chosen("engines", ("torchlike", "jax", *(("pytorch",) if device.pytorch_has_it() else ())))
    preparations: dict[str, Preparation] = {name: functools.partial(prepare, name) for name in names}
    return in_turns(preparations, rounds, deadline - 10, deadline)
