"""The geometry of views: the place of each element in the storage, computed from shape, strides and offset alone."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a freshly made tensor, in elements.

    >>> from torchlike._core.strided import contiguous_strides
    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def in_order(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether these are the strides of a contiguous layout. The stride of a dimension of one element does not matter."""
    expected = 1
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and stride != expected:
            return False
        if n != 1:
            expected *= n
    return True


def memory_order(shape: Sequence[int], operands: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The dimensions in the order in which they follow each other in memory, the slowest first, for tensors with these strides.

    It is the order that PyTorch gives the result of an operation element by element on the tensors. The first of them that tells decides;
    strides of 0 tell nothing.
    """
    order = list(reversed(range(len(shape))))

    def compare(a: int, b: int) -> int:
        for strides in operands:
            if strides[a] == 0 or strides[b] == 0:
                continue
            if strides[a] != strides[b]:
                return -1 if strides[a] < strides[b] else 1
            if shape[a] > shape[b]:
                return 1
        return 0

    for place in range(1, len(order)):
        at = place
        for before in reversed(range(place)):
            which = compare(order[before], order[at])
            if which > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif which < 0:
                break
    return tuple(reversed(order))


class Strided:
    """The layout of an array without its elements. View ops run on it as they run on arrays.

    Views of one kind share it, so nothing changes it. ``after``: the layouts of views of it by the step that leads to them; None: of none.
    """

    __slots__ = ("shape", "strides", "offset", "after", "_in_order", "_overlaps")

    def __init__(self, shape: Sequence[int], strides: Sequence[int] | None = None, offset: int = 0) -> None:
        self.shape = tuple(shape)
        self.strides = contiguous_strides(self.shape) if strides is None else tuple(strides)
        self.offset = offset
        self.after: dict[tuple[Any, ...], Strided] | None = None
        self._in_order: bool | None = None  # not known yet
        self._overlaps: bool | None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def contiguous(self) -> bool:
        return 0 in self.shape or self.in_order

    @property
    def in_order(self) -> bool:
        """Whether the strides are those of a contiguous layout. Unlike ``contiguous``, it can be false where there are no elements."""
        known = self._in_order
        if known is None:
            known = self._in_order = in_order(self.shape, self.strides)
        return known

    def transpose(self, *axes: Any) -> Strided:
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return Strided([self.shape[a] for a in order], [self.strides[a] for a in order], self.offset)

    def reshape(self, *shape: Any) -> Strided:
        """A view with another shape; ValueError where the strides do not allow one."""
        new = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
        if self.size == 0 or self.contiguous:
            return Strided(new, None, self.offset)
        # Neighbouring dimensions that lie in one run of memory form a chunk; a chunk may be cut up in any way.
        chunks: list[tuple[int, int]] = []  # (elements, stride), outermost first
        for n, stride in zip(self.shape, self.strides, strict=True):
            if n == 1:
                continue
            if chunks and chunks[-1][1] == n * stride:
                chunks[-1] = (chunks[-1][0] * n, stride)
            else:
                chunks.append((n, stride))
        strides: list[int] = []
        remaining, step = chunks.pop() if chunks else (1, 1)
        for n in reversed(new):
            if n == 1:
                strides.append(step)
                continue
            while remaining == 1 and chunks:
                remaining, step = chunks.pop()
            if remaining % n:
                raise ValueError("no view of this shape without copying")
            strides.append(step)
            step *= n
            remaining //= n
        if remaining != 1 or chunks:
            raise ValueError("no view of this shape without copying")
        return Strided(new, tuple(reversed(strides)), self.offset)

    def __getitem__(self, index: Any) -> Strided:
        index = index if isinstance(index, tuple) else (index,)
        count = sum(i is not None and i is not Ellipsis for i in index)
        if Ellipsis in [i for i in index if i is Ellipsis]:
            at = next(k for k, i in enumerate(index) if i is Ellipsis)
            index = (*index[:at], *[slice(None)] * (self.ndim - count), *index[at + 1 :])
        else:
            index = (*index, *[slice(None)] * (self.ndim - count))
        shape, strides, offset, dim = [], [], self.offset, 0
        for i in index:
            if i is None:
                shape.append(1)
                strides.append(1 if dim >= self.ndim else self.shape[dim] * self.strides[dim])
                continue
            n, stride = self.shape[dim], self.strides[dim]
            dim += 1
            if isinstance(i, slice):
                if i == slice(None):
                    shape.append(n)
                    strides.append(stride)
                    continue
                start, stop, step = i.indices(n)
                shape.append(len(range(start, stop, step)))
                strides.append(stride * step)
                offset += start * stride
            elif isinstance(i, tuple):  # (start, length, step)
                shape.append(i[1])
                strides.append(stride * i[2])
                offset += i[0] * stride
            else:
                offset += (i + n if i < 0 else i) * stride
        return Strided(shape, strides, offset)

    def broadcast_to(self, shape: Sequence[int]) -> Strided:
        lead = len(shape) - self.ndim
        strides = [
            stride if n == old else 0 for n, old, stride in zip(shape[lead:], self.shape, self.strides, strict=True)
        ]
        for dim in reversed(range(lead)):  # a new dimension of one element has the stride that unsqueeze gives it
            beside = shape[dim + 1] * strides[0] if strides else 1
            strides.insert(0, beside if shape[dim] == 1 else 0)
        return Strided(shape, strides, self.offset)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Strided:
        rows, cols = self.shape[axis1], self.shape[axis2]
        length = max(0, min(rows, cols - offset) if offset >= 0 else min(rows + offset, cols))
        start = offset * self.strides[axis2] if offset >= 0 else -offset * self.strides[axis1]
        others = [d for d in range(self.ndim) if d not in (axis1 % self.ndim, axis2 % self.ndim)]
        return Strided(
            [*(self.shape[d] for d in others), length],
            [*(self.strides[d] for d in others), self.strides[axis1] + self.strides[axis2]],
            self.offset + (start if length else 0),
        )

    def windows(self, axis: int, size: int, step: int) -> Strided:
        count = (self.shape[axis] - size) // step + 1
        shape, strides = list(self.shape), list(self.strides)
        shape[axis], strides[axis] = count, strides[axis] * step
        return Strided([*shape, size], [*strides, self.strides[axis]], self.offset)

    def windows_of(self, whole: Sequence[int]) -> tuple[list[int], list[int], list[int | None]] | None:
        """This layout as one window with a step in each dimension of a contiguous array of the shape ``whole``.

        Returns starts, steps, and which of the layout's dimensions runs along each of the array's (None: a single element);
        None where the layout is nothing of the kind.
        """
        units = contiguous_strides(whole)
        starts: list[int] = []
        remainder = self.offset
        for unit in units:
            starts.append(remainder // unit)
            remainder %= unit
        steps = [1] * len(units)
        order: list[int | None] = [None] * len(units)
        for dim, (n, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            if n == 1:
                continue
            along = next((k for k, unit in enumerate(units) if whole[k] > 1 and 0 < unit <= stride), None)
            if along is None or order[along] is not None or stride % units[along]:
                return None
            steps[along], order[along] = stride // units[along], dim
            if starts[along] + (n - 1) * steps[along] >= whole[along]:
                return None
        return starts, steps, order

    @property
    def dense(self) -> bool:
        """Whether the elements fill a piece of the memory, each in a place of its own."""
        expected = 1
        for stride, n in sorted((stride, n) for n, stride in zip(self.shape, self.strides, strict=True) if n > 1):
            if stride != expected:
                return False
            expected *= n
        return True

    @property
    def repeats(self) -> bool:
        """Whether elements of a dimension lie in one place, as after ``expand``."""
        return any(n > 1 and stride == 0 for n, stride in zip(self.shape, self.strides, strict=True)) and self.size > 0

    @property
    def overlaps(self) -> bool:
        """Whether two elements lie in one place, as after ``expand``, or as in windows that overlap."""
        known = self._overlaps
        if known is None:
            known = self._overlaps = self.repeats or self._meets_itself()
        return known

    def _meets_itself(self) -> bool:
        dims = sorted((abs(stride), n) for n, stride in zip(self.shape, self.strides, strict=True) if n > 1)
        reach = 0
        for stride, n in dims:
            if stride <= reach:
                return self.size > 0 and len(np.unique(self.positions())) != self.size
            reach += stride * (n - 1)
        return False

    def window(self, memory: np.ndarray) -> np.ndarray:
        """The elements in C-contiguous memory, as an array that shares it."""
        if self.size == 0:
            return np.empty(self.shape, memory.dtype)
        step = memory.dtype.itemsize
        return np.ndarray(self.shape, memory.dtype, memory, step * self.offset, [step * n for n in self.strides])

    def positions(self) -> np.ndarray:
        """The place of every element in the storage: an int64 array of this shape."""
        grid = np.full(self.shape, self.offset, np.int64)
        for dim, (n, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            grid += (np.arange(n) * stride).reshape([-1 if d == dim else 1 for d in range(self.ndim)])
        return grid


@functools.lru_cache(1024)
def whole(shape: tuple[int, ...]) -> Strided:
    """The layout of a whole storage that holds a tensor of this shape.

    >>> from torchlike._core.strided import whole
    >>> whole((2, 3)).strides, whole((2, 3)) is whole((2, 3))
    ((3, 1), True)
    """
    return Strided(shape)
