"""The gamma function's family: its logarithm, the derivatives of that, and the incomplete gamma functions."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.scipy import special

from ..._core import dtypes
from ..._core.annotations import Dtype
from ..._core.tensor import Tensor
from ...dispatch.inplace import into
from ...dispatch.register import Category, Form, Promote, Sample, Validation, composite, op
from ...numerics.half_precision import in_float32

_MOST_TERMS = 1 << 20
POSITIVE = Sample(shapes=((3, 4),), low=0.5, high=4.0)
EDGES = Sample(values=([-2.0, -1.5, -0.0, 0.0, float("inf"), float("nan")],), dtypes=("float32",), gradient=False)


@op(promote=Promote.INT_TO_FLOAT, accepts=Category.REAL, forms=Form.ELEMENTWISE, refuse="digamma", samples=[POSITIVE])
@in_float32
def digamma(input: Array) -> Array:
    """The derivative of ``lgamma``.

    >>> torch.digamma(torch.tensor([1.0, 2.0]))
    tensor([-0.5772,  0.4228])
    """
    return _digamma(input)


# XLA's digamma is NaN at both zeros and at -inf; the limits from above, which PyTorch gives, are infinite at the former.
@jax.custom_jvp
def _digamma(x: Array) -> Array:
    return jnp.where(x == 0, jnp.copysign(jnp.asarray(math.inf, x.dtype), -x), special.digamma(x))


@_digamma.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _digamma(x), trigamma(x) * dx


@op(
    promote=Promote.INT_TO_FLOAT,
    accepts=Category.REAL,
    forms=Form.ELEMENTWISE,
    refuse="lgamma_vml_cpu",
    samples=[POSITIVE, EDGES],
)
@in_float32
def lgamma(input: Array) -> Array:
    """``log(|gamma(input)|)``, element by element.

    >>> torch.lgamma(torch.tensor([1.0, 5.0]))
    tensor([0.0000, 3.1781])
    """
    return _lgamma(input)


@jax.custom_jvp
def _lgamma(x: Array) -> Array:
    # Near its zeros at 1 and 2 the sum of large terms leaves nothing of float32's digits.
    return special.gammaln(x.astype(jnp.float64)).astype(x.dtype)


@_lgamma.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _lgamma(x), _digamma(x) * dx


def trigamma(x: Array) -> Array:
    """The derivative of ``digamma``: by reflection for negative numbers, where the series does not hold."""
    one = jnp.ones((), x.dtype)
    low = x < 0.5
    positive = special.polygamma(1, jnp.where(low, one - x, x))
    positive = jnp.where(jnp.isposinf(x), jnp.zeros((), x.dtype), positive)  # JAX gives NaN
    # sin(pi x) from the distance to the nearest integer, which keeps its digits far from 0.
    sine = jnp.sin(jnp.asarray(math.pi, x.dtype) * (x - jnp.round(x)))
    pi_squared = jnp.asarray(math.pi**2, x.dtype)
    return jnp.where(low, pi_squared / (sine * sine) - positive, positive)


@op(
    name="_polygamma",
    promote=Promote.INT_TO_FLOAT,
    accepts=Category.REAL,
    forms=Form.NONE,
    backward="PolygammaBackward0",
    refuse="polygamma",
    samples=[Sample(shapes=((3, 4),), args=(2,), low=0.5, high=4.0)],
)
@in_float32
def polygamma_of(input: Array, n: int) -> Array:
    """The derivative of order ``n`` of ``digamma``."""
    return _polygamma(n, input)


def _polygamma_value(n: int, x: Array) -> Array:
    if n == 0:
        return _digamma(x)
    if n == 1:
        return trigamma(x)
    return (-1) ** (n + 1) * math.factorial(n) * _sum_of_powers(n + 1, x)


def _sum_of_powers(s: int, x: Array) -> Array:
    """The sum of ``(x + k) ** -s`` over all k from 0, infinite at zero and below at whole numbers.

    JAX's zeta knows no negative numbers: their terms up to zero are summed one by one. Between whole numbers they nearly cancel those
    above zero, of which float32 would leave nothing: as in PyTorch the sum is one of float64.
    """
    result_dtype, x = x.dtype, x.astype(np.float64)
    below = jnp.clip(jnp.ceil(-x), 0, _MOST_TERMS)
    power = lambda y: 1 / lax.integer_pow(y, s)  # noqa: E731

    def add(k: Array, total: Array) -> Array:
        k = k.astype(x.dtype)
        return total + jnp.where(k < below, power(x + k), 0)

    last = jnp.max(jnp.where(jnp.isnan(below), 0, below), initial=0).astype(np.int32)
    head = lax.fori_loop(np.int32(0), last, add, jnp.zeros_like(x))
    start = x + below
    series = head + special.zeta(jnp.asarray(s, x.dtype), jnp.where(start > 0, start, jnp.ones((), x.dtype)))
    return jnp.where((x <= 0) & (x == jnp.round(x)), jnp.asarray(math.inf, x.dtype), series).astype(result_dtype)


_polygamma = jax.custom_jvp(_polygamma_value, nondiff_argnums=(0,))


@_polygamma.defjvp
def _(n: int, primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _polygamma(n, x), _polygamma(n + 1, x) * dx


def _method(self: Tensor, n: int) -> Tensor:
    return polygamma(n, self)


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT, method=_method)
def polygamma(n: int, input: Tensor) -> Tensor:
    """The derivative of order ``n`` of ``digamma``.

    >>> torch.polygamma(1, torch.tensor([1.0]))
    tensor([1.6449])
    """
    if not isinstance(n, int):
        raise TypeError(f"polygamma(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return polygamma_of(input, n)


@composite(forms=Form.METHOD)
def polygamma_(self: Tensor, n: int) -> Tensor:
    """``polygamma`` in place."""
    if not isinstance(n, int):
        raise TypeError(f"polygamma_(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    return into(self, True, polygamma(n, self))


def _multivariate(dtype: Dtype, p: int) -> None:
    if dtype is dtypes.bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")


@op(
    promote=Promote.INT_TO_FLOAT,
    accepts=Category.REAL,
    forms=Form.ELEMENTWISE,
    validation=Validation(call=_multivariate),
    refuse="arange_cpu",
    samples=[Sample(shapes=((3, 4),), args=(2,), low=1.5, high=4.0)],
)
@in_float32
def mvlgamma(input: Array, p: int) -> Array:
    """The logarithm of the multivariate gamma function of dimension ``p``: ``p (p - 1) / 4 log(pi) + sum of lgamma(x - j / 2)``."""
    terms = [_lgamma(input - jnp.asarray(j / 2, input.dtype)) for j in range(p)]
    return sum(terms, jnp.asarray(p * (p - 1) / 4 * math.log(math.pi), input.dtype))


@op(
    promote=Promote.DEFAULT,
    accepts=Category.FLOAT,
    forms=Form.ELEMENTWISE,
    refuse="igamma_cpu",
    samples=[],  # PyTorch has no derivative by the order, which the tests would ask for
)
@in_float32
def igamma(input: Array, other: Array) -> Array:
    """The regularised lower incomplete gamma function of order ``input`` at ``other``.

    >>> torch.igamma(torch.tensor([1.0]), torch.tensor([2.0]))
    tensor([0.8647])
    """
    return special.gammainc(input, other)


@op(
    promote=Promote.DEFAULT,
    accepts=Category.FLOAT,
    forms=Form.ELEMENTWISE,
    refuse="igammac_cpu",
    samples=[],  # PyTorch has no derivative by the order, which the tests would ask for
)
@in_float32
def igammac(input: Array, other: Array) -> Array:
    """The regularised upper incomplete gamma function: ``1 - igamma(input, other)``."""
    return special.gammaincc(input, other)
