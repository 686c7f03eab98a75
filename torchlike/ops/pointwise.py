"""Element-wise arithmetic and elementary functions."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from ._declare import Number, Operand, Promote, Sample, op

__all__ = ["add", "exp", "mul", "neg", "sub"]

PAIR = Sample(shapes=((3, 4), (3, 4)))
BROADCAST = Sample(shapes=((3, 1, 4), (5, 1)))
SCALARS = Sample(shapes=((), ()))
EMPTY = Sample(shapes=((0, 3), (3,)))
NUMBER = Sample(shapes=((3, 4),), args=(2,))


@op(
    promote=Promote.DEFAULT,
    accepts="bool integer float complex",
    forms="function method inplace out",
    samples=[PAIR, BROADCAST, SCALARS, EMPTY, NUMBER, Sample(shapes=((3,), (3,)), kwargs={"alpha": 2})],
)
def add(input: Operand, other: Operand, *, alpha: Number = 1) -> Array:
    """``input + alpha * other``, element by element.

    >>> torch.add(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), alpha=10)
    tensor([31., 42.])
    """
    return input + other if isinstance(alpha, int) and alpha == 1 else input + jnp.asarray(alpha, input.dtype) * other


@op(
    promote=Promote.DEFAULT,
    accepts="integer float complex",
    forms="function method inplace out",
    samples=[PAIR, BROADCAST, SCALARS, EMPTY, NUMBER, Sample(shapes=((3,), (3,)), kwargs={"alpha": 2})],
)
def sub(input: Operand, other: Operand, *, alpha: Number = 1) -> Array:
    """``input - alpha * other``, element by element."""
    return input - other if isinstance(alpha, int) and alpha == 1 else input - jnp.asarray(alpha, input.dtype) * other


@op(
    promote=Promote.DEFAULT,
    accepts="bool integer float complex",
    forms="function method inplace out",
    samples=[PAIR, BROADCAST, SCALARS, EMPTY, NUMBER],
)
def mul(input: Operand, other: Operand) -> Array:
    """``input * other``, element by element."""
    return jnp.multiply(input, other)


@op(
    promote=Promote.DEFAULT,
    accepts="integer float complex",
    forms="function method inplace out",
    samples=[Sample(shapes=((3, 4),))],
)
def neg(input: Array) -> Array:
    """``-input``, element by element."""
    return -input


@op(
    promote=Promote.INT_TO_FLOAT,
    accepts="bool integer float complex",
    forms="function method inplace out",
    saves="result",
    samples=[Sample(shapes=((3, 4),))],
)
def exp(input: Array) -> Array:
    """``e ** input``, element by element."""
    return jnp.exp(input)
