"""One layer and direction of an LSTM by oneDNN, where it is installed: forward, and all gradients."""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp
from jax import Array

from ...engine import onednn
from ...numerics.lstm import lstm

# Of the input and of the state, and a bias for each if the layer has them.
Weights = tuple[Array, Array, Array | None, Array | None]


# Bytes of a layer's weights up to which oneDNN is faster than the loop. It packs them again at each step, for each piece of the batch, and
# XLA divides large products among threads. Measured on two cores with 2 MB of cache, a training step with 32 sequences of 16 steps takes
# 8 ms instead of 15 with 1.6 MB of weights, as long either way with 3.5 MB, and a tenth longer with 6 MB. With one sequence it takes 0.3 ms
# instead of 0.4 with 0.4 MB, and 0.55 instead of 0.5 with 1 MB. ``python -m benchmarks.lowerings --only units`` measures it again.
FASTER_UP_TO, FEW, FASTER_FOR_FEW = 2**22, 8, 2**19
# And the number of steps from which it is. Handing the work over takes 0.1 ms, and a step of the loop 0.01 or more.
FASTER_FROM = 8


Shape = tuple[int, ...]


@functools.lru_cache(maxsize=4096)
def computes(
    x: Shape, hidden: int, layers: int, bidirectional: bool, threads: int, weights: tuple[Shape, ...], has_biases: bool
) -> bool:
    """Whether oneDNN computes all layers over an input of this shape, (T, B, F), and faster than loops.

    Weights of other shapes than a layer's stay with the loop, which broadcasts or refuses them: oneDNN would read beyond them.
    """
    directions = 2 if bidirectional else 1
    widths = [x[2]] * directions + [hidden * directions] * (directions * (layers - 1))
    biases = [(4 * hidden,)] * (2 * has_biases)
    if weights != tuple(shape for width in widths for shape in ((4 * hidden, width), (4 * hidden, hidden), *biases)):
        return False
    limit = FASTER_UP_TO if x[1] >= FEW else FASTER_FOR_FEW
    return all(4 * hidden * (width + hidden) * 4 <= limit for width in widths) and all(
        onednn.lstm_of(part, (*x[:2], width), hidden, bool(direction), threads) is not None
        for part in ("inference", "training", "gradients")
        for width in set(widths)
        for direction in range(directions)
    )


def forward(
    x: Array, state: Array, memory: Any, weights: Weights, reverse: bool, threads: int, keep: bool
) -> tuple[Array, Array, Array, list[Array]]:
    """Output, last state, last cell; and if ``keep``, what the gradients read."""
    w_ih, w_hh, *biases = weights
    of = onednn.lstm_of("training" if keep else "inference", x.shape, state.shape[-1], reverse, threads)
    assert of is not None
    found = lstm(of, x, state, memory, w_ih, w_hh, _bias(w_hh, *biases))
    return found[0], found[1], found[2], found if keep else []


def gradients(
    x: Array,
    state: Array,
    memory: Any,
    weights: Weights,
    reverse: bool,
    threads: int,
    kept: list[Array],
    cotangents: tuple[Any, ...],
) -> Any:
    """Gradients of x, the first state, the first cell, and the weights."""
    w_ih, w_hh, *biases = weights
    of = onednn.lstm_of("gradients", x.shape, state.shape[-1], reverse, threads)
    assert of is not None
    bias = _bias(w_hh, *biases)
    d_x, d_state, d_memory, d_ih, d_hh, d_bias = lstm(of, x, state, memory, w_ih, w_hh, bias, *kept, *cotangents)
    d_biases = [None if b is None else d_bias for b in biases]
    return d_x, d_state, d_memory, [d_ih, d_hh, *d_biases]


def _bias(w_hh: Array, bias_ih: Array | None, bias_hh: Array | None) -> Array:
    """oneDNN has one bias, and it is not optional."""
    if bias_ih is None or bias_hh is None:
        return jnp.zeros(w_hh.shape[0], w_hh.dtype)
    return bias_ih + bias_hh
