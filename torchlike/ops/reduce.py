"""Reductions: sums, means, extrema."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from ._declare import Promote, Sample, op

__all__ = ["sum"]


@op(
    promote=Promote.REDUCE_INT_TO_LONG,
    accepts="bool integer float complex",
    forms="function method out",
    backward=lambda input, dim, keepdim, dtype: "SumBackward0" if dim is None else "SumBackward1",
    saves="nothing",
    samples=[Sample(shapes=((3, 4),)), Sample(shapes=((3, 4),), args=(1, True))],
)
def sum(input: Array, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Array:
    """The sum of all elements, or along dimensions."""
    return jnp.sum(input, axis=dim, keepdims=keepdim)
