"""Slices of arrays, read and put back: one window with a step in each dimension, its start known or computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from .._core.strided import Strided, contiguous_strides
from ..engine.interpreter import as_constant
from .derivatives import custom_jvp

FULL = ":"
TAKE = "i"
# A basic index after its numbers are taken out: for each entry None (a new dimension), FULL (a whole dimension), TAKE (one
# element, the dimension goes) or ``(length, step)``. The starts of TAKE and of windows follow in a sequence of their own.
Entry = str | tuple[int, int] | None


def read_slices(input: Array | Strided, index: tuple[Entry, ...], starts: tuple[int, ...]) -> Any:
    """What a basic index selects from an array or from a layout; ``starts`` are ints, or a 1-d integer array."""
    if isinstance(input, Strided):
        at = iter(starts)
        return input[tuple(_python_index(entry, at) for entry in index)]
    sizes, steps, squeezed, window_starts, new = [], [], [], [], []
    where = iter(range(len(starts)))
    dim, result = 0, 0
    taking = sum(entry is not None for entry in index)
    for entry in (*index, *[FULL] * (input.ndim - taking)):
        if entry is None:
            new.append(result)
            result += 1
            continue
        if entry == FULL:
            sizes.append(input.shape[dim])
            steps.append(1)
            window_starts.append(0)
        else:
            length, step = (1, 1) if entry == TAKE else entry
            sizes.append(length)
            steps.append(step)
            window_starts.append(starts[next(where)])
        if entry == TAKE:
            squeezed.append(dim)
        else:
            result += 1
        dim += 1
    window = _window(input, window_starts, sizes, steps)
    if squeezed:
        window = lax.squeeze(window, squeezed)
    return lax.expand_dims(window, new) if new else window


def _python_index(entry: Entry, starts: Any) -> Any:
    if entry is None or entry == FULL:
        return None if entry is None else slice(None)
    start = next(starts)
    start = int(start) if isinstance(start, (Array, np.ndarray, np.generic)) else start
    if entry == TAKE:
        return start
    assert isinstance(entry, tuple)
    length, step = entry
    return Window(start, length, step)


class Window(NamedTuple):
    """A slice whose length is given: an empty one still has a start, which strides and offset tell."""

    start: int
    length: int
    step: int


def _window(input: Array, starts: Sequence[int], sizes: list[int], steps: list[int]) -> Array:
    if tuple(sizes) == input.shape and max(steps, default=1) == 1:
        return input
    if not any(isinstance(start, Array) for start in starts):
        starts = [min(start, n) for start, n in zip(starts, input.shape, strict=True)]
        ends = [a + max((n - 1) * s + 1, 0) if n else a for a, n, s in zip(starts, sizes, steps, strict=True)]
        return lax.slice(input, starts, ends, steps)
    spans = [(n - 1) * s + 1 if n else 0 for n, s in zip(sizes, steps, strict=True)]
    window = lax.dynamic_slice(input, [jnp.asarray(start, np.int64) for start in starts], spans)
    if max(steps, default=1) > 1:
        window = lax.slice(window, [0] * window.ndim, window.shape, steps)
    return window


def put_slices(whole: Array, starts: Sequence[int], steps: list[int], new: Array) -> Array:
    """``whole`` with ``new`` (of the same rank) in the window that begins at ``starts``.

    A window without steps is one dynamic_update_slice. With steps, a mask keeps the elements between. Not by ``whole.at[...].set``: that
    may become a scatter, which XLA computes element by element on the CPU.
    """
    if new.size == 0:
        return whole
    computed = [isinstance(start, Array) for start in starts]  # others are not negative
    at = [start if isinstance(start, Array) else as_constant(start, np.int64) for start in starts]
    if max(steps, default=1) == 1:
        return lax.dynamic_update_slice(whole, new, at, allow_negative_indices=computed)
    spans = [(n - 1) * s + 1 for n, s in zip(new.shape, steps, strict=True)]
    spaced = lax.pad(new, jnp.zeros((), new.dtype), [(0, 0, s - 1) for s in steps])
    on_grid = np.ones((), np.bool_)
    for dim, (span, step) in enumerate(zip(spans, steps, strict=True)):
        line = np.arange(span) % step == 0
        on_grid = on_grid & line.reshape([-1 if d == dim else 1 for d in range(new.ndim)])
    window = jnp.where(on_grid, spaced, lax.dynamic_slice(whole, at, spans, allow_negative_indices=computed))
    return lax.dynamic_update_slice(whole, window, at, allow_negative_indices=computed)


def put_by_layout(whole: Array, layout: Strided, new: Array) -> Array | None:
    """``whole`` with ``new`` at the places that ``layout`` names, where that needs no scatter; else None."""
    if layout.size == 0:
        return whole
    if layout.size == whole.size:
        order = sorted(range(layout.ndim), key=lambda d: (-layout.strides[d], layout.shape[d] == 1))
        real = [d for d in order if layout.shape[d] != 1]
        if tuple(layout.strides[d] for d in real) == contiguous_strides([layout.shape[d] for d in real]):
            return new.transpose(order).reshape(whole.shape)
    windows = layout.windows_of(whole.shape)
    if windows is not None:
        starts, steps, order = windows
        sizes = [1 if d is None else layout.shape[d] for d in order]
        real = [d for d in order if d is not None]
        others = [d for d in range(layout.ndim) if d not in real]  # of size 1
        return put_slices(whole, starts, steps, new.transpose([*real, *others]).reshape(sizes))
    if layout.contiguous:
        return put_slices(whole.reshape(-1), [layout.offset], [1], new.reshape(-1)).reshape(whole.shape)
    return None


def put_at_layout(whole: Array, layout: Strided, new: Array, shift: Array | None = None) -> Array:
    """``whole`` with ``new`` at the places that ``layout`` names. Where several elements have one place, the last of them counts.

    Args:
        shift: how much further on they lie, if that is computed.
    """
    result = None if shift is not None else put_by_layout(whole, layout, new)
    if result is not None:
        return result
    places = layout.positions().reshape(-1)
    if layout.overlaps:
        return _put_overlapping(places, shift)(whole, new)
    where = places if shift is None else places + shift
    return whole.reshape(-1).at[where].set(new.reshape(-1), unique_indices=True).reshape(whole.shape)


def _put_overlapping(places: np.ndarray, shift: Array | None) -> Callable[[Array, Array], Array]:
    """``(whole, new) -> whole`` for elements some of which lie at one place.

    As in PyTorch, each of these gets the gradient of the place, not only the one that remains there.
    """
    own, number_of_last = np.unique(places[::-1], return_index=True)
    number_of_last = places.size - 1 - number_of_last

    def at(numbers: np.ndarray) -> Any:
        return numbers if shift is None else numbers + shift

    @custom_jvp
    def put(whole: Array, new: Array) -> Array:
        remaining = new.reshape(-1).at[number_of_last].get(mode="promise_in_bounds")
        return whole.reshape(-1).at[at(own)].set(remaining, unique_indices=True).reshape(whole.shape)

    @put.defjvp
    def _(arrays: tuple[Array, Array], changes: tuple[Array, Array]) -> tuple[Array, Array]:
        kept = changes[0].reshape(-1).at[at(own)].set(0, unique_indices=True)
        return put(*arrays), kept.at[at(places)].add(changes[1].reshape(-1)).reshape(changes[0].shape)

    return put
