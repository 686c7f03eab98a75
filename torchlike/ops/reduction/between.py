"""Distances of two tensors, and norms that are limited to a bound."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import Array

from ..._core.tensor import wrap_dim
from ...dispatch.overlap import Reading
from ...dispatch.register import CATALOG, Autocast, Category, Form, Promote, Sample, Validation, op
from ...numerics.half_precision import at_least_float32
from ..elementwise.pointwise import no_bool_subtraction


@op(
    promote=Promote.COMPLEX_TO_FLOAT,
    accepts=Category.INEXACT,
    forms=Form.FUNCTION | Form.METHOD,
    validation=Validation(call=lambda input, other, p: no_bool_subtraction(input, other, 1)),
    refuse=lambda name, dtype: (
        f"norm(): input dtype should be either floating point or complex. Got {dtype.scalar_name} instead."
    ),
    samples=[Sample(shapes=((3, 4), (4,)), args=(p,), dtypes=("float32",)) for p in (1, 2, 3, math.inf)],
    autocast={"cuda": Autocast.FLOAT32},
)
def dist(input: Array, other: Array, p: float = 2) -> Array:
    """The norm of order ``p`` of ``input - other``.

    >>> torch.dist(torch.tensor([0.0, 0.0]), torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    return CATALOG["linalg_vector_norm"].compute(input - other, float(p))


@op(
    promote=Promote.NONE,
    accepts=Category.INEXACT,
    forms=Form.ELEMENTWISE,
    refuse=lambda name, dtype: (
        f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {dtype.scalar_name}"
    ),
    overlap=Reading.SAME_PLACES,
    samples=[Sample(shapes=((3, 4),), args=(2, 0, 1.0)), Sample(shapes=((3, 4),), args=(1, 1, 1.0))],
    autocast={"cuda": Autocast.FLOAT32},
)
def renorm(input: Array, p: float, dim: int, maxnorm: float) -> Array:
    """The slices along a dimension, those with a norm above ``maxnorm`` scaled down to it.

    >>> torch.renorm(torch.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    if isinstance(p, complex) or p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    dim = wrap_dim(dim, input.ndim)
    other_dims = tuple(d for d in range(input.ndim) if d != dim)
    x = at_least_float32(input)
    norms = CATALOG["linalg_vector_norm"].compute(x, float(p), other_dims, True)
    limit = jnp.asarray(maxnorm, norms.dtype)
    # PyTorch divides by the norm plus 1e-7, too.
    factors = jnp.where(norms > limit, limit / (norms + jnp.asarray(1e-7, norms.dtype)), jnp.ones((), norms.dtype))
    return (x * factors.astype(x.dtype)).astype(input.dtype)
