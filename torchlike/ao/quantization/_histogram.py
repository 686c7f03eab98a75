"""Histograms of what an observer has seen, and the range in them that quantization rounds least.

All is computed by NumPy in float32 and in PyTorch's order: the search below compares sums that differ in their last bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
_STEP = 1e-5  # the share of all elements that the search may leave out at a time


class Range(NamedTuple):
    """A histogram and the values at which its first bin begins and its last one ends."""

    counts: Floats
    low: np.float32
    high: np.float32


def counted(values: Floats, bins: int, low: np.float32, high: np.float32) -> Floats:
    """How many values lie in each of ``bins`` equal intervals from ``low`` to ``high``."""
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low}, {high}] is not finite")
    if low == high:
        low, high = values.min(), values.max()
        if low == high:
            low, high = low - np.float32(1), high + np.float32(1)
    inside = values[(values >= low) & (values <= high)]
    place = ((inside - low) / (high - low) * np.float32(bins)).astype(np.int64)
    return np.bincount(np.minimum(place, bins - 1), minlength=bins).astype(np.float32)


def joined(seen: Range, values: Floats, upsampling: int) -> Range:
    """The histogram with further values in it. Where these lie outside it becomes wider, and its counts move to the new bins."""
    bins = len(seen.counts)
    low, high = np.minimum(seen.low, values.min()), np.maximum(seen.high, values.max())
    counts = counted(values, bins, low, high)
    if low == seen.low and high == seen.high:
        return Range(seen.counts + counts, low, high)
    if seen.low == seen.high:  # all that was seen is one value
        moved = counted(seen.low.reshape(1), bins, low, high) * seen.counts.sum(dtype=np.float32)
    else:
        moved = _moved(seen, upsampling, low, high)
    return Range(counts + moved, low, high)


def _moved(seen: Range, upsampling: int, low: np.float32, high: np.float32) -> Floats:
    """The counts of a wider histogram. Each bin is cut in ``upsampling`` parts, and a part goes where its middle lies."""
    bins = len(seen.counts)
    parts = np.repeat(seen.counts, upsampling) / np.float32(upsampling)
    width = np.float32((seen.high - seen.low) / np.float32(len(parts)))
    middles = _evenly_spaced(seen.low, seen.high, len(parts) + 1)[:-1] + np.float32(0.5) * width
    place = np.searchsorted(_evenly_spaced(low, high, bins + 1), middles, side="right") - 1
    counts = np.zeros(bins, np.float32)
    np.add.at(counts, np.clip(place, 0, bins - 1), parts)  # one after the other, and rounded each time
    return counts


def _evenly_spaced(low: np.float32, high: np.float32, count: int) -> Floats:
    """``torch.linspace``: counted from both ends, each value rounded once."""
    step = np.float64((high - low) / np.float32(count - 1))
    index = np.arange(count)
    from_low, from_high = np.float64(low) + step * index, np.float64(high) - step * (count - 1 - index)
    return np.where(index < count // 2, from_low, from_high).astype(np.float32)


def best_range(seen: Range, levels: int) -> tuple[np.float32, np.float32]:
    """The range that ``levels`` integers stand for with the least error.

    From both ends a small share of the elements is left out, then another, as long as the error of what is left becomes no larger.
    """
    bins = len(seen.counts)
    total = float(seen.counts.sum(dtype=np.float32))
    below = np.cumsum(seen.counts, dtype=np.float64).astype(np.float32)  # PyTorch adds in float64
    first, last, least = 0, bins - 1, np.inf
    alpha, beta = 0.0, 1.0
    while alpha < beta:
        next_alpha, next_beta = alpha + _STEP, beta - _STEP
        from_low, from_high = first, last
        while from_low < last and below[from_low] < np.float32(next_alpha * total):
            from_low += 1
        while from_high > first and below[from_high] > np.float32(next_beta * total):
            from_high -= 1
        next_first, next_last = first, last
        if from_low - first > last - from_high:
            next_first, alpha = from_low, next_alpha
        else:
            next_last, beta = from_high, next_beta
        if (next_first, next_last) == (first, last):
            continue
        error = _error(seen, next_first, next_last, levels)
        if error > least:
            break
        first, last, least = next_first, next_last, error
    width = (seen.high - seen.low) / np.float32(bins)
    return seen.low + width * np.float32(first), seen.low + width * np.float32(last + 1)


def _error(seen: Range, first: int, last: int, levels: int) -> float:
    """The sum of squares of what rounding changes, if the bins from ``first`` to ``last`` are rounded to ``levels`` values.

    A bin's elements are taken to be spread evenly over it.
    """
    bins = len(seen.counts)
    width = float(seen.high - seen.low) / bins
    step = width * (last - first + 1) / levels
    if step == 0.0:
        return 0.0
    begin = (np.arange(bins) - first).astype(np.float32) * np.float32(width)
    end = begin + np.float32(width)
    level_of_begin, level_of_end = (
        np.clip(np.floor(edge / np.float32(step)), 0, levels - 1).astype(np.float32) for edge in (begin, end)
    )
    density = seen.counts / np.float32(width)
    half = np.float32(step / 2)
    center = (level_of_begin + np.float32(0.5)) * np.float32(step)
    error = _integral((begin - center).astype(np.float32), np.full_like(begin, half), density)
    between = level_of_end - level_of_begin - np.float32(1)
    error = error + between * _integral(np.full_like(begin, -half), np.full_like(begin, half), density)
    center = level_of_end * np.float32(step) + half
    error = error + _integral(np.full_like(begin, -half), (end - center).astype(np.float32), density)
    return float(error.sum(dtype=np.float32))


def _integral(begin: Floats, end: Floats, density: Floats) -> Floats:
    """The integral of the square from ``begin`` to ``end``, times the density."""
    cubes = end * end * end - begin * begin * begin
    return (density * (cubes / np.float32(3))).astype(np.float32)
