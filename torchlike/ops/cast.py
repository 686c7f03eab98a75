"""Changes of dtype and device."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from .._core.dtypes import dtype as dtype_
from .._core.tensor import Tensor
from ._declare import Promote, composite, op

__all__ = []


@op(
    name="_to_dtype",
    promote=Promote.NONE,
    accepts="bool integer float complex",
    forms="",
    backward="ToCopyBackward0",
    saves="nothing",
    samples=[],
)
def to_dtype(input: Array, dtype: Any) -> Array:
    """The elements in another dtype."""
    return input.astype(dtype.numpy)


@composite(forms="method")
def to(self: Tensor, dtype: dtype_) -> Tensor:
    return self if dtype is self.dtype else to_dtype(self, dtype)
