"""Primitives of JAX for one layer and direction of long short-term memory, which oneDNN computes on a CPU.

Parameter is an ``onednn.Lstm``, which says what the operands are. Wherever oneDNN cannot be called, and for derivatives of derivatives, a
scan computes the same; then nothing is in the workspace, and the gradients begin with the forward pass.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ..engine import onednn
from ..engine.onednn import Lstm
from .convolution import is_divided

lstm_p = Primitive("torchlike_lstm")
lstm_p.multiple_results = True


def lstm(of: Lstm, *operands: Array) -> list[Array]:
    """The results of one part of the layer."""
    return lstm_p.bind(*operands, of=of)


@lstm_p.def_abstract_eval
def _abstract(*operands: ShapedArray, of: Lstm) -> list[ShapedArray]:
    if tuple([operand.shape for operand in operands[:6]]) != of.operands:
        raise ValueError(f"an LSTM of {of.operands} is given {[operand.shape for operand in operands[:6]]}")
    return [ShapedArray(shape, dtype) for shape, dtype in of.results]


# ---- as a scan


def _forward(of: Lstm, x: Array, state: Array, cell: Array, w_ih: Array, w_hh: Array, bias: Array) -> list[Array]:
    def step(carry: tuple[Array, Array], row: Array) -> tuple[tuple[Array, Array], Array]:
        state, cell = carry
        i, f, g, o = jnp.split(row @ w_ih.T + state @ w_hh.T + bias, 4, axis=-1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
        state = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (state, cell), state

    (state, cell), y = lax.scan(step, (state, cell), x, reverse=of.reverse)
    return [y, state, cell]


def by_scan(of: Lstm, *operands: Array) -> list[Array]:
    """The same without oneDNN."""
    if of.part == "gradients":
        inputs, cotangents = operands[:6], list(operands[-3:])
        return list(jax.vjp(functools.partial(_forward, of), *inputs)[1](cotangents))
    results = _forward(of, *operands)
    # The gradients of the scan read no workspace. If those of oneDNN ever read this one, they would say so.
    return results + [jnp.full(shape, jnp.nan, dtype) for shape, dtype in of.results[3:]]


# ---- derivatives and batches: those of the scan


def _tangents(primals: Any, tangents: Any, *, of: Lstm) -> tuple[list[Array], list[Array]]:
    given = tuple(ad.instantiate_zeros(t) for t in tangents)
    return lstm(of, *primals), jax.jvp(functools.partial(by_scan, of), primals, given)[1]


def _batched(operands: Any, places: Any, *, of: Lstm) -> tuple[list[Array], list[int]]:
    results = jax.vmap(functools.partial(by_scan, of), places)(*operands)
    return results, [0] * len(results)


ad.primitive_jvps[lstm_p] = _tangents
batching.primitive_batchers[lstm_p] = _batched


# ---- how a program computes it


def _by_onednn(*operands: Array, of: Lstm) -> list[Array]:
    call = onednn.call(of)
    return by_scan(of, *operands) if call is None else list(call(*operands))


_SCAN = mlir.lower_fun(lambda *operands, of: by_scan(of, *operands), multiple_results=True)
_ONEDNN = mlir.lower_fun(_by_onednn, multiple_results=True)


def _lower_for_processors(ctx: Any, *operands: Any, of: Lstm) -> Any:
    return (_SCAN if is_divided(ctx) else _ONEDNN)(ctx, *operands, of=of)


# What runs outside of any trace, as in tests of JAX's own transforms.
lstm_p.def_impl(jax.jit(lambda *operands, of: lstm(of, *operands), static_argnames="of"))
mlir.register_lowering(lstm_p, _SCAN)
mlir.register_lowering(lstm_p, _lower_for_processors, platform="cpu")
