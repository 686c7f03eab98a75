"""Operations on the bits of integers, and logical ones on truth values."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from ...dispatch.out_dtypes import FOUND
from ...dispatch.register import Category, Form, Operand, Promote, Sample, Validation, op
from ...numerics.denormals import nonzero
from .pointwise import one_tensor

SAMPLES = [Sample(shapes=((3, 4), (4,))), Sample(shapes=((3, 4),), args=(3,))]


def _bits(
    name: str,
    kernel: str,
    accepts: Category = Category.BOOL | Category.INTEGER,
    samples: object = SAMPLES,
    validation: Validation | None = None,
) -> dict[str, Any]:
    return {
        "promote": Promote.DEFAULT,
        "accepts": accepts,
        "forms": Form.ELEMENTWISE,
        "samples": samples,
        "refuse": kernel,
        "differentiable": False,
        "validation": validation or Validation(call=one_tensor(name)),
    }


@op(**_bits("bitwise_and", "bitwise_and_cpu"))
def bitwise_and(input: Operand, other: Operand) -> Array:
    """The bits that both have; for bool tensors the logical and: ``input & other``.

    >>> torch.tensor([5, 6]) & 3
    tensor([1, 2])
    """
    return jnp.bitwise_and(input, other)


@op(**_bits("bitwise_or", "bitwise_or_cpu"))
def bitwise_or(input: Operand, other: Operand) -> Array:
    """The bits that either has: ``input | other``.

    >>> torch.bitwise_or(torch.tensor(6), torch.tensor(3))
    tensor(7)
    """
    return jnp.bitwise_or(input, other)


@op(**_bits("bitwise_xor", "bitwise_xor_cpu"))
def bitwise_xor(input: Operand, other: Operand) -> Array:
    """The bits that just one has: ``input ^ other``.

    >>> torch.bitwise_xor(torch.tensor(6), torch.tensor(3))
    tensor(5)
    """
    return jnp.bitwise_xor(input, other)


@op(
    **_bits(
        "bitwise_not",
        "bitwise_not_cpu",
        samples=[Sample(shapes=((3, 4),))],
        validation=Validation(out=FOUND),
    )
)
def bitwise_not(input: Array) -> Array:
    """Every bit turned over; for bool tensors the logical not: ``~input``."""
    return jnp.bitwise_not(input)


@op(**_bits("bitwise_left_shift", "lshift_cpu", Category.INTEGER))
def bitwise_left_shift(input: Operand, other: Operand) -> Array:
    """``input`` with its bits moved up by ``other`` places; 0 where that is negative or more places than there are."""
    inside = (other >= 0) & (other < 8 * input.dtype.itemsize)
    return jnp.where(inside, jnp.left_shift(input, jnp.where(inside, other, 0)), 0)


@op(**_bits("bitwise_right_shift", "rshift_cpu", Category.INTEGER))
def bitwise_right_shift(input: Operand, other: Operand) -> Array:
    """``input`` with its bits moved down by ``other`` places, the sign kept."""
    last = jnp.asarray(8 * input.dtype.itemsize - 1, input.dtype)
    inside = (other >= 0) & (other <= last)
    shifted = jnp.right_shift(input, jnp.where(inside, other, last))
    return shifted if input.dtype.kind == "i" else jnp.where(inside, shifted, 0)


def _logical(samples: object = SAMPLES[:1]) -> dict[str, Any]:
    common = {"promote": Promote.ALWAYS_BOOL, "accepts": Category.ALL, "forms": Form.ELEMENTWISE}
    return common | {"samples": samples, "differentiable": False}


@op(**_logical())
def logical_and(input: Array, other: Array) -> Array:
    """Whether both are not zero, element by element.

    >>> torch.logical_and(torch.tensor([True, True]), torch.tensor([True, False]))
    tensor([ True, False])
    """
    return nonzero(input) & nonzero(other)


@op(**_logical())
def logical_or(input: Array, other: Array) -> Array:
    """Whether either is not zero, element by element.

    >>> torch.logical_or(torch.tensor([True, False]), torch.tensor([False, False]))
    tensor([ True, False])
    """
    return nonzero(input) | nonzero(other)


@op(**_logical())
def logical_xor(input: Array, other: Array) -> Array:
    """Whether just one is not zero, element by element.

    >>> torch.logical_xor(torch.tensor([True, True]), torch.tensor([True, False]))
    tensor([False,  True])
    """
    return nonzero(input) ^ nonzero(other)


@op(**_logical([Sample(shapes=((3, 4),))]))
def logical_not(input: Array) -> Array:
    """Whether each element is zero.

    >>> torch.logical_not(torch.tensor([0, 3]))
    tensor([ True, False])
    """
    return ~nonzero(input)
