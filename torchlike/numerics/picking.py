"""Elements by index: one gather of XLA's, whose trace holds for any size.

``x[index]`` of JAX arrays is the same gather, but on its way there JAX turns sizes into numbers, so it would be traced again for each
combination of sizes, which takes ten times as long as it takes NumPy to run it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..engine.interpreter import as_constant


def picked(x: Array, indices: Sequence[Array | None], *, from_end: bool = False) -> Array:
    """``x[indices]``, where None stands for a whole dimension. All indices must be in bounds.

    Args:
        from_end: negative indices count from the end.
    """
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    given: list[Array] = [index for index in indices if index is not None]
    shape = lax.broadcast_shapes(*[index.shape for index in given])
    rank = len(shape)
    columns = []
    for dim, index in zip(dims, given, strict=True):
        if from_end and index.dtype.kind == "i":
            size = lax.full_like(index, 0) + as_constant(x.shape[dim], index.dtype)
            index = lax.select(index < 0, index + size, index)
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
    return lax.gather(x, starts, numbers, sizes, mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)


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
