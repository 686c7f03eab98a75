"""Views and rearrangements: what changes the shape and not the elements."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax import Array

from .._core.strided import Strided
from .._core.tensor import Tensor, wrap_dim
from ._declare import Promote, Sample, composite, op

__all__ = ["clone", "expand", "permute", "reshape", "transpose", "unbind", "view"]

Dims = tuple[int, ...]  # may be written spread out: x.view(2, 3)
ALL = "bool integer float complex"


def infer_size(shape: Any, numel: int) -> tuple[int, ...]:
    """A shape with its one -1 replaced; RuntimeError in PyTorch's words where the elements do not fit."""
    shape = tuple(int(n) for n in shape)
    free = [i for i, n in enumerate(shape) if n == -1]
    if len(free) > 1:
        raise RuntimeError("only one dimension can be inferred")
    for n in shape:
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n} at index {shape.index(n)} of shape {list(shape)}")
    known = math.prod(n for n in shape if n != -1)
    if free:
        if known == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can be "
                "any value and is ambiguous"
            )
        if numel % known == 0:
            return tuple(numel // known if n == -1 else n for n in shape)
    elif known == numel:
        return shape
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")


@op(
    name="_view",
    promote=Promote.NONE,
    accepts=ALL,
    forms="",
    view=True,
    backward="ViewBackward0",
    saves="nothing",
    samples=[Sample(shapes=((3, 4),), args=((2, 6),))],
)
def view_as_shape(input: Array, size: Any) -> Array:
    """The same elements in the same order under another shape."""
    return input.reshape(size)


@composite(forms="method")
def view(self: Tensor, *shape: Any) -> Tensor:
    """The same memory seen in another shape, one of whose sizes may be -1.

    Raises:
        RuntimeError: the number of elements differs, or the memory cannot be seen so without a copy.
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = shape[0]
    size = infer_size(shape, self.numel())
    if self._view is not None and not self._geometry.contiguous:
        try:
            self._geometry.reshape(size)
        except ValueError:
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
                "contiguous subspaces). Use .reshape(...) instead."
            ) from None
    return view_as_shape(self, size)


@composite(forms="function method")
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape: a view where that is possible, else a copy."""
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = shape[0]
    size = infer_size(shape, input.numel())
    if input._view is not None and not input._geometry.contiguous:
        try:
            input._geometry.reshape(size)
        except ValueError:
            input = input.clone()
    return view_as_shape(input, size)


@op(
    promote=Promote.NONE,
    accepts=ALL,
    forms="function method",
    view=True,
    saves="nothing",
    samples=[Sample(shapes=((2, 3, 4),), args=((2, 0, 1),))],
)
def permute(input: Array, dims: Dims) -> Array:
    """Dimensions in another order, as a view."""
    return input.transpose(dims)


@op(
    promote=Promote.NONE,
    accepts=ALL,
    forms="function method",
    view=True,
    saves="nothing",
    samples=[Sample(shapes=((2, 3, 4),), args=(0, 2))],
)
def transpose(input: Array, dim0: int, dim1: int) -> Array:
    """Two dimensions swapped, as a view."""
    if input.ndim == 0:
        wrap_dim(dim0, 0), wrap_dim(dim1, 0)
        return input
    order = list(range(input.ndim))
    a, b = wrap_dim(dim0, input.ndim), wrap_dim(dim1, input.ndim)
    order[a], order[b] = b, a
    return input.transpose(order)


@op(
    name="_slice",
    promote=Promote.NONE,
    accepts=ALL,
    forms="",
    view=True,
    backward=lambda input, index: "SliceBackward0",
    saves="nothing",
    samples=[],
)
def basic_index(input: Array, index: Any) -> Array:
    """What integers, slices, None and ... select; ``index`` is made by ``index.py``, slices as ``(start, stop, step)``."""
    return input[tuple(slice(*i[1:]) if isinstance(i, tuple) else i for i in index)]


@op(
    promote=Promote.NONE,
    accepts=ALL,
    forms="function method",
    view=True,
    saves="nothing",
    several=True,
    samples=[Sample(shapes=((3, 4),)), Sample(shapes=((3, 4),), args=(1,))],
)
def unbind(input: Array, dim: int = 0) -> tuple[Array, ...]:
    """Slices along a dimension, without it, as a tuple of views."""
    dim = wrap_dim(dim, input.ndim)
    return tuple(input[(slice(None),) * dim + (i,)] for i in range(input.shape[dim]))


@op(
    promote=Promote.NONE,
    accepts=ALL,
    forms="method",
    view=True,
    saves="nothing",
    samples=[Sample(shapes=((3, 1),), args=((2, 3, 4),))],
)
def expand(input: Array, size: Dims) -> Array:
    """Dimensions of size 1 repeated without copying; -1 keeps a size."""
    lead = len(size) - input.ndim
    target = tuple(input.shape[i - lead] if n == -1 else n for i, n in enumerate(size))
    return input.broadcast_to(target) if isinstance(input, Strided) else jnp.broadcast_to(input, target)


@op(
    promote=Promote.NONE,
    accepts=ALL,
    forms="function method",
    saves="nothing",
    samples=[Sample(shapes=((3, 4),))],
)
def clone(input: Array, *, memory_format: Any = None) -> Array:
    """A copy in memory of its own; gradients flow through it."""
    return jnp.copy(input)
