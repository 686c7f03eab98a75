"""Bessel functions, of the first and second kind, modified and spherical, and Airy's.

Those that JAX lacks are computed from Chebyshev series, fitted to SciPy's values: near 0 of the function itself, freed of its
singular part; farther out of the slowly varying factors of its oscillation or decay.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy import special

from ...dispatch.register import Category, Form, Promote, Sample, op
from ...numerics.chebyshev import Series, reference
from ...numerics.half_precision import in_float32

NEAR = Sample(shapes=((3, 4),))
FAR = Sample(
    values=([-5.0, 0.5, 7.0, 8.0, 9.0],),
    dtypes=("float32",),
    gradient=False,
)


# ---- modified, of the first kind


def _fields(kernel: str, **more: object) -> dict[str, Any]:
    common = {"promote": Promote.INT_TO_FLOAT, "accepts": Category.REAL, "forms": Form.OUT, "samples": [NEAR, FAR]}
    return common | {"refuse": kernel} | more


@jax.custom_jvp
def _i0e(x: Array) -> Array:
    return special.i0e(x)


@jax.custom_jvp
def _i1e(x: Array) -> Array:
    return special.i1e(x)


@_i0e.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _i0e(x), (_i1e(x) - jnp.sign(x) * _i0e(x)) * dx


@_i1e.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _i1e(x), _i1_slope(x, _i0e, _i1e, jnp.sign(x) * _i1e(x)) * dx


def _i1_slope(x: Array, zeroth: Callable[[Array], Array], first: Callable[[Array], Array], less: Array) -> Array:
    """``I0(x) - I1(x) / x``, which is 1/2 at 0, minus the change of the scale."""
    tiny = jnp.abs(x) <= jnp.finfo(x.dtype).eps
    safe = jnp.where(tiny, jnp.ones((), x.dtype), x)
    return jnp.where(tiny, jnp.asarray(0.5, x.dtype), zeroth(safe) - first(safe) / safe - less)


@jax.custom_jvp
def _i0(x: Array) -> Array:
    return special.i0(x)


@jax.custom_jvp
def _i1(x: Array) -> Array:
    return special.i1(x)


@_i0.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _i0(x), _i1(x) * dx


@_i1.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _i1(x), _i1_slope(x, _i0, _i1, jnp.zeros((), x.dtype)) * dx


@op(**_fields("i0_vml_cpu", forms=Form.UNARY))
@in_float32
def i0(input: Array) -> Array:
    """The modified Bessel function of the first kind, order 0.

    >>> torch.i0(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """
    return _i0(input)


@op(**_fields("i0e_cpu", backward="SpecialI0EBackward0"))
@in_float32
def special_i0e(input: Array) -> Array:
    """``exp(-|input|) * i0(input)``."""
    return _i0e(input)


@op(**_fields("i1_cpu"))
@in_float32
def special_i1(input: Array) -> Array:
    """The modified Bessel function of the first kind, order 1."""
    return _i1(input)


@op(**_fields("i1e_cpu", backward="SpecialI1EBackward0"))
@in_float32
def special_i1e(input: Array) -> Array:
    """``exp(-|input|) * i1(input)``."""
    return _i1e(input)


# ---- PyTorch has no derivatives for what follows

_PLAIN = {"differentiable": False}


@op(**_fields("modified_bessel_i0_cpu", **_PLAIN))
@in_float32
def special_modified_bessel_i0(input: Array) -> Array:
    """The modified Bessel function of the first kind, order 0."""
    return special.i0(input)


@op(**_fields("modified_bessel_i1_cpu", **_PLAIN))
@in_float32
def special_modified_bessel_i1(input: Array) -> Array:
    """The modified Bessel function of the first kind, order 1."""
    return special.i1(input)


# Below the border the series gives the function itself, in powers of the square. Above it, two series give amplitude and phase in powers
# of (border / x) ** 2.
BORDER = 8.0


def _amplitudes(order: int) -> tuple[Series, Series]:
    """``p`` and ``q`` of ``J = sqrt(2 / (pi x)) (p cos(chi) - q sin(chi))``, as functions of ``(BORDER / x) ** 2``."""
    shift = (2 * order + 1) * math.pi / 4

    def parts(z: Array) -> tuple[Any, Any, Any]:
        x = BORDER / np.sqrt(np.maximum(z, 1e-9))
        scale = np.sqrt(np.pi * x / 2)
        return x, scale * reference().jv(order, x), scale * reference().yv(order, x)

    def p(z: Array) -> Array:
        x, j, y = parts(z)
        return np.cos(x - shift) * j + np.sin(x - shift) * y

    def q(z: Array) -> Array:
        x, j, y = parts(z)
        return (np.cos(x - shift) * y - np.sin(x - shift) * j) * x / BORDER

    return Series(p, 0.0, 1.0, 16), Series(q, 0.0, 1.0, 16)


_P = {order: _amplitudes(order) for order in (0, 1)}
_J_NEAR = (
    Series(lambda z: reference().j0(np.sqrt(z)), 0.0, BORDER**2, 24),
    Series(lambda z: reference().j1(np.sqrt(np.maximum(z, 1e-12))) / np.sqrt(np.maximum(z, 1e-12)), 0.0, BORDER**2, 24),
)


def _y_rest(order: int) -> Series:
    """Y without its logarithm and its pole, as a series in powers of the square."""

    def remainder(z: Array) -> Array:
        x = np.sqrt(np.maximum(z, 1e-6))
        log_part = 2 / np.pi * np.log(x) * reference().jv(order, x)
        if order == 0:
            return reference().y0(x) - log_part
        return (reference().y1(x) - log_part + 2 / (np.pi * x)) / x

    return Series(remainder, 0.0, BORDER**2, 24)


_Y_NEAR = (_y_rest(0), _y_rest(1))


def _asymptotic(x: Array, order: int, second: bool) -> Array:
    """J or Y beyond the border."""
    safe = jnp.where(x >= BORDER, x, jnp.asarray(BORDER, x.dtype))
    ratio = BORDER / safe
    p, q = (series(ratio * ratio) for series in _P[order])
    q = q * ratio
    # cos(x - shift) by the addition theorem: the difference would round away digits of x.
    shift = (2 * order + 1) * math.pi / 4
    c, s = math.cos(shift), math.sin(shift)
    cosine, sine = jnp.cos(safe) * c + jnp.sin(safe) * s, jnp.sin(safe) * c - jnp.cos(safe) * s
    wave = p * sine + q * cosine if second else p * cosine - q * sine
    wave = jnp.where(jnp.isinf(x), jnp.zeros((), x.dtype), wave)
    return jnp.sqrt(2 / (math.pi * safe)) * wave


def _j(x: Array, order: int) -> Array:
    size = jnp.abs(x)
    inside = jnp.minimum(size, BORDER)
    near = _J_NEAR[order](inside * inside) * (inside if order else 1)
    result = jnp.where(size < BORDER, near, _asymptotic(size, order, second=False))
    result = jnp.where(jnp.isnan(x), x, result)
    return jnp.where(x < 0, -result, result) if order else result


def _y(x: Array, order: int) -> Array:
    inside = jnp.clip(x, jnp.finfo(x.dtype).tiny, BORDER)
    square = inside * inside
    near = _Y_NEAR[order](square)
    bessel = _J_NEAR[order](square)
    if order == 0:
        near = near + 2 / math.pi * jnp.log(inside) * bessel
    else:
        near = near * inside + 2 / math.pi * (jnp.log(inside) * bessel * inside - 1 / inside)
    result = jnp.where(x < BORDER, near, _asymptotic(x, order, second=True))
    result = jnp.where(x == 0, jnp.asarray(-math.inf, x.dtype), result)
    return jnp.where((x < 0) | jnp.isnan(x), jnp.asarray(math.nan, x.dtype), result)


@op(**_fields("bessel_j0_cpu", **_PLAIN))
@in_float32
def special_bessel_j0(input: Array) -> Array:
    """The Bessel function of the first kind, order 0."""
    return _j(input, 0)


@op(**_fields("bessel_j1_cpu", **_PLAIN))
@in_float32
def special_bessel_j1(input: Array) -> Array:
    """The Bessel function of the first kind, order 1."""
    return _j(input, 1)


@op(**_fields("bessel_y0_cpu", **_PLAIN))
@in_float32
def special_bessel_y0(input: Array) -> Array:
    """The Bessel function of the second kind, order 0; NaN for negative elements."""
    return _y(input, 0)


@op(**_fields("bessel_y1_cpu", **_PLAIN))
@in_float32
def special_bessel_y1(input: Array) -> Array:
    """The Bessel function of the second kind, order 1; NaN for negative elements."""
    return _y(input, 1)


# ---- modified, of the second kind

K_BORDER = 2.0


def _k_rest(order: int) -> Series:
    """K without its logarithm and its pole, as a series in powers of the square."""

    def remainder(z: Array) -> Array:
        x = np.sqrt(np.maximum(z, 1e-6))
        if order == 0:
            return reference().k0(x) + np.log(x / 2) * reference().i0(x)
        return (reference().k1(x) - np.log(x / 2) * reference().i1(x) - 1 / x) / x

    return Series(remainder, 0.0, K_BORDER**2, 14)


_K_NEAR = (_k_rest(0), _k_rest(1))


def _k_far(name: str) -> Series:
    def decay(z: Array) -> Array:
        x = K_BORDER / np.maximum(z, 1e-9)
        return getattr(reference(), name)(x) * np.sqrt(x)

    return Series(decay, 0.0, 1.0, 28)


_K_FAR = (_k_far("k0e"), _k_far("k1e"))


def _scaled_k(x: Array, order: int) -> tuple[Array, Array]:
    """``K`` for small elements, and ``exp(x) K`` for large ones."""
    inside = jnp.clip(x, jnp.finfo(x.dtype).tiny, K_BORDER)
    log = jnp.log(inside / 2)
    near = _K_NEAR[order](inside * inside)
    if order == 0:
        near = near - log * special.i0(inside)
    else:
        near = near * inside + log * special.i1(inside) + 1 / inside
    outside = jnp.maximum(x, K_BORDER)
    far = _K_FAR[order](K_BORDER / outside) / jnp.sqrt(outside)
    near = jnp.where(x == 0, jnp.asarray(math.inf, x.dtype), near)
    return jnp.where((x < 0) | jnp.isnan(x), jnp.asarray(math.nan, x.dtype), near), far


def _k(x: Array, order: int, scaled: bool) -> Array:
    near, far = _scaled_k(x, order)
    outside = jnp.maximum(x, K_BORDER)
    if scaled:
        return jnp.where(x > K_BORDER, far, near * jnp.exp(jnp.minimum(x, K_BORDER)))
    return jnp.where(x > K_BORDER, far * jnp.exp(-outside), near)


@op(**_fields("modified_bessel_k0_cpu", **_PLAIN))
@in_float32
def special_modified_bessel_k0(input: Array) -> Array:
    """The modified Bessel function of the second kind, order 0; NaN for negative elements."""
    return _k(input, 0, scaled=False)


@op(**_fields("modified_bessel_k1_cpu", **_PLAIN))
@in_float32
def special_modified_bessel_k1(input: Array) -> Array:
    """The modified Bessel function of the second kind, order 1; NaN for negative elements."""
    return _k(input, 1, scaled=False)


@op(**_fields("scaled_modified_bessel_k0_cpu", **_PLAIN))
@in_float32
def special_scaled_modified_bessel_k0(x: Array) -> Array:
    """``exp(input) * modified_bessel_k0(input)``."""
    return _k(x, 0, scaled=True)


@op(**_fields("scaled_modified_bessel_k1_cpu", **_PLAIN))
@in_float32
def special_scaled_modified_bessel_k1(x: Array) -> Array:
    """``exp(input) * modified_bessel_k1(input)``."""
    return _k(x, 1, scaled=True)


@op(**_fields("spherical_bessel_j0_cpu", **_PLAIN))
@in_float32
def special_spherical_bessel_j0(x: Array) -> Array:
    """``sin(input) / input``, which is 1 at 0."""
    safe = jnp.where((x == 0) | jnp.isinf(x), jnp.ones((), x.dtype), x)
    result = jnp.where(x == 0, jnp.ones((), x.dtype), jnp.sin(safe) / safe)
    return jnp.where(jnp.isinf(x), jnp.zeros((), x.dtype), result)


# ---- Airy's function: decay on the right, a wave on the left, in powers of 1 / zeta = 3/2 |x| ** (-3/2)

AIRY_BORDER = 2.5
_ZETA_AT_BORDER = 2 / 3 * AIRY_BORDER**1.5


def _at_zeta(z: Array) -> tuple[Array, Array]:
    zeta = _ZETA_AT_BORDER / np.maximum(z, 1e-4)
    return (1.5 * zeta) ** (2 / 3), zeta


def _airy_decay(z: Array) -> np.ndarray:
    x, _ = _at_zeta(z)
    return reference().airye(x)[0] * 2 * np.sqrt(np.pi) * x**0.25


def _airy_wave(part: int) -> Callable[[Array], Array]:
    def factor(z: Array) -> Array:
        x, zeta = _at_zeta(z)
        ai, _, bi, _ = reference().airy(-x)
        scale, angle = np.sqrt(np.pi) * x**0.25, zeta + np.pi / 4
        if part == 0:
            return scale * (np.sin(angle) * ai + np.cos(angle) * bi)
        return scale * (np.sin(angle) * bi - np.cos(angle) * ai) * (zeta / _ZETA_AT_BORDER)

    return factor


_AIRY_NEAR = Series(lambda x: reference().airy(x)[0], -AIRY_BORDER, AIRY_BORDER, 32)
_AIRY_DECAY = Series(_airy_decay, 0.0, 1.0, 24)
_AIRY_WAVE = (Series(_airy_wave(0), 0.0, 1.0, 24), Series(_airy_wave(1), 0.0, 1.0, 24))


@op(**_fields("airy_ai_cpu", **_PLAIN))
@in_float32
def special_airy_ai(x: Array) -> Array:
    """Airy's function Ai."""
    size = jnp.maximum(jnp.abs(x), AIRY_BORDER)
    finite = jnp.where(jnp.isinf(size), jnp.asarray(AIRY_BORDER, x.dtype), size)
    zeta = 2 / 3 * finite * jnp.sqrt(finite)
    ratio = _ZETA_AT_BORDER / zeta
    root = jnp.sqrt(jnp.sqrt(finite)) * math.sqrt(math.pi)
    right = _AIRY_DECAY(ratio) * jnp.exp(-zeta) / (2 * root)
    angle = zeta + math.pi / 4
    left = (_AIRY_WAVE[0](ratio) * jnp.sin(angle) - _AIRY_WAVE[1](ratio) * ratio * jnp.cos(angle)) / root
    near = _AIRY_NEAR(jnp.clip(x, -AIRY_BORDER, AIRY_BORDER))
    result = jnp.where(x > AIRY_BORDER, right, jnp.where(x < -AIRY_BORDER, left, near))
    result = jnp.where(jnp.isposinf(x), jnp.zeros((), x.dtype), result)
    return jnp.where(jnp.isnan(x) | jnp.isneginf(x), jnp.asarray(math.nan, x.dtype), result)
