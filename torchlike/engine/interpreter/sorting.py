"""Rules of sorting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from .rules import Compute, Parameters, ShapedDtype, require_native, rule


@rule("sort")
def _sort(params: Parameters, ins: Sequence[ShapedDtype], outs: object) -> Compute:
    axis, keys = params["dimension"], params["num_keys"]
    require_native(*ins[:keys])

    def sort(*arrays: np.ndarray) -> list[np.ndarray]:
        if len(arrays) == 1:
            return [np.sort(arrays[0], axis, kind="stable")]
        if keys == 1:
            order = np.argsort(arrays[0], axis, kind="stable")
        else:
            order = np.lexsort(arrays[:keys][::-1], axis)
        return [np.take_along_axis(a, order, axis) for a in arrays]

    return sort


def _in_order(rows: np.ndarray, descending: bool) -> np.ndarray:
    """The places of each row's elements in order, of equal ones the first one first. NaN counts as greater than every number."""
    if not descending:
        return np.argsort(rows, -1, kind="stable")
    # Reversed before and after, so that equal elements keep their order.
    return rows.shape[-1] - 1 - np.argsort(rows[..., ::-1], -1, kind="stable")[..., ::-1]


def _first_few(rows: np.ndarray, count: int, descending: bool) -> np.ndarray | None:
    """Which are the first so many of each row, in the order of the rows; None where NaN is the last of them."""
    place = rows.shape[1] - count if descending else count - 1
    last = np.partition(rows, place, 1)[:, place, None]
    if np.isnan(last).any():
        return None
    inside = ~(rows < last) if descending else rows <= last
    if np.count_nonzero(inside) > len(rows) * count:  # of those that are equal to the last, the first ones
        equal = rows == last
        before = inside & ~equal
        left = count - np.count_nonzero(before, axis=1, keepdims=True)
        inside = before | (equal & (np.cumsum(equal, 1) <= left))
    return np.flatnonzero(inside).reshape(len(rows), count)


# Where fewer than one in so many are asked for, they are picked out before they are put in order.
FEW = 4


def _first(x: np.ndarray, axis: int, count: int, descending: bool) -> list[np.ndarray]:
    """The first so many elements along a dimension, in order, and their places."""
    rows = np.moveaxis(x, axis, -1)
    *others, size = rows.shape
    rows = rows.reshape(prod(others), size)
    number = np.arange(len(rows))[:, None]
    few = _first_few(rows, count, descending) if 0 < FEW * count < size and len(rows) else None
    if few is None:
        which = _in_order(rows, descending)[:, :count] + number * size
    else:
        which = few.take(_in_order(rows.take(few), descending) + number * count)
    results = rows.take(which), which - number * size
    return [np.moveaxis(each.reshape(*others, count), -1, axis) for each in results]


@rule("torchlike_first")
def _first_in_order(params: Parameters, ins: Sequence[ShapedDtype], outs: object) -> Compute:
    require_native(*ins)
    return partial(_first, axis=params["dim"], count=params["count"], descending=params["descending"])


@rule("top_k")
def _top_k(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    require_native(*ins)
    axis, count, index_dtype = params.get("axis", -1), params["k"], outs[1].dtype

    def top(x: np.ndarray) -> list[np.ndarray]:
        values, places = _first(x, axis, count, descending=True)
        return [values, places.astype(index_dtype)]

    return top


@rule("torchlike_at")
def _at(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    require_native(*ins)
    axis, size = params["dim"], ins[0].shape[params["dim"]]

    def at(x: np.ndarray, place: np.ndarray) -> list[np.ndarray]:
        rows, shape = np.moveaxis(x, axis, -1).reshape(-1, size), place.shape
        wanted = place.reshape(-1, 1)  # one for each row, in the order of the rows, since the dimension has size one
        found = np.empty_like(rows, shape=wanted.shape)
        for number in np.unique(wanted):
            these = np.flatnonzero(wanted == number)
            found[these, 0] = np.partition(rows if len(these) == len(rows) else rows[these], number, 1)[:, number]
        equal, before = rows == found, np.count_nonzero(rows < found, axis=1, keepdims=True)
        nan = np.isnan(found[:, 0])
        if nan.any():  # they come last
            equal[nan] = np.isnan(rows[nan])
            before[nan] = size - np.count_nonzero(equal[nan], axis=1, keepdims=True)
        later = wanted - before  # of the equal ones
        which = (np.cumsum(equal, 1) > later if later.any() else equal).argmax(1)
        values = rows.take(which + np.arange(len(rows)) * size)
        return [values.reshape(shape), which.reshape(shape)]

    return at
