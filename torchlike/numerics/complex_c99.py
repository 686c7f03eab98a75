"""Complex functions at infinities, NaN and zeros: what the C standard (C99, annex G) says of them, and PyTorch does.

XLA computes them from real functions by formulas that lose the sign of a zero and make NaN of infinity times zero. Each function here is
XLA's own wherever both parts are ordinary, with its derivative; only the points that the standard lists are put in its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array, lax

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "magnitude",
    "power", "product", "reciprocal", "sigmoid", "sign", "sin", "sinh", "sqrt", "tan", "tanh",
]  # fmt: skip

Parts = tuple[Array, Array]


def _repaired(plain: Callable[[Array], Array]) -> Callable[[Callable[..., Parts]], Callable[[Array], Array]]:
    """Makes ``function(x, y, re, im)``, which repairs the parts of ``plain(x + iy)``, a function with the derivative of ``plain``."""

    def decorate(repair: Callable[..., Parts]) -> Callable[[Array], Array]:
        @jax.custom_jvp
        def call(z: Array) -> Array:
            w = plain(z)
            return lax.complex(*repair(z.real, z.imag, w.real, w.imag))

        @call.defjvp
        def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
            return call(*primals), jax.jvp(plain, primals, tangents)[1]

        def function(z: Array) -> Array:
            return call(z) if z.dtype.kind == "c" else plain(z)

        function.__name__, function.__doc__ = repair.__name__, repair.__doc__
        return function

    return decorate


def _times_i(z: Array) -> Array:
    return lax.complex(-z.imag, z.real)


def _by_minus_i(z: Array) -> Array:
    return lax.complex(z.imag, -z.real)


def _rotated(inner: Callable[[Array], Array], plain: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """``-i * inner(i * z)``: a circular function by the hyperbolic one, with the derivative of ``plain``."""

    @_repaired(plain)
    def function(x: Array, y: Array, re: Array, im: Array) -> Parts:
        w = _by_minus_i(inner(_times_i(lax.complex(x, y))))
        return w.real, w.imag

    return function


def _zero_as(*factors: Array) -> Array:
    """A zero with the sign of a product."""
    sign = jnp.ones_like(factors[0])
    for factor in factors:
        sign = sign * jnp.copysign(jnp.ones_like(factor), factor)
    return jnp.zeros_like(sign) * sign


# ---- exponentials


@_repaired(jnp.exp)
def exp(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """``e ** (x + iy)``."""
    endless = ~jnp.isfinite(y)
    inf, nan, zero = jnp.full_like(x, jnp.inf), jnp.full_like(x, jnp.nan), jnp.zeros_like(x)
    im = jnp.where(y == 0, y, im)
    below, above = endless & (x == -jnp.inf), endless & (x == jnp.inf)
    re = jnp.where(below, zero, jnp.where(above, inf, re))
    im = jnp.where(below, _zero_as(y), jnp.where(above, nan, im))
    return re, im


def exp2(z: Array) -> Array:
    """``2 ** z``."""
    factor = jnp.asarray(math.log(2), z.real.dtype)
    return exp(lax.complex(z.real * factor, z.imag * factor))


@_repaired(jnp.expm1)
def expm1(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """``e ** z - 1``, by PyTorch's formula where a part is zero or not finite."""
    special = (x == 0) | (y == 0) | ~jnp.isfinite(x) | ~jnp.isfinite(y)
    half = jnp.sin(y * 0.5)
    return (
        jnp.where(special, jnp.expm1(x) * jnp.cos(y) - 2 * half * half, re),
        jnp.where(special, jnp.exp(x) * jnp.sin(y), im),
    )


@_repaired(jnp.sinh)
def sinh(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The hyperbolic sine."""
    wide, endless = jnp.isinf(x), ~jnp.isfinite(y)
    re = jnp.where(x == 0, jnp.where(endless, x, x * jnp.cos(y)), re)
    im = jnp.where(y == 0, y, im)
    return jnp.where(wide & endless, jnp.full_like(re, jnp.inf), re), im


@_repaired(jnp.cosh)
def cosh(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The hyperbolic cosine."""
    wide, endless = jnp.isinf(x), ~jnp.isfinite(y)
    im = jnp.where(y == 0, jnp.where(jnp.isnan(x), y, _zero_as(x, y)), im)
    im = jnp.where((x == 0) & (y != 0), jnp.where(endless, jnp.zeros_like(im), _zero_as(x) * jnp.sin(y)), im)
    return jnp.where(wide & endless, jnp.full_like(re, jnp.inf), re), im


@_repaired(jnp.tanh)
def tanh(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The hyperbolic tangent."""
    wide, endless = jnp.isinf(x), ~jnp.isfinite(y)
    re = jnp.where((x == 0) & (endless | (y == 0)), x, re)
    at_end = _zero_as(jnp.where(endless, y, jnp.sin(y) * jnp.cos(y)))
    return re, jnp.where(y == 0, y, jnp.where(wide, at_end, im))


# ---- circular functions


@_repaired(jnp.sin)
def sin(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The sine."""
    nowhere = ~jnp.isfinite(x)
    re = jnp.where(x == 0, x, re)
    im = jnp.where(nowhere & (y == 0), y, im)
    return re, jnp.where(nowhere & jnp.isinf(y), jnp.full_like(im, jnp.inf), im)


@_repaired(jnp.cos)
def cos(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The cosine."""
    nowhere = ~jnp.isfinite(x)
    im = jnp.where(x == 0, jnp.where(jnp.isnan(y), x, -_zero_as(x, y)), im)
    im = jnp.where(nowhere & (y == 0), jnp.zeros_like(im), im)
    return jnp.where(nowhere & jnp.isinf(y), jnp.full_like(re, jnp.inf), re), im


tan = _rotated(tanh, jnp.tan)


# ---- roots and logarithms


@_repaired(jnp.sqrt)
def sqrt(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The square root."""
    root = jnp.sqrt(jnp.abs(x))  # where the imaginary part is zero
    re = jnp.where(y == 0, jnp.where(x < 0, jnp.zeros_like(re), root), re)
    im = jnp.where(y == 0, jnp.where(x < 0, jnp.copysign(root, y), jnp.where(jnp.isnan(x), x, y)), im)
    inf, at_minus_infinity = jnp.full_like(re, jnp.inf), x == -jnp.inf
    re = jnp.where(at_minus_infinity, jnp.where(jnp.isnan(y), y, jnp.zeros_like(re)), jnp.where(x == jnp.inf, inf, re))
    im = jnp.where(at_minus_infinity, jnp.where(jnp.isnan(y), inf, jnp.copysign(inf, y)), im)
    im = jnp.where(x == jnp.inf, jnp.where(jnp.isnan(y), y, _zero_as(y)), im)
    infinite = jnp.isinf(y)
    return jnp.where(infinite, inf, re), jnp.where(infinite, y, im)


def _log_of_infinity(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """A logarithm: its real part is infinite wherever a part is, beside NaN too."""
    return jnp.where(jnp.isinf(x) | jnp.isinf(y), jnp.full_like(re, jnp.inf), re), im


log = _repaired(jnp.log)(_log_of_infinity)
log2 = _repaired(jnp.log2)(_log_of_infinity)
log10 = _repaired(jnp.log10)(_log_of_infinity)


@_repaired(jnp.log1p)
def log1p(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """``log(1 + z)``; of zero it is the same zero."""
    return jnp.where((x == 0) & (y == 0), x, re), im


# ---- inverse functions


def _odd_in_both(plain: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Computes a function that is odd in each part from its values where neither part is negative, so that no sign of a zero is lost."""

    def function(z: Array) -> Array:
        w = plain(lax.complex(jnp.abs(z.real), jnp.abs(z.imag)))
        return lax.complex(jnp.copysign(w.real, z.real), jnp.copysign(w.imag, z.imag))

    return function


_asinh, _atanh = _odd_in_both(jnp.arcsinh), _odd_in_both(jnp.arctanh)


@_repaired(jnp.arcsinh)
def asinh(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The inverse of ``sinh``."""
    w = _asinh(lax.complex(x, y))
    return w.real, jnp.where(jnp.isnan(x) & (y == 0), y, w.imag)


@_repaired(jnp.arctanh)
def atanh(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The inverse of ``tanh``."""
    w = _atanh(lax.complex(x, y))
    re, im = w.real, w.imag
    right = jnp.copysign(jnp.full_like(y, math.pi / 2), y)
    either_is_nan = jnp.isnan(x) | jnp.isnan(y)
    nan = jnp.full_like(x, jnp.nan)
    re, im = jnp.where(either_is_nan, nan, re), jnp.where(either_is_nan, nan, im)
    re = jnp.where(jnp.isinf(x) | (x == 0), _zero_as(x), re)
    infinite = jnp.isinf(y)
    re = jnp.where(infinite, jnp.where(jnp.isnan(x), jnp.zeros_like(x), _zero_as(x)), re)
    return re, jnp.where(infinite | (jnp.isinf(x) & ~jnp.isnan(y)), right, im)


asin = _rotated(asinh, jnp.arcsin)
_atan = _rotated(atanh, jnp.arctan)


@_repaired(jnp.arctan)
def atan(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The inverse of ``tan``."""
    w = _atan(lax.complex(x, y))
    return w.real, jnp.where(jnp.isinf(x) & jnp.isnan(y), jnp.zeros_like(im), w.imag)


@jax.custom_jvp
def _plain_acosh(z: Array) -> Array:
    return jnp.arccosh(z)


@_plain_acosh.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    # Two roots: that of the product, which JAX takes, has the other sign on the left half of the plane.
    (z,), (dz,) = primals, tangents
    one = jnp.ones_like(z)
    return _plain_acosh(z), dz / (jnp.sqrt(z - one) * jnp.sqrt(z + one))


@_repaired(_plain_acosh)
def acosh(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The inverse of ``cosh``; beside the cut, the sign of a zero says on which side."""
    w = jnp.arccosh(lax.complex(x, jnp.abs(y)))
    im = jnp.copysign(w.imag, y)
    return w.real, jnp.where((x == 0) & jnp.isnan(y), jnp.full_like(im, math.pi / 2), im)


@_repaired(jnp.arccos)
def acos(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """The inverse of ``cos``."""
    w = jnp.arccos(lax.complex(x, jnp.abs(y)))
    im = jnp.copysign(w.imag, -y)
    if x.dtype == jnp.float64:  # PyTorch's double precision subtracts here, and knows one zero only
        im = jnp.where(im == 0, jnp.zeros_like(im), im)
    return jnp.where((x == 0) & jnp.isnan(y), jnp.full_like(re, math.pi / 2), w.real), im


# ---- what is made of them


def product(z: Array, w: Array) -> Array:
    """``z * w``, infinite where a factor is and the plain formula has NaN in both parts."""
    a, b, c, d = z.real, z.imag, w.real, w.imag
    re, im = a * c - b * d, a * d + b * c
    both_are_nan = jnp.isnan(re) & jnp.isnan(im)
    wide_z, wide_w = jnp.isinf(a) | jnp.isinf(b), jnp.isinf(c) | jnp.isinf(d)

    def without_nan(part: Array, wide: Array, other: Array) -> Array:
        unit = jnp.copysign(jnp.where(jnp.isinf(part), 1, 0).astype(part.dtype), part)
        part = jnp.where(wide, unit, part)
        return jnp.where(other & jnp.isnan(part), jnp.zeros_like(part), part)

    a, b = without_nan(a, wide_z, wide_w), without_nan(b, wide_z, wide_w)
    c, d = without_nan(c, wide_w, wide_z), without_nan(d, wide_w, wide_z)
    infinite = both_are_nan & (wide_z | wide_w)
    inf = jnp.full_like(re, jnp.inf)
    return lax.complex(jnp.where(infinite, inf * (a * c - b * d), re), jnp.where(infinite, inf * (a * d + b * c), im))


@jax.custom_jvp
def power(x: Array, exponent: Array) -> Array:
    """``x ** exponent`` as ``exp(exponent * log(x))``, at zero too, where nothing flows back into the exponent."""
    return exp(product(exponent, log(x)))


def _plain_power(x: Array, exponent: Array) -> Array:
    zero = x == 0
    usual = jnp.exp(exponent * jnp.log(jnp.where(zero, jnp.ones_like(x), x)))
    return jnp.where(zero, jnp.zeros_like(usual), usual)


@power.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    return power(*primals), jax.jvp(_plain_power, primals, tangents)[1]


@_repaired(lambda z: 1 / z)
def reciprocal(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """``1 / z``, by PyTorch's division where a part is zero or not finite: there is NaN where the standard has a zero."""
    special = (x == 0) | (y == 0) | ~jnp.isfinite(x) | ~jnp.isfinite(y)
    across = ~(jnp.abs(x) >= jnp.abs(y))
    small, large = jnp.where(across, x, y), jnp.where(across, y, x)
    zero, one = jnp.zeros_like(x), jnp.ones_like(x)
    ratio = small / large
    by = large + small * ratio
    ratio = jnp.where(ratio == 0, zero, ratio)  # the sum that follows would lose the sign of a negative zero
    real = jnp.where(across, ratio, one) / by
    imag = jnp.where(across, -one, jnp.where(ratio == 0, zero, -ratio)) / by
    nothing = (x == 0) & (y == 0)
    real = jnp.where(nothing, jnp.full_like(x, jnp.inf), real)
    imag = jnp.where(nothing, jnp.full_like(x, jnp.nan), imag)
    return jnp.where(special, real, re), jnp.where(special, imag, im)


@_repaired(jax.nn.sigmoid)
def sigmoid(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """``1 / (1 + exp(-z))``; PyTorch's division makes NaN of an infinite divisor."""
    right = (x == jnp.inf) & ~jnp.isfinite(y)
    left = (x == -jnp.inf) & jnp.isfinite(y) & (y != 0)
    nan = jnp.full_like(re, jnp.nan)
    re = jnp.where(right, jnp.ones_like(re), jnp.where(left, nan, re))
    return re, jnp.where(right, jnp.zeros_like(im), jnp.where(left, nan, im))


def magnitude(z: Array) -> Array:
    """``|z|``: infinite if a part is, beside NaN too."""
    plain = jnp.abs(z)
    return jnp.where(jnp.isinf(z.real) | jnp.isinf(z.imag), jnp.full_like(plain, jnp.inf), plain)


def _direction(z: Array) -> Array:
    zero = z == 0
    return jnp.where(zero, jnp.zeros_like(z), z / jnp.abs(jnp.where(zero, jnp.ones_like(z), z)).astype(z.dtype))


@_repaired(_direction)
def sign(x: Array, y: Array, re: Array, im: Array) -> Parts:
    """``z / |z|``, each part divided by itself, and 0 at 0."""
    size = magnitude(lax.complex(x, y))
    nothing = size == 0
    by = jnp.where(nothing, jnp.ones_like(size), size)
    return jnp.where(nothing, re, x / by), jnp.where(nothing, im, y / by)
