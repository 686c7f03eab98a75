"""Whole numbers: common divisors and multiples, and the step function."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from ..._core import dtypes
from ...dispatch.out_dtypes import words
from ...dispatch.register import Category, Form, Promote, Sample, Validation, op
from ...numerics.denormals import greater, nonzero

NUMBERS = [Sample(values=([12, -18, 0, 7], [8, 27, 5, 0])), Sample(shapes=((3, 4), (4,)))]


@op(
    promote=Promote.DEFAULT,
    accepts=Category.INTEGER,
    forms=Form.UNARY,
    differentiable=False,
    refuse="gcd_cpu",
    samples=NUMBERS,
)
def gcd(input: Array, other: Array) -> Array:
    """The greatest common divisor, element by element, never negative.

    >>> torch.gcd(torch.tensor([12, -18]), torch.tensor([8, 27]))
    tensor([4, 9])
    """
    return _common_divisor(input, other)


def _common_divisor(a: Array, b: Array) -> Array:
    """Euclid's algorithm by remainders that have the sign of the dividend, as C's have: it ends for the smallest number, too."""

    def shorter(pair: tuple[Array, Array]) -> tuple[Array, Array]:
        a, b = pair
        return jnp.where(a != 0, lax.rem(b, jnp.where(a != 0, a, 1)), 0), jnp.where(a != 0, a, b)

    a, b = jnp.broadcast_arrays(jnp.abs(a), jnp.abs(b))
    return lax.while_loop(lambda pair: (pair[0] != 0).any(), shorter, (a, b))[1]


@op(
    promote=Promote.DEFAULT,
    accepts=Category.INTEGER,
    forms=Form.UNARY,
    differentiable=False,
    refuse="lcm_cpu",
    samples=NUMBERS,
)
def lcm(input: Array, other: Array) -> Array:
    """The least common multiple, element by element, never negative.

    >>> torch.lcm(torch.tensor([4, 6]), torch.tensor([6, 9]))
    tensor([12, 18])
    """
    a, b = jnp.broadcast_arrays(input, other)
    divisor, dtype = _common_divisor(a, b), a.dtype
    if dtype.itemsize < 4:  # C computes the product of small types in 32 bits
        a, b, divisor = (x.astype(jnp.int32) for x in (a, b, divisor))
    return jnp.abs(lax.div(a, jnp.where(divisor != 0, divisor, 1)) * b).astype(dtype)


def _same_dtype(input: object, values: object) -> None:
    if not (isinstance(input, dtypes.dtype) and isinstance(values, dtypes.dtype)):
        return
    if input.is_complex or values.is_complex:
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if input is not values:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


@op(
    promote=Promote.DEFAULT,
    accepts=Category.REAL,
    forms=Form.ELEMENTWISE,
    differentiable="aten::heaviside",
    validation=Validation(
        call=_same_dtype, out=words("heaviside is not yet implemented for tensors with different dtypes.")
    ),
    samples=[
        Sample(shapes=((3, 4), (4,))),
        Sample(values=([-1.0, 0.0, -0.0, 2.0, float("nan")], [5.0, 6.0, 7.0, 8.0, 9.0]), dtypes=("float32",)),
    ],
)
def heaviside(input: Array, values: Array) -> Array:
    """0 below zero, 1 above, ``values`` at zero.

    >>> torch.heaviside(torch.tensor([-1.0, 0.0, 2.0]), torch.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """
    zero = jnp.zeros((), input.dtype)
    return jnp.where(nonzero(input), greater(input, zero).astype(input.dtype), values)
