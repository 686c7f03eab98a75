"""A number that stands for the content of a tensor."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from ..._core import dtypes
from ..._core.annotations import IntOrInts
from ...dispatch.register import Category, Form, Promote, Sample, Validation, op
from .reduce import dims_of, needs_elements

KERNEL = "xor_sum_cpu"


@op(
    promote=Promote.NONE,
    accepts=Category.REAL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    refuse=KERNEL,
    differentiable=False,
    validation=Validation(
        out=lambda dtype, out: RuntimeError(f"Expected result to be of dtype uint64, but got {out.scalar_name}")
    ),
    samples=[
        Sample(values=([[1, 0, 3], [4, 5, 6]],)),
        Sample(values=([[1, 0, 3], [4, 5, 6]],), args=(1,), kwargs={"keepdim": True}),
        Sample(values=(1,), dtypes=("float32",)),
    ],
)
def hash_tensor(input: Array, dim: IntOrInts = (), *, keepdim: bool = False, mode: int = 0) -> Array:
    """The exclusive or of all elements' bits, or of those along dimensions, as uint64.

    Floats are widened to float64 and integers to int64 first, so that a value has one hash in every such dtype.

    Args:
        mode: 0, the exclusive or; there is no other yet.

    >>> torch.hash_tensor(torch.tensor([1, 2, 4]))
    tensor(7, dtype=torch.uint64)

    Raises:
        RuntimeError: the mode is unknown, or there is no element. IndexError: a dimension to reduce is empty.
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if input.dtype in (jnp.uint16, jnp.uint32, jnp.uint64):
        name = dtypes.from_numpy_dtype(input.dtype).scalar_name
        raise NotImplementedError(f"\"{KERNEL}\" not implemented for '{name}'")
    axes = dims_of(dim, input.ndim, "hash_tensor")
    needs_elements("hash_tensor", input.shape, axes, dim is None or dim == ())
    bits64 = input.astype(jnp.float64 if input.dtype.kind in "fV" else jnp.int64)
    words = jax.lax.bitcast_convert_type(bits64, jnp.uint64)
    digest = jax.lax.reduce(words, jnp.uint64(0), jax.lax.bitwise_xor, axes)
    return jnp.expand_dims(digest, axes) if keepdim else digest
