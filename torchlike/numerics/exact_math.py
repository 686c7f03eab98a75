"""Quotients, roots, powers of 2 and logarithms that are exact, or rounded once, as in PyTorch's CPU kernels; XLA's are not."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..engine.interpreter import for_numpy
from . import complex_c99 as _c99
from .derivatives import custom_jvp

PORTABLE = "portable"  # what is traced is written to a file, for any machine: see ``engine/aval.py``


class _Traced(threading.local):
    platform = "cpu"
    spread = False


_traced = _Traced()


@contextlib.contextmanager
def computed_on(platform: str, spread: bool = False) -> Iterator[None]:
    """Names the platform being traced for, and whether arrays are spread over several devices. On other platforms than the CPU the
    functions of this file are XLA's own.
    """
    before, (_traced.platform, _traced.spread) = (_traced.platform, _traced.spread), (platform, spread)
    try:
        yield
    finally:
        _traced.platform, _traced.spread = before


def traced_platform() -> str:
    """The platform of what is being traced."""
    return _traced.platform


def is_spread() -> bool:
    """Whether the arrays of what is being traced are spread over several devices.

    Dimensions should then stay as they are: one made of two that are cut has no cut of its own, so XLA would gather it everywhere.
    """
    return _traced.spread


def accumulator(dtype: np.dtype) -> np.dtype:
    """The dtype of running results and moments: double precision on a CPU, as in PyTorch; elsewhere float32 for half types."""
    if dtype.kind in "iub":
        return dtype
    if dtype.itemsize < 4:
        return np.dtype(np.float32)
    if _traced.platform != "cpu":
        return dtype
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)


@custom_jvp
def exact_quotient(a: Array, b: Array) -> Array:
    """``a / b``, where XLA makes ``a * (1 / b)`` of a divisor that is constant or broadcast: 21 / 7 would be 3.0000002."""
    if _traced.platform != "cpu" or for_numpy() or not jnp.issubdtype(jnp.result_type(a, b), np.floating):
        return jnp.true_divide(a, b)
    # Both operands are behind the barrier: XLA would otherwise also turn a / b / c into a / (b * c).
    a, b = jnp.broadcast_arrays(a, b)
    return lax.optimization_barrier(a) / lax.optimization_barrier(b)


@exact_quotient.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    # PyTorch divides by the divisor twice and not by its square. In half precision the two results differ.
    result = exact_quotient(*primals)
    return result, exact_quotient(tangents[0], primals[1]) - tangents[1] * exact_quotient(result, primals[1])


def exact_rsqrt(x: Array) -> Array:
    """``1 / sqrt(x)``, each of the two rounded."""
    return lax.rsqrt(x) if _traced.platform != "cpu" or for_numpy() else 1 / lax.optimization_barrier(jnp.sqrt(x))


def exact_exp2(x: Array) -> Array:
    """``2 ** x``, exact for whole numbers; JAX's is ``exp(x * log(2))``."""
    return _c99.exp2(x) if jnp.iscomplexobj(x) else lax.pow(jnp.full_like(x, 2), x)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def exact_log(x: Array, base: int) -> Array:
    """The logarithm to the base 2 or 10, exact for its powers: of natural ones, log(1000) / log(10) is 2.9999999999999996."""
    result = _c99.log2(x) if base == 2 else _c99.log10(x)
    if jnp.iscomplexobj(x):
        return result
    # The logarithm may miss a whole number by its last bit. Whether it is one is decided by the power, which is exact.
    whole = jnp.round(result)
    return jnp.where(lax.pow(jnp.full_like(x, base), whole) == x, whole, result)


@exact_log.defjvp
def _(base: int, primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return exact_log(x, base), dx / (x * math.log(base))
