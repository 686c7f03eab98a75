"""Functions of exponents and logarithms of two numbers, and the parts that a floating-point number consists of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core.annotations import Dtype
from ..._core.tensor import Tensor
from ...dispatch import return_types
from ...dispatch.out_dtypes import unless_cast
from ...dispatch.overlap import Reading
from ...dispatch.register import Category, Form, Operand, Promote, Sample, Validation, composite, op
from ...numerics.half_precision import at_least_float32, in_float32
from .pointwise import one_tensor

if TYPE_CHECKING:
    from ...engine.aval import Aval


PAIR = Sample(shapes=((3, 4), (4,)))
POSITIVE = Sample(shapes=((3, 4), (4,)), low=0.5, high=4.0)
ZEROS = Sample(
    values=([0.0, 0.0, 0.0, 2.0, math.nan], [0.0, math.nan, -1.0, 0.0, 1.0]), dtypes=("float32",), gradient=False
)


@op(
    promote=Promote.DEFAULT,
    accepts=Category.INEXACT,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    refuse="logaddexp_cpu",
    samples=[PAIR],
)
@in_float32
def logaddexp(input: Array, other: Array) -> Array:
    """``log(exp(input) + exp(other))``, without overflow.

    >>> torch.logaddexp(torch.tensor([-1000.0]), torch.tensor([-1000.0]))
    tensor([-999.3068])
    """
    return complex_logaddexp(input, other) if input.dtype.kind == "c" else _logaddexp(input, other)


def _with_shares(function: Any, power: Any) -> Any:
    """The function with PyTorch's derivative: each input has the share ``1 / (1 + power(other - it))``, 0 beside infinity."""
    function = jax.custom_jvp(function)

    @function.defjvp
    def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> Any:
        (x, y), (dx, dy) = primals, tangents
        return function(x, y), dx / (1 + power(y - x)) + dy / (1 + power(x - y))

    return function


_logaddexp = _with_shares(jnp.logaddexp, jnp.exp)
_logaddexp2 = _with_shares(jnp.logaddexp2, jnp.exp2)


def complex_logaddexp(x: Array, y: Array) -> Array:
    """The logarithm on the branch of the argument with the larger real part, as PyTorch gives it; JAX gives the principal one."""
    less = x.real < y.real
    low, high = jnp.where(less, x, y), jnp.where(less, y, x)
    equal_infinities = jnp.isinf(x.real) & (x.real == y.real)
    zero = jnp.zeros((), x.dtype)
    endless = jnp.where(
        x.real < 0,
        low,
        jnp.log(jnp.exp(jnp.where(equal_infinities, x, zero)) + jnp.exp(jnp.where(equal_infinities, y, zero))),
    )
    is_zero = low.real - high.real == -math.inf  # 0, of which XLA makes 0 * infinity
    return jnp.where(
        equal_infinities,
        endless,
        high + jnp.log1p(jnp.where(is_zero, zero, jnp.exp(jnp.where(equal_infinities, zero, low - high)))),
    )


@op(
    promote=Promote.DEFAULT,
    accepts=Category.FLOAT,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    refuse="logaddexp2_cpu",
    samples=[PAIR],
)
@in_float32
def logaddexp2(input: Array, other: Array) -> Array:
    """``log2(2 ** input + 2 ** other)``, without overflow."""
    return _logaddexp2(input, other)


def _x_times(log: Any, slope: Any, border: float) -> Any:
    """``x * log(y)``: 0 where x is 0, NaN wherever y is NaN. There and where y is not above the border, PyTorch's derivative by x is 0."""

    def value(x: Array, y: Array) -> Array:
        product = jnp.where(x == 0, jnp.zeros((), x.dtype), x * log(y))
        return jnp.where(jnp.isnan(y), y, product)

    product = jax.custom_jvp(value)

    @product.defjvp
    def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
        (x, y), (dx, dy) = primals, tangents
        none = (x == 0) & (y <= border)
        by_x = jnp.where(none, jnp.zeros((), x.dtype), log(y))
        return value(x, y), dx * by_x + dy * x * slope(y)

    return product


def _xlogy_name(input: Aval | float, other: Aval | int) -> str:
    numbers = [isinstance(x, (bool, int, float)) or hasattr(x, "kind") for x in (input, other)]
    return f"XlogyBackward{1 if numbers[0] else 2 if numbers[1] else 0}"


_x_log_y = _x_times(jnp.log, lambda y: 1 / y, 0)
_x_log1p_y = _x_times(jnp.log1p, lambda y: 1 / (y + 1), -1)


@op(
    promote=Promote.INT_TO_FLOAT,
    accepts=Category.REAL,
    forms=Form.UNARY,
    validation=Validation(call=one_tensor("xlogy")),
    refuse="xlogy_cpu",
    samples=[POSITIVE, Sample(shapes=((3,),), args=(2,))],
    backward=_xlogy_name,
)
@in_float32
def xlogy(input: Operand, other: Operand) -> Array:
    """``input * log(other)``, which is 0 where ``input`` is 0.

    >>> torch.xlogy(torch.tensor([0.0, 2.0]), torch.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
    return _x_log_y(*jnp.broadcast_arrays(input, other))


@op(
    promote=Promote.INT_TO_FLOAT,
    accepts=Category.REAL,
    forms=Form.OUT,
    validation=Validation(call=one_tensor("special_xlog1py")),
    refuse="xlog1py_cpu",
    backward="SpecialXlog1PyBackward0",
    samples=[POSITIVE, ZEROS],
)
@in_float32
def special_xlog1py(input: Operand, other: Operand) -> Array:
    """``input * log1p(other)``, which is 0 where ``input`` is 0."""
    return _x_log1p_y(*jnp.broadcast_arrays(input, other))


@op(
    promote=Promote.INT_TO_FLOAT,
    accepts=Category.REAL,
    forms=Form.OUT,
    refuse="entr_cpu",
    samples=[
        Sample(shapes=((3, 4),), low=0.1, high=2.0),
        Sample(values=([0.0, -1.0, math.nan, math.inf],), gradient=False, dtypes=("float32",)),
    ],
)
@in_float32
def special_entr(input: Array) -> Array:
    """``-input * log(input)``: 0 at 0, -inf for negative elements.

    >>> torch.special.entr(torch.tensor([0.0, 0.5, 1.0]))
    tensor([0.0000, 0.3466, -0.0000])
    """
    return _entr(input)


@jax.custom_jvp
def _entr(x: Array) -> Array:
    positive = x > 0
    safe = jnp.where(positive, x, jnp.ones((), x.dtype))
    outside = jnp.where(x == 0, jnp.zeros((), x.dtype), jnp.asarray(-math.inf, x.dtype))
    return jnp.where(jnp.isnan(x), x, jnp.where(positive, -safe * jnp.log(safe), outside))


@_entr.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    return _entr(x), -(jnp.log(x) + 1) * dx


# ---- the parts of a floating-point number


@composite(
    forms=Form.UNARY,
    validation=Validation(out=unless_cast("ldexp can't be cast to the desired output type {out}")),
)
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """``input * 2 ** other``.

    >>> torch.ldexp(torch.tensor([1.0]), torch.tensor([3]))
    tensor([8.])
    """
    for position, (name, value) in enumerate((("input", input), ("other", other)), 1):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"ldexp(): argument '{name}' (position {position}) must be Tensor, not {type(value).__name__}"
            )
    return _ldexp(input, other)


@op(
    name="_ldexp",
    promote=Promote.INT_TO_FLOAT,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="LdexpBackward0",
    samples=[PAIR],
)
def _ldexp(input: Array, other: Array) -> Array:
    return _scaled(input, other)


@jax.custom_jvp
def _scaled(x: Array, exponent: Array) -> Array:
    return x * jnp.power(jnp.asarray(2, x.dtype), exponent)


@_scaled.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (_, exponent), (dx, de) = primals, tangents
    result = _scaled(*primals)
    growth = in_float32(lambda x: x * jnp.asarray(math.log(2), x.dtype))
    by_exponent = growth(jnp.broadcast_to(de, result.shape)) * result
    return result, dx * jnp.power(jnp.asarray(2, dx.dtype), exponent) + by_exponent


def _floats_only(name: str, dtype: Dtype) -> str:
    return "torch.frexp() only supports floating-point dtypes"


@op(
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=(1,),
    refuse=_floats_only,
    overlap=Reading.SAME_PLACES,
    samples=[Sample(shapes=((3, 4),)), Sample(values=([0.0, 8.0, -0.75, math.inf, math.nan],), gradient=False)],
)
def frexp(input: Array) -> tuple[Array, Array]:
    """The mantissa, at least 0.5 and below 1, and the exponent of ``mantissa * 2 ** exponent``.

    >>> torch.frexp(torch.tensor([8.0])).mantissa
    tensor([0.5000])
    """
    x = at_least_float32(input)
    mantissa, exponent = jnp.frexp(x)
    # An infinity or NaN is its own mantissa, with exponent 0.
    finite = jnp.isfinite(x)
    mantissa = jnp.where(finite, mantissa, x)
    exponent = jnp.where(finite, exponent, 0).astype(np.int32)
    return return_types.frexp(mantissa.astype(input.dtype), exponent)


@op(
    promote=Promote.DEFAULT,
    accepts=Category.FLOAT,
    forms=Form.ELEMENTWISE,
    refuse="nextafter_cpu",
    samples=[PAIR],
)
def nextafter(input: Array, other: Array) -> Array:
    """The next floating-point number after ``input`` in the direction of ``other``.

    >>> torch.nextafter(torch.tensor([1.0]), torch.tensor([2.0])) > 1
    tensor([True])
    """
    return _nextafter(*jnp.broadcast_arrays(input, other))


@jax.custom_jvp
def _nextafter(x: Array, y: Array) -> Array:
    return jnp.nextafter(x, y)


@_nextafter.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x, y), (dx, _) = primals, tangents  # as in PyTorch: ``other`` has no gradient
    return _nextafter(x, y), jnp.where(x == y, jnp.zeros_like(dx), dx)
