"""Comparisons that tell denormal numbers from zero. XLA treats them as zero in programs for CPUs, and no flag turns that off.

What only compares is computed from the bits, as integers: they are exact, and cost about as much. Arithmetic stays as it is.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..engine.interpreter import for_numpy
from .exact_math import traced_platform

__all__ = ["equal", "greater", "greater_equal", "less", "less_equal", "nonzero", "not_equal", "order"]

_INTEGER = {"float32": np.int32, "float64": np.int64, "bfloat16": np.int16}  # XLA computes float16 in float32


def _flushes_denormals(x: Array) -> bool:
    """Whether denormal numbers of this dtype are taken for zero where the op is going to run."""
    return x.dtype.name in _INTEGER and traced_platform() == "cpu" and not for_numpy()


def _bits(x: Array) -> Array:
    return lax.bitcast_convert_type(x, _INTEGER[x.dtype.name])


def _key(x: Array) -> Array:
    """Integers in the order of the numbers; the two zeros are equal, NaN lies beyond either infinity."""
    bits = _bits(x)
    # Not a choice by ``bits < 0``: LLVM would recognise a comparison of floats, and replace it by one.
    sign = bits >> (8 * bits.dtype.itemsize - 1)
    return ((bits & np.iinfo(bits.dtype).max) ^ sign) - sign


def _number(x: Array) -> Array:
    """Which elements are not NaN. Not by ``x == x``: LLVM would then turn the comparisons of integers beside it into ones of floats."""
    bits = _bits(x)
    infinity = np.asarray(np.inf, x.dtype).view(bits.dtype)
    return (bits & np.iinfo(bits.dtype).max) <= infinity


def _is_zero(integers: Array) -> Array:
    """``integers == 0``, computed in floats: LLVM would turn the plain form into a comparison of the original float with zero."""
    float_dtype = jnp.float64 if integers.dtype == np.int64 else jnp.float32
    return jnp.abs(integers.astype(float_dtype) * jnp.asarray(0.7, float_dtype)) < jnp.asarray(0.3, float_dtype)


def order(x: Array, nan_first: bool = False) -> Array:
    """What sorts as ``x`` does: NaN after everything else, or before it. ``x`` itself where its denormal numbers are seen."""
    if not _flushes_denormals(x):
        return x
    key = _key(x)
    limits = np.iinfo(key.dtype)
    return jnp.where(_number(x), key, np.asarray(limits.min if nan_first else limits.max, key.dtype))


def nonzero(x: Array) -> Array:
    """Which elements are not zero; NaN is not."""
    if jnp.iscomplexobj(x):
        return nonzero(x.real) | nonzero(x.imag)
    return ~_is_zero(_key(x)) if _flushes_denormals(x) else x.astype(bool)


def _comparison(plain: Any) -> Any:
    def compare(a: Array, b: Array) -> Array:
        if not _flushes_denormals(a):
            return plain(a, b)
        b = jnp.asarray(b, a.dtype)
        return plain(_key(a), _key(b)) & _number(a) & _number(b)

    return compare


less, less_equal = _comparison(jnp.less), _comparison(jnp.less_equal)
greater, greater_equal = _comparison(jnp.greater), _comparison(jnp.greater_equal)


def _real_equal(a: Array, b: Array) -> Array:
    if not _flushes_denormals(a):
        return jnp.equal(a, b)
    b = jnp.asarray(b, a.dtype)
    return _is_zero(_key(a) ^ _key(b)) & _number(a) & _number(b)


def equal(a: Array, b: Array) -> Array:
    """``a == b``."""
    if jnp.iscomplexobj(a):
        b = jnp.asarray(b, a.dtype)
        return _real_equal(a.real, b.real) & _real_equal(a.imag, b.imag)
    return _real_equal(a, b)


def not_equal(a: Array, b: Array) -> Array:
    """``a != b``."""
    return ~equal(a, b)
