"""Elements by index: one gather of XLA's, whose trace holds for any size.

``x[index]`` of JAX arrays is the same gather, but on its way there JAX turns sizes into numbers, so it would be traced again for each
combination of sizes, which takes ten times as long as it takes NumPy to run it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..engine.interpreter import as_constant


def picked(x: Array, indices: Sequence[Array | None], *, from_end: bool = False, unique: bool = False) -> Array:
    """``x[indices]``, where None stands for a whole dimension. All indices must be in bounds.

    Args:
        from_end: negative indices count from the end.
        unique: no element is picked twice.
    """
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    given: list[Array] = [index for index in indices if index is not None]
    shape = lax.broadcast_shapes(*[index.shape for index in given])
    rank = len(shape)
    columns = []
    for dim, index in zip(dims, given, strict=True):
        if from_end:
            index = counted_from_end(index, x.shape[dim])
        columns.append(lax.broadcast_in_dim(index, (*shape, 1), range(rank - index.ndim, rank)))
    starts = columns[0] if len(columns) == 1 else lax.concatenate(columns, rank)
    # Where the indices stand side by side, their dimensions come in the place of theirs, otherwise first: as in NumPy.
    first = dims[0] if dims[-1] - dims[0] == len(dims) - 1 else 0
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(d for d in range(x.ndim - len(dims) + rank) if not first <= d < first + rank),
        collapsed_slice_dims=tuple(dims),
        start_index_map=tuple(dims),
    )
    sizes = [1 if d in dims else n for d, n in enumerate(x.shape)]
    mode = lax.GatherScatterMode.PROMISE_IN_BOUNDS
    return lax.gather(x, starts, numbers, sizes, unique_indices=unique, mode=mode)


def picked_once(x: Array, places: Array, dims: int) -> Array:
    """Elements, each but once, by their places in the first dimensions, which are taken as one. The places must be right."""
    rows = math.prod(x.shape[:dims])
    return picked(x.reshape((rows, *x.shape[dims:])), [places], unique=True)


def picked_along(x: Array, index: Array, dim: int) -> Array:
    """Elements of ``x`` by indices in bounds in the place of dimension ``dim``. Along the others ``x`` may be longer."""
    x = in_corner(x, index.shape, dim)
    others = tuple(d for d in range(x.ndim) if d != dim)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(dim,), start_index_map=(dim,), operand_batching_dims=others,
        start_indices_batching_dims=others,
    )  # fmt: skip
    starts = lax.broadcast_in_dim(index, (*index.shape, 1), range(index.ndim))
    return lax.gather(x, starts, numbers, (1,) * x.ndim, mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)


def in_corner(x: Array, shape: Sequence[int], dim: int) -> Array:
    """The part of ``x`` that begins where it begins, and has this shape but for dimension ``dim``; the array itself if that is all."""
    corner = [x.shape[d] if d == dim else n for d, n in enumerate(shape)]
    if all(n == m for n, m in zip(corner, x.shape, strict=True)):
        return x
    return lax.slice(x, [0] * x.ndim, corner)


def counted_from_end(index: Array, size: int) -> Array:
    """Indices of which negative ones count from the end, as others that do not."""
    if index.dtype.kind != "i":
        return index
    return lax.select(index < 0, index + (lax.full_like(index, 0) + as_constant(size, index.dtype)), index)


def summed_at(values: Array, places: Array, count: int, *, in_order: bool = False) -> Array:
    """The sums of those rows that have the same place, of ``count`` places. Rows with a place beyond them count nowhere.

    Args:
        in_order: no place comes before a smaller one.
    """
    rest = values.shape[1:]
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(1, values.ndim)), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    return lax.scatter_add(
        lax.full((count, *rest), 0, values.dtype), places[:, None], values, numbers, indices_are_sorted=in_order
    )


def first_where(flat: Any, wrong: Any) -> Any:
    """The first element of a vector where another is true; the first of all where it is true nowhere. For NumPy's and JAX's arrays."""
    if isinstance(flat, np.ndarray):
        return flat[wrong.argmax()]
    return lax.dynamic_slice(flat, (jnp.argmax(wrong),), (1,), allow_negative_indices=False)[0]


def outside(index: Any, size: Any, low: Any = 0) -> tuple[Any, Any]:
    """Whether an index lies outside of ``low`` to ``size``, and the first such, if there is one. For NumPy's and JAX's arrays."""
    if index.size == 0:
        return np.bool_(False), 0
    flat = index.reshape(-1)
    if isinstance(flat, np.ndarray) and flat.min() >= low and flat.max() < size:
        return np.bool_(False), flat[0]
    wrong = (flat < low) | (flat >= size)
    return wrong.any(), first_where(flat, wrong)
