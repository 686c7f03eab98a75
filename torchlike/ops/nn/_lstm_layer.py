"""One layer and direction of an LSTM by oneDNN, where it is installed: forward, and all gradients."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import Array

from ...engine import onednn
from ...numerics.lstm import lstm

if TYPE_CHECKING:
    from ._recurrence import Weights


@functools.cache
def computes(x: tuple[int, ...], hidden: int, layers: int, bidirectional: bool, threads: int) -> bool:
    """Whether oneDNN computes all layers over an input of this shape, (T, B, F)."""
    directions = 2 if bidirectional else 1
    widths = {x[2], *([hidden * directions] if layers > 1 else [])}
    return all(
        onednn.lstm_of(part, (*x[:2], width), hidden, bool(direction), threads) is not None
        for part in ("inference", "training", "gradients")
        for width in widths
        for direction in range(directions)
    )


def forward(
    x: Array, state: Array, memory: Any, w: Weights, reverse: bool, threads: int, keep: bool
) -> tuple[Array, Array, Array, list[Array]]:
    """Output, last state, last cell; and if ``keep``, what the gradients read."""
    of = onednn.lstm_of("training" if keep else "inference", x.shape, state.shape[-1], reverse, threads)
    assert of is not None
    found = lstm(of, x, state, memory, w.ih, w.hh, _bias(w))
    return found[0], found[1], found[2], found if keep else []


def gradients(
    x: Array,
    state: Array,
    memory: Any,
    w: Weights,
    reverse: bool,
    threads: int,
    kept: list[Array],
    cotangents: tuple[Array | None, ...],
) -> Any:
    """Gradients of x, the first state, the first cell, and the weights."""
    of = onednn.lstm_of("gradients", x.shape, state.shape[-1], reverse, threads)
    assert of is not None
    d_x, d_state, d_memory, d_ih, d_hh, d_bias = lstm(of, x, state, memory, w.ih, w.hh, _bias(w), *kept, *cotangents)
    d_bias = None if w.bias_ih is None else d_bias
    return d_x, d_state, d_memory, w._replace(ih=d_ih, hh=d_hh, bias_ih=d_bias, bias_hh=d_bias)


def _bias(w: Weights) -> Array:
    """oneDNN has one bias, and it is not optional."""
    if w.bias_ih is None or w.bias_hh is None:
        return jnp.zeros(w.hh.shape[0], w.hh.dtype)
    return w.bias_ih + w.bias_hh
