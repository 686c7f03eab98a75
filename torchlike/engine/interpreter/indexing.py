"""Rules of gather, scatter and slices whose start is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax.lax import GatherScatterMode

from .fused import FLOAT, elements
from .rules import Compute, Parameters, Rule, ShapedDtype, Unsupported, rule, taped

_MANY = 4096


def _first(start: np.ndarray, length: int, size: int) -> int:
    # XLA moves a start that is out of range, so that the whole slice lies inside the array.
    return min(max(int(start), 0), length - size)


@rule("dynamic_slice")
def _dynamic_slice(params: Parameters, ins: Sequence[ShapedDtype], outs: object) -> Compute:
    shape, sizes = ins[0].shape, params["slice_sizes"]

    def compute(x: np.ndarray, *starts: np.ndarray) -> np.ndarray:
        begins = map(_first, starts, shape, sizes)
        return x[tuple([slice(b, b + n) for b, n in zip(begins, sizes, strict=False)])]

    return compute


@rule("dynamic_update_slice")
def _dynamic_update_slice(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    shape, sizes = ins[0].shape, ins[1].shape

    def compute(x: np.ndarray, update: np.ndarray, *starts: np.ndarray) -> np.ndarray:
        begins = map(_first, starts, shape, sizes)
        result = x.copy()
        result[tuple([slice(b, b + n) for b, n in zip(begins, sizes, strict=False)])] = update
        return result

    return compute


def _within(places: np.ndarray, limit: int) -> np.ndarray:
    """The places, moved to where they are 0 to the limit. Many are looked at before, which takes a third of the time."""
    if np.size(places) > _MANY and places.min() >= 0 and places.max() <= limit:
        return places
    return np.minimum(np.maximum(places, 0), limit)


class _Windows:
    """The positions of the windows of a gather or scatter, which have ``sizes`` and start at computed indices of an operand.

    The operand is transposed, so that the dimensions that windows cover whole come last (``whole``), and the others first
    (``partial``). The function ``places`` computes one index array for each of the latter, of shape [*batch, *window].
    """

    def __init__(
        self,
        shape: Sequence[int],
        sizes: Sequence[int],
        index_shape: Sequence[int],
        collapsed: Sequence[int],
        start_map: Sequence[int],
        batched: Sequence[int],
        index_batched: Sequence[int],
        mode: Any,
    ) -> None:
        self.batch = tuple(index_shape[:-1])
        self.mode = GatherScatterMode.from_any(mode)
        self.column = {d: n for n, d in enumerate(start_map)}
        self.batched = dict(zip(batched, index_batched, strict=True))
        rank = len(shape)
        self.window = [d for d in range(rank) if d not in collapsed and d not in self.batched]
        self.whole = [d for d in self.window if d not in self.column and sizes[d] == shape[d]]
        self.partial = [d for d in range(rank) if d not in self.whole]
        self.order = (*self.partial, *self.whole)
        self.moved = [d for d in self.window if d not in self.whole]  # a window covers only a part of these dimensions
        self.sizes, self.limits = sizes, [n - size for n, size in zip(shape, sizes, strict=True)]
        if any(limit < 0 for limit in self.limits) or not self.partial:
            raise Unsupported("windows larger than the array")

    def places(self, indices: np.ndarray, moves: bool = True) -> tuple[list[np.ndarray], np.ndarray | None]:
        """Returns index arrays for the partial dimensions, and a mask of the windows that lie inside the operand (None: all of them).

        Args:
            moves: windows that lie outside are moved inside. Else those of wrong indices lie anywhere, where all indices should be right.
        """
        inside = None
        arrays = []
        extra = (1,) * len(self.moved)
        for d in self.partial:
            if d in self.column:
                start = indices[..., self.column[d]]
                limit = self.limits[d]
                if self.mode == GatherScatterMode.FILL_OR_DROP:
                    fits = (start >= 0) & (start <= limit)
                    inside = fits if inside is None else inside & fits
                if start.dtype.kind == "u":
                    # Limited before the conversion, because large uint64 numbers would become negative.
                    start = np.minimum(start, limit).astype(np.int64)
                if moves or self.mode != GatherScatterMode.PROMISE_IN_BOUNDS:
                    start = _within(start, limit)
            elif d in self.batched:
                axis = self.batched[d]
                start = np.arange(self.batch[axis]).reshape([-1 if i == axis else 1 for i in range(len(self.batch))])
            else:
                start = np.zeros((1,) * len(self.batch), np.int64)
            start = np.reshape(start, (*np.shape(start), *extra))  # without a batch, NumPy returns scalars
            if d in self.moved and self.sizes[d] > 1:
                along = [1] * start.ndim
                along[len(self.batch) + self.moved.index(d)] = self.sizes[d]
                start = start + np.arange(self.sizes[d]).reshape(along)
            arrays.append(start)
        return arrays, inside


def _joined(arrays: Sequence[np.ndarray], shape: Sequence[int]) -> np.ndarray:
    """One index array in the place of several, for the dimensions of this shape taken as one. NumPy reads by it in a third of the time."""
    rows: Any = arrays[0]
    for places, size in zip(arrays[1:], shape[1:], strict=False):
        rows = np.asarray(rows, np.int64) * size + places
    return rows


@rule("gather")
def _gather(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    x, indices = ins
    windows = _Windows(
        x.shape, sizes, indices.shape, numbers.collapsed_slice_dims, numbers.start_index_map,
        numbers.operand_batching_dims, numbers.start_indices_batching_dims, params["mode"],
    )  # fmt: skip
    dtype, shape = outs[0].dtype, outs[0].shape
    fill = _fill_value(params.get("fill_value"), dtype)
    offset = numbers.offset_dims
    batch_dims = [d for d in range(len(shape)) if d not in offset]
    # Dimensions of the intermediate result: those of the batch, then ``moved``, then ``whole``.
    places = [0] * len(shape)
    for n, d in enumerate(batch_dims):
        places[d] = n
    for place, d in zip(offset, windows.window, strict=True):
        where = windows.moved.index(d) if d in windows.moved else len(windows.moved) + windows.whole.index(d)
        places[place] = len(batch_dims) + where
    middle = tuple(shape[d] for d in np.argsort(places)) if places else ()
    straight = places == list(range(len(places)))
    outer, single = len(windows.batch) + len(windows.moved), len(windows.partial) == 1
    along = windows.partial[0] if single else 0
    readable = single or windows.order == tuple(range(len(windows.order)))
    first = (*range(along, along + outer), *range(along), *range(along + outer, outer + len(windows.whole)))

    def gather(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
        in_order = readable and x.flags.c_contiguous
        arrays, inside = windows.places(indices, moves=not in_order)
        if in_order:  # wrong indices may lie anywhere: "clip" keeps them within the array
            rows = x if single else x.reshape(-1, *x.shape[len(arrays) :])
            picked = rows.take(_joined(arrays, x.shape), along, mode="clip").transpose(first)
        else:
            picked = x.transpose(windows.order)[tuple(arrays)]
        if picked.shape != middle:  # the size of the window comes from broadcasting
            picked = np.broadcast_to(picked, middle)
        if inside is not None and not inside.all():
            picked = np.where(
                np.reshape(inside, (*np.shape(inside), *(1,) * (picked.ndim - np.ndim(inside)))), picked, fill
            )
        return picked if straight else picked.transpose(places)

    # Rows of a table by numbers that are known to be right, or are moved to where they are.
    rows = single and not along and straight and not windows.moved and windows.mode != GatherScatterMode.FILL_OR_DROP
    return taped(gather, "rows") if rows and len(x.shape) == 1 + len(windows.whole) else gather


def _fill_value(value: object, dtype: np.dtype) -> np.ndarray:
    if value is not None:
        return np.asarray(value, dtype)
    if dtype.kind in "fcV":
        return np.asarray(np.nan, dtype)
    if dtype.kind == "b":
        return np.asarray(True)
    limits = np.iinfo(dtype)
    return np.asarray(limits.max if dtype.kind == "u" else limits.min, dtype)


_UPDATES = {
    "scatter": None,
    "scatter-add": np.add,
    "scatter-mul": np.multiply,
    "scatter-min": np.minimum,
    "scatter-max": np.maximum,
    "scatter-sub": np.subtract,
}


# The most elements for which a table of places is made. The table takes 8 bytes for each.
_MOST_PLACES = 2**22
# The shortest rows that are added by ``elements.c``.
_LEAST_WIDTH = 8


def _accumulate(
    function: Callable[..., object], target: np.ndarray, index: list[np.ndarray], updates: np.ndarray
) -> None:
    """Computes ``function.at(target, index, updates)`` for indices that are not negative.

    Rows of a contiguous target are added by ``elements.c``. Else it is viewed as one dimension, for which NumPy is several times as fast.
    The order of the updates stays the same.
    """
    if not target.flags.c_contiguous:
        function.at(target, tuple(index), updates)
        return
    rows = _joined(index, target.shape)
    width = math.prod(target.shape[len(index) :])
    rows = np.broadcast_to(rows, updates.shape[: updates.ndim - (target.ndim - len(index))])
    if elements is not None and function is np.add and target.dtype == updates.dtype == FLOAT and width >= _LEAST_WIDTH:
        numbers = np.ascontiguousarray(rows.reshape(-1), np.int64)
        if elements.add_rows(target.reshape(-1, width), numbers, np.ascontiguousarray(updates).reshape(-1, width)):
            return
    if updates.size > _MOST_PLACES:
        function.at(target, tuple(index), updates)
        return
    places = rows if width == 1 else rows.reshape(-1, 1) * width + np.arange(width)
    function.at(target.reshape(-1), places.reshape(-1), updates.reshape(-1))


def _scatter(name: str) -> Rule:
    function = _UPDATES[name]

    def build(params: Parameters, ins: Sequence[ShapedDtype], outs: object) -> Compute:
        numbers = params["dimension_numbers"]
        x, indices, updates = ins
        inserted, batched = numbers.inserted_window_dims, numbers.operand_batching_dims
        window = [d for d in range(len(x.shape)) if d not in inserted and d not in batched]
        sizes = [1] * len(x.shape)
        for place, d in zip(numbers.update_window_dims, window, strict=True):
            sizes[d] = updates.shape[place]
        windows = _Windows(
            x.shape, sizes, indices.shape, inserted, numbers.scatter_dims_to_operand_dims,
            batched, numbers.scatter_indices_batching_dims, params["mode"],
        )  # fmt: skip
        if 0 in updates.shape:
            return lambda x, indices, updates: x
        places = dict(zip(window, numbers.update_window_dims, strict=True))
        batch_dims = [d for d in range(len(updates.shape)) if d not in numbers.update_window_dims]
        order = (*batch_dims, *[places[d] for d in windows.moved], *[places[d] for d in windows.whole])
        unique = params["unique_indices"]

        def scatter(x: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
            result = x.copy()
            target = result.transpose(windows.order)
            arrays, inside = windows.places(indices)
            updates = updates.transpose(order)
            if inside is not None and not inside.all():
                shape = (*windows.batch, *[sizes[d] for d in windows.moved])
                arrays = [np.broadcast_to(a, shape)[inside] for a in arrays]
                updates = updates[inside]
            if function is not None and not unique:
                _accumulate(function, target, arrays, updates)
                return result
            index: Any = tuple(arrays)
            if len(arrays) > 1 and target.flags.c_contiguous:
                index, target = _joined(arrays, target.shape), target.reshape(-1, *target.shape[len(arrays) :])
            # Where no index occurs twice, a plain read and write does, which is many times as fast as ``ufunc.at``.
            target[index] = updates if function is None else function(target[index], updates)
            return result

        return scatter

    return build


for _name in _UPDATES:
    rule(_name)(_scatter(_name))
