"""The normal distribution's functions of probability, and functions related to the error function."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy import special

from ..._core.tensor import Tensor
from ...dispatch.register import Category, Form, Operand, Promote, Sample, Validation, composite, op
from ...numerics.chebyshev import Series, reference
from ...numerics.half_precision import in_float32
from . import elementary, pointwise
from .pointwise import is_tensor, one_tensor

SQRT_HALF = math.sqrt(0.5)
ANYWHERE = Sample(
    values=([-40.0, -6.0, -1.0, 0.0, 0.5, 3.0, 12.0, math.inf, math.nan],), dtypes=("float32",), gradient=False
)


def _fields(kernel: str, **more: object) -> dict[str, Any]:
    common = {"promote": Promote.INT_TO_FLOAT, "accepts": Category.REAL, "forms": Form.OUT, "refuse": kernel}
    return common | {"samples": [Sample(shapes=((3, 4),)), ANYWHERE]} | more


@composite(forms=Form.OUT)
def special_ndtr(input: Tensor) -> Tensor:
    """The probability that a standard normal variable is at most ``input``.

    >>> torch.special.ndtr(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([0.1587, 0.5000, 0.8413])
    """
    return pointwise.mul(pointwise.add(elementary.erf(pointwise.mul(input, SQRT_HALF)), 1), 0.5)


@jax.custom_jvp
def _log_ndtr(x: Array) -> Array:
    # On the left by way of the scaled function: the probability itself would vanish.
    left = jnp.minimum(x, -1.0)
    on_left = jnp.log(_erfcx(-left * SQRT_HALF) / 2) - left * left / 2
    on_right = jnp.log1p(-special.erfc(jnp.maximum(x, -1.0) * SQRT_HALF) / 2)
    return jnp.where(x < -1, on_left, on_right)


@_log_ndtr.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _log_ndtr(x), dx * math.sqrt(2 / math.pi) / _erfcx(-x * SQRT_HALF)


@op(**_fields("log_ndtr_cpu"))
@in_float32
def special_log_ndtr(input: Array) -> Array:
    """The logarithm of ``ndtr``, exact far to the left too."""
    return _log_ndtr(input)


@op(**_fields("ndtri_cpu", samples=[
    Sample(shapes=((3, 4),), low=0.05, high=0.95),
    Sample(values=([0.0, 1.0, 1e-6, -0.5, 1.5, math.nan],), dtypes=("float32",), gradient=False),
]))  # fmt: skip
@in_float32
def special_ndtri(input: Array) -> Array:
    """The inverse of ``ndtr``: the number that a standard normal variable is below with probability ``input``."""
    return _ndtri(input)


@jax.custom_jvp
def _ndtri(p: Array) -> Array:
    return special.ndtri(p)


@_ndtri.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (p,), (dp,) = primals, tangents
    result = _ndtri(p)
    return result, dp * math.sqrt(2 * math.pi) * jnp.exp(result * result / 2)


# In t = 1 / (1 + x / 2), freed of the decay: a smooth function from infinity (t = 0) to zero (t = 1).
_SCALED = Series(lambda t: (reference().erfcx(2 * (1 / np.maximum(t, 1e-9) - 1))) / np.maximum(t, 1e-9), 0.0, 1.0, 32)


@jax.custom_jvp
def _erfcx(x: Array) -> Array:
    size = jnp.abs(x)
    t = 1 / (1 + size / 2)
    right = _SCALED(t) * t
    return jnp.where(x < 0, 2 * jnp.exp(x * x) - right, right)


@_erfcx.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    result = _erfcx(x)
    return result, dx * (2 * x * result - 2 / math.sqrt(math.pi))


@op(**_fields("erfcx_cpu", samples=[Sample(shapes=((3, 4),)), ANYWHERE]))
@in_float32
def special_erfcx(input: Array) -> Array:
    """``exp(input ** 2) * erfc(input)``, without overflow on the right."""
    return _erfcx(input)


def _zeta_name(input: object, other: object) -> str:
    if not is_tensor(input):
        return "SpecialZetaBackward1"
    return "SpecialZetaBackward0" if is_tensor(other) else "SpecialZetaBackward2"


@op(
    promote=Promote.INT_TO_FLOAT,
    accepts=Category.REAL,
    forms=Form.OUT,
    differentiable="zeta",
    missing_for=("input",),
    backward=_zeta_name,
    validation=Validation(call=one_tensor("special_zeta")),
    refuse="zeta_cpu",
    samples=[Sample(shapes=((3, 4), (4,)), low=1.5, high=4.0, dtypes=("float32",))],
)
@in_float32
def special_zeta(input: Operand, other: Operand) -> Array:
    """Hurwitz' zeta function: the sum of ``(k + other) ** -input`` over all k from 0.

    >>> torch.special.zeta(torch.tensor([2.0]), 1)
    tensor([1.6449])
    """
    return _zeta(*jnp.broadcast_arrays(input, other))


@jax.custom_jvp
def _zeta(s: Array, q: Array) -> Array:
    result = special.zeta(s, q)
    # JAX gives NaN for infinite powers, and at the poles anything.
    result = jnp.where(jnp.isposinf(s) & (q <= 1), jnp.where(q == 1, 1, jnp.inf).astype(s.dtype), result)
    result = jnp.where((q <= 0) & (q == jnp.floor(q)), jnp.asarray(jnp.inf, s.dtype), result)
    return jnp.where(s < 1, jnp.asarray(jnp.nan, s.dtype), result)


@_zeta.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (s, q), (_, dq) = primals, tangents  # nobody asks for the derivative with respect to the power: see ``missing_for``
    return _zeta(s, q), -s * _zeta(s + 1, q) * dq
