"""Element-wise powers, with PyTorch's conventions at 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core import dtypes
from ..._core.tensor import Tensor
from ...dispatch.out_dtypes import words
from ...dispatch.register import (
    Autocast,
    Category,
    Form,
    Operand,
    Promote,
    Sample,
    Validation,
    composite,
    op,
)
from ...numerics import complex_c99 as _c99
from ...numerics.exact_math import exact_rsqrt
from ...numerics.half_precision import HALF, in_float32
from ...numerics.numbers import check_width, number_for
from .pointwise import ONE, is_tensor, one_tensor

if TYPE_CHECKING:
    from ..._core.annotations import TensorOrNumber


def _pow_name(input: object, exponent: object) -> str:
    return "PowBackward2" if not is_tensor(input) else "PowBackward1" if is_tensor(exponent) else "PowBackward0"


def _validate_pow(input: object, exponent: object) -> None:
    one_tensor("pow")(input, exponent)
    bools = [operand is dtypes.bool_ or isinstance(operand, bool) for operand in (input, exponent)]
    if all(bools) and not isinstance(exponent, bool):  # x ** True is x
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")


@op(
    promote=Promote.DEFAULT,
    accepts=Category.ALL,
    forms=Form.ELEMENTWISE,
    refuse="pow",
    validation=Validation(call=_validate_pow),
    keep_scalar=("exponent",),
    backward=_pow_name,
    samples=[
        Sample(shapes=((3, 4), (3, 1)), low=0.5, high=3.0, dtypes=("int64", "float32", "float64", "complex64")),
        *(
            Sample(shapes=((3, 4),), low=0.5, high=3.0, args=(e,), dtypes=("float32", "float64", "complex64"))
            for e in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 2.5)
        ),
        Sample(shapes=((5,),), args=(3,), dtypes=("int64", "int8")),
        Sample(values=([0.0, -0.0, -1.0, 2.0, float("inf")],), args=(2.0,), dtypes=("float32",), gradient=False),
        Sample(values=([0.0, 0.0, 2.0, -2.0, 0.0], [0.0, 1.0, 0.0, 2.0, -1.0]), dtypes=("float32",), gradient=False),
    ],
    autocast={"cuda": Autocast.FLOAT32},
)
def pow(input: Operand, exponent: Operand) -> Array:
    """``input ** exponent``, element by element; either may be a number.

    Raises:
        RuntimeError: integers to the power of a negative integer number.

    >>> torch.pow(torch.tensor([1.0, 2.0, 3.0]), 2)
    tensor([1., 4., 9.])
    """
    if isinstance(exponent, (bool, int, float, complex)):
        # PyTorch rounds the exponent to the tensor's dtype before it computes in float32.
        if type(exponent) is float and input.dtype in HALF:
            exponent = float(np.asarray(number_for(exponent, dtypes.from_numpy_dtype(input.dtype)), input.dtype))
        return in_float32(_number_power)(input, exponent)
    if input.dtype.kind in "iu":
        return _integer_power(input, exponent)
    if input.dtype.kind == "c":
        return _c99.power(*jnp.broadcast_arrays(input, exponent))
    return in_float32(_power)(*jnp.broadcast_arrays(input, exponent))


@jax.custom_jvp
def _power(x: Array, exponent: Array) -> Array:
    return lax.pow(x, exponent)


@_power.defjvp
def _power_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    # PyTorch's conventions at 0: nothing flows through x ** 0, nor into the exponent of 0 ** non-negative.
    (x, exponent), (dx, de) = primals, tangents
    result = _power(x, exponent)
    constant, flat = exponent == 0, (x == 0) & (exponent >= 0)
    slope = jnp.where(constant, 0, exponent * _power(x, jnp.where(constant, 1, exponent - 1)))
    growth = jnp.where(flat, 0, result * jnp.log(jnp.where(flat, 1, x)))
    return result, slope * dx + growth * de


def _number_power(x: Array, exponent: complex) -> Array:
    # A few exponents have a shorter way that is also exact; gradients then come out as PyTorch's, without 0 * inf.
    if exponent == 0:
        return jnp.ones_like(x)
    if exponent == 1:
        return x
    if exponent == 2:
        return x * x
    if exponent == 3:
        return x * x * x
    if x.dtype.kind in "iu":
        if isinstance(exponent, int) and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        if isinstance(exponent, int):
            number_for(exponent, dtypes.int64)  # PyTorch takes it for an int64 first
        return lax.integer_pow(x, int(number_for(exponent, dtypes.from_numpy_dtype(x.dtype))))
    if exponent == -1:
        return _c99.reciprocal(x) if x.dtype.kind == "c" else 1 / x
    if exponent == -2:
        return 1 / (x * x)
    if exponent == 0.5:
        return _c99.sqrt(x)
    if exponent == -0.5:
        return exact_rsqrt(x)
    power = jnp.asarray(exponent, x.dtype)
    return (
        _c99.power(*jnp.broadcast_arrays(x, power))
        if x.dtype.kind == "c"
        else lax.pow(x, jnp.broadcast_to(power, x.shape))
    )


def _integer_power(x: Array, exponent: Array) -> Array:
    x, exponent = jnp.broadcast_arrays(x, exponent)
    if x.dtype.kind == "u":
        return _repeated_product(x, exponent)
    positive = _repeated_product(x, jnp.maximum(exponent, 0))
    # Only 1 and -1 have an inverse among the integers; PyTorch gives 0 for the others.
    odd = (exponent & 1) == 1
    inverse = jnp.where(x == 1, 1, jnp.where(x == -1, jnp.where(odd, -1, 1), 0)).astype(x.dtype)
    return jnp.where(exponent < 0, inverse, positive)


def _repeated_product(x: Array, exponent: Array) -> Array:
    """``x ** exponent`` for exponents that are not negative, by squaring. The product wraps around, so that each bit counts.

    JAX's ``power`` looks at the six lowest bits of an exponent only.
    """

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        product, square, left = state
        return jnp.where((left & 1) == 1, product * square, product), square * square, left >> 1

    return lax.while_loop(lambda state: jnp.any(state[2] != 0), step, (jnp.ones_like(x), x, exponent))[0]


def _validate_float_power_(self: Tensor, exponent: object) -> None:
    complex_ = exponent.is_complex() if isinstance(exponent, Tensor) else isinstance(exponent, complex)
    result_dtype = dtypes.complex128 if complex_ or self.dtype.category == dtypes.COMPLEX else dtypes.float64
    if self.dtype is not result_dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.scalar_name} but the operation's result requires dtype "
            f"{result_dtype.scalar_name}"
        )


@composite(
    forms=Form.ELEMENTWISE,
    validation=Validation(
        inplace=_validate_float_power_,
        out=words("the output given to float_power has dtype {out} but the operation's result requires dtype {result}"),
    ),
)
def float_power(input: TensorOrNumber, exponent: object) -> Tensor:
    """``input ** exponent`` in float64 (complex128 for complex arguments), whatever the dtypes."""
    sides = [input, exponent]
    one_tensor("float_power")(*[s.dtype if isinstance(s, Tensor) else s for s in sides])
    complex_ = any(s.is_complex() if isinstance(s, Tensor) else isinstance(s, complex) for s in sides)
    dtype = dtypes.complex128 if complex_ else dtypes.float64
    for side in sides:
        check_width(side)
    kind = complex if complex_ else float
    return pow(*[s.to(dtype) if isinstance(s, Tensor) else kind(s) for s in sides])


@op(
    promote=Promote.BOOL_TO_LONG,
    accepts=Category.ALL,
    forms=Form.UNARY,
    backward="PowBackward0",  # PyTorch says pow(input, 2)
    samples=[ONE],
)
def square(input: Array) -> Array:
    """``input * input``, element by element."""
    return input * input
