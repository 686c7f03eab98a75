"""Products of matrices and vectors."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from ._declare import Promote, Sample, op

__all__ = ["mm"]


@op(
    promote=Promote.NONE,
    accepts="integer float complex",
    forms="function method out",
    backward="MmBackward0",
    samples=[Sample(shapes=((3, 4), (4, 5)))],
)
def mm(input: Array, mat2: Array) -> Array:
    """The product of two matrices: (n, k) by (k, m) gives (n, m)."""
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({input.shape[0]}x{input.shape[1]} and {mat2.shape[0]}x{mat2.shape[1]})"
        )
    return jnp.matmul(input, mat2, precision=lax.Precision.HIGHEST)
