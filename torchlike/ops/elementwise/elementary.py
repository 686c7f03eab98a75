"""Element-wise elementary functions: roots, exponentials, logarithms, trigonometry, the error function."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from ...dispatch.register import Autocast, Category, Form, Promote, Sample, Saves, alias, op
from ...numerics import complex_c99 as _c99
from ...numerics.exact_math import exact_exp2, exact_log, exact_rsqrt
from ...numerics.half_precision import in_float32

ANYWHERE = [
    Sample(shapes=((3, 4),)),
    Sample(
        values=([-float("inf"), -1.0, -0.0, 0.0, 1.0, float("inf"), float("nan")],), dtypes=("float32",), gradient=False
    ),
]
POSITIVE = [Sample(shapes=((3, 4),), low=0.5, high=4.0), *ANYWHERE[1:]]
INSIDE = [Sample(shapes=((3, 4),), low=-0.9, high=0.9), *ANYWHERE[1:]]


def _unary(samples: list[Sample] = ANYWHERE, **fields: object) -> dict[str, Any]:
    """Fields of the declarations that these functions share: integers become floats, every form exists."""
    common = {"promote": Promote.INT_TO_FLOAT, "accepts": Category.ALL, "forms": Form.UNARY}
    return common | {"samples": samples} | fields


@op(**_unary(POSITIVE, saves=Saves.RESULT))
def sqrt(input: Array) -> Array:
    """The square root, element by element; NaN for negative numbers.

    >>> torch.sqrt(torch.tensor([4.0, 9.0]))
    tensor([2., 3.])
    """
    return _c99.sqrt(input)


@op(**_unary(POSITIVE, saves=Saves.RESULT), autocast={"cuda": Autocast.FLOAT32})
@in_float32
def rsqrt(input: Array) -> Array:
    """``1 / sqrt(input)``, element by element.

    >>> torch.rsqrt(torch.tensor([0.5, 1.0, 4.0]))
    tensor([1.4142, 1.0000, 0.5000])
    """
    return _c99.reciprocal(_c99.sqrt(input)) if input.dtype.kind == "c" else _rsqrt(input)


@jax.custom_jvp
def _rsqrt(x: Array) -> Array:
    return exact_rsqrt(x)


@_rsqrt.defjvp
def _rsqrt_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    result = _rsqrt(x)
    return result, -0.5 * result * result * result * dx  # from the result, which keeps the sign of -0.0


@op(**_unary(saves=Saves.RESULT), autocast={"cuda": Autocast.FLOAT32})
def exp(input: Array) -> Array:
    """``e ** input``, element by element.

    >>> torch.exp(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """
    return _c99.exp(input)


@op(**_unary(saves=Saves.RESULT))
@in_float32
def exp2(input: Array) -> Array:
    """``2 ** input``, element by element."""
    return exact_exp2(input)


@op(**_unary(saves=Saves.RESULT), autocast={"cuda": Autocast.FLOAT32})
@in_float32
def expm1(input: Array) -> Array:
    """``e ** input - 1``, exact for small elements too."""
    return _c99.expm1(input)


@op(**_unary(POSITIVE), autocast={"cuda": Autocast.FLOAT32})
def log(input: Array) -> Array:
    """The natural logarithm, element by element.

    >>> torch.log(torch.tensor([1.0, 10.0]))
    tensor([0.0000, 2.3026])
    """
    return _c99.log(input)


@op(**_unary(POSITIVE), autocast={"cuda": Autocast.FLOAT32})
@in_float32
def log2(input: Array) -> Array:
    """The logarithm to base 2, element by element.

    >>> torch.log2(torch.tensor([0.5, 1.0, 4.0]))
    tensor([-1.,  0.,  2.])
    """
    return exact_log(input, 2)


@op(**_unary(POSITIVE), autocast={"cuda": Autocast.FLOAT32})
@in_float32
def log10(input: Array) -> Array:
    """The logarithm to base 10, element by element.

    >>> torch.log10(torch.tensor([0.5, 1.0, 4.0]))
    tensor([-0.3010,  0.0000,  0.6021])
    """
    return exact_log(input, 10)


@op(**_unary(POSITIVE, backward="Log1PBackward0"), autocast={"cuda": Autocast.FLOAT32})
@in_float32
def log1p(input: Array) -> Array:
    """``log(1 + input)``, exact for small elements too.

    >>> torch.log1p(torch.tensor([0.5, 1.0, 4.0]))
    tensor([0.4055, 0.6931, 1.6094])
    """
    return _c99.log1p(input)


# ---- circular and hyperbolic functions


@op(**_unary())
def sin(input: Array) -> Array:
    """The sine of an angle in radians, element by element.

    >>> torch.sin(torch.tensor([-0.5, 0.0, 1.0]))
    tensor([-0.4794,  0.0000,  0.8415])
    """
    return _c99.sin(input)


@op(**_unary())
def cos(input: Array) -> Array:
    """The cosine of an angle in radians, element by element.

    >>> torch.cos(torch.tensor([-0.5, 0.0, 1.0]))
    tensor([0.8776, 1.0000, 0.5403])
    """
    return _c99.cos(input)


@op(**_unary(saves=Saves.RESULT), autocast={"cuda": Autocast.FLOAT32})
@in_float32
def tan(input: Array) -> Array:
    """The tangent of an angle in radians, element by element.

    >>> torch.tan(torch.tensor([-0.5, 0.0, 1.0]))
    tensor([-0.5463,  0.0000,  1.5574])
    """
    return _c99.tan(input)


@op(**_unary(INSIDE), autocast={"cuda": Autocast.FLOAT32})
@in_float32
def asin(input: Array) -> Array:
    """The angle whose sine is ``input``.

    >>> torch.asin(torch.tensor([-0.5, 0.0, 1.0]))
    tensor([-0.5236,  0.0000,  1.5708])
    """
    return _c99.asin(input)


@op(**_unary(INSIDE), autocast={"cuda": Autocast.FLOAT32})
@in_float32
def acos(input: Array) -> Array:
    """The angle whose cosine is ``input``.

    >>> torch.acos(torch.tensor([-0.5, 0.0, 1.0]))
    tensor([2.0944, 1.5708, 0.0000])
    """
    return _c99.acos(input)


@op(**_unary())
@in_float32
def atan(input: Array) -> Array:
    """The angle whose tangent is ``input``.

    >>> torch.atan(torch.tensor([-0.5, 0.0, 1.0]))
    tensor([-0.4636,  0.0000,  0.7854])
    """
    return _c99.atan(input)


@op(**_unary(), autocast={"cuda": Autocast.FLOAT32})
@in_float32
def sinh(input: Array) -> Array:
    """The hyperbolic sine, element by element.

    >>> torch.sinh(torch.tensor([-0.5, 0.0, 1.0]))
    tensor([-0.5211,  0.0000,  1.1752])
    """
    return _c99.sinh(input)


@op(**_unary(), autocast={"cuda": Autocast.FLOAT32})
@in_float32
def cosh(input: Array) -> Array:
    """The hyperbolic cosine, element by element.

    >>> torch.cosh(torch.tensor([-0.5, 0.0, 1.0]))
    tensor([1.1276, 1.0000, 1.5431])
    """
    return _c99.cosh(input)


@op(**_unary(forms=Form.UNARY | Form.FUNCTIONAL, saves=Saves.RESULT))
@in_float32
def tanh(input: Array) -> Array:
    """The hyperbolic tangent, element by element.

    >>> torch.tanh(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """
    return _c99.tanh(input)


@op(**_unary())
@in_float32
def asinh(input: Array) -> Array:
    """The inverse of ``sinh``."""
    return _c99.asinh(input)


@op(**_unary([Sample(shapes=((3, 4),), low=1.5, high=4.0), *ANYWHERE[1:]]))
@in_float32
def acosh(input: Array) -> Array:
    """The inverse of ``cosh``; NaN below 1."""
    return _c99.acosh(input) if input.dtype.kind == "c" else _real_acosh(input)


@jax.custom_jvp
def _real_acosh(x: Array) -> Array:
    return jnp.arccosh(x)


@_real_acosh.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    # PyTorch's formula, which gives numbers below -1 too; JAX's differs from version to version there.
    (x,), (t,) = primals, tangents
    return _real_acosh(x), t * jax.lax.rsqrt(x * x - jnp.ones((), x.dtype))


@op(**_unary(INSIDE))
@in_float32
def atanh(input: Array) -> Array:
    """The inverse of ``tanh``; NaN outside -1 to 1."""
    return _c99.atanh(input)


@op(**_unary())
@in_float32
def sinc(input: Array) -> Array:
    """``sin(pi * input) / (pi * input)``, and 1 at 0."""
    # Not jnp.sinc, which takes infinity for a zero in some versions: PyTorch has NaN there.
    zero = input == 0
    x = jnp.where(zero, jnp.ones((), input.dtype), input) * jnp.asarray(jnp.pi, input.dtype)
    return jnp.where(zero, jnp.ones((), input.dtype), jnp.sin(x) / x)


@op(
    promote=Promote.INT_TO_FLOAT,
    accepts=Category.REAL,
    forms=Form.ELEMENTWISE,
    refuse="atan2_cpu",
    samples=[Sample(shapes=((3, 4), (4,)))],
    autocast={"cuda": Autocast.PROMOTE},
)
@in_float32
def atan2(input: Array, other: Array) -> Array:
    """The angle of the point (other, input), from -pi to pi: its quadrant is known from both signs.

    >>> torch.atan2(torch.tensor([1.0]), torch.tensor([1.0]))
    tensor([0.7854])
    """
    return _atan2(input, other)


@jax.custom_jvp
def _atan2(y: Array, x: Array) -> Array:
    return jnp.arctan2(y, x)


@_atan2.defjvp
def _atan2_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (y, x), (dy, dx) = primals, tangents
    square = y * y + x * x
    # At the origin, where there is no derivative, PyTorch's is 0.
    reciprocal = jnp.where(square == 0, jnp.zeros((), x.dtype), 1 / square)
    return _atan2(y, x), dy * (x * reciprocal) - dx * (y * reciprocal)


@op(
    promote=Promote.DEFAULT,
    accepts=Category.FLOAT,
    forms=Form.ELEMENTWISE,
    refuse="hypot_cpu",
    samples=[Sample(shapes=((3, 4), (4,)))],
)
@in_float32
def hypot(input: Array, other: Array) -> Array:
    """``sqrt(input ** 2 + other ** 2)`` without overflow on the way.

    >>> torch.hypot(torch.tensor([3.0]), torch.tensor([4.0]))
    tensor([5.])
    """
    return _hypot(input, other)


@jax.custom_jvp
def _hypot(x: Array, y: Array) -> Array:
    return jnp.hypot(x, y)


@_hypot.defjvp
def _hypot_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x, y), (dx, dy) = primals, tangents
    result = _hypot(x, y)
    return result, dx * (x / result) + dy * (y / result)


@op(**_unary(accepts=Category.REAL, backward="Deg2RadBackward0", saves=Saves.NOTHING,
             refuse=lambda name, dtype: "deg2rad is not supported for complex tensors."))  # fmt: skip
@in_float32
def deg2rad(input: Array) -> Array:
    """Degrees to radians."""
    return input * (jnp.pi / 180)


@op(**_unary(accepts=Category.REAL, backward="Rad2DegBackward0", saves=Saves.NOTHING,
             refuse=lambda name, dtype: "rad2deg is not supported for complex tensors."))  # fmt: skip
@in_float32
def rad2deg(input: Array) -> Array:
    """Radians to degrees."""
    return input * (180 / jnp.pi)


# ---- the logistic function and the error function


@op(**_unary(forms=Form.UNARY | Form.FUNCTIONAL, saves=Saves.RESULT))
@in_float32
def sigmoid(input: Array) -> Array:
    """``1 / (1 + exp(-input))``, element by element.

    >>> torch.sigmoid(torch.tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """
    return _c99.sigmoid(input)


@op(**_unary([Sample(shapes=((3, 4),), low=0.1, high=0.9), Sample(shapes=((4,),), low=-0.5, high=1.5, args=(0.2,))],
             accepts=Category.REAL, refuse="logit_cpu", must_fit=("eps",)))  # fmt: skip
@in_float32
def logit(input: Array, eps: float | None = None) -> Array:
    """``log(input / (1 - input))``, the inverse of ``sigmoid``; with ``eps`` the input is first moved into eps to 1 - eps."""
    if eps is not None:
        # No gradient flows where the input is moved, and all of it on the border, where ``clip`` would let half of it through.
        input = jnp.where(input < eps, eps, jnp.where(input > 1 - eps, 1 - eps, input))
    return _logit(input)


@jax.custom_jvp
def _logit(x: Array) -> Array:
    return jnp.log(x / (1 - x))


@_logit.defjvp
def _logit_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    slope = jnp.where((x < 0) | (x > 1), jnp.asarray(jnp.nan, x.dtype), 1 / (x * (1 - x)))
    return _logit(x), dx * jnp.abs(slope)


@op(**_unary(accepts=Category.REAL, refuse="erf_vml_cpu"))
@in_float32
def erf(input: Array) -> Array:
    """The error function: ``2 / sqrt(pi)`` times the integral of ``exp(-t ** 2)`` from 0 to ``input``.

    >>> torch.erf(torch.tensor([-0.5, 0.0, 1.0]))
    tensor([-0.5205,  0.0000,  0.8427])
    """
    return lax.erf(input)


@op(**_unary(accepts=Category.REAL, refuse="erfc_vml_cpu"))
@in_float32
def erfc(input: Array) -> Array:
    """``1 - erf(input)``, exact far from 0 too."""
    return lax.erfc(input)


@op(
    **_unary(
        INSIDE,
        accepts=Category.REAL,
        refuse="erfinv_vml_cpu",
        forms=Form.ELEMENTWISE,
        saves=Saves.RESULT,
    ),
    autocast={"cuda": Autocast.FLOAT32},
)
@in_float32
def erfinv(input: Array) -> Array:
    """The inverse of ``erf``; infinite at -1 and 1."""
    return lax.erf_inv(input)


arccos = alias("arccos", acos)
arccosh = alias("arccosh", acosh)
arcsin = alias("arcsin", asin)
arcsinh = alias("arcsinh", asinh)
arctan = alias("arctan", atan)
arctan2 = alias("arctan2", atan2)
arctanh = alias("arctanh", atanh)
