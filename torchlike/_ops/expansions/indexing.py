"""Indexing as views: ``x[0, :2]`` is ``select`` and ``slice``, and ``index`` where tensors or lists are among the indices."""

from __future__ import annotations

import itertools
import sys
from typing import Any

from ..._core import dtypes
from ..._core.modes import undispatched
from ..._core.tensor import Tensor
from ...dispatch.bindings import FUNCTIONS
from ...ops.indexing.index import items_of
from .conversion import item
from .table import expands, op

__all__ = ["getitem", "setitem"]


@expands("__getitem__")
def getitem(self: Tensor, index: object) -> Any:
    """``select``, ``slice`` and ``unsqueeze``, and ``index``."""
    part, tensors = _part(self, items_of(index))
    if tensors:
        return op("index", "Tensor")(part, tensors)
    return op("alias")(part) if part is self else part


@expands("__setitem__")
def setitem(self: Tensor, index: object, value: Any) -> None:
    """``fill_`` or ``copy_`` of the part that the index selects, or ``index_put_``."""
    if not isinstance(value, Tensor):
        device = self.device  # of an object without memory: the one that its class says
        with undispatched():
            value = FUNCTIONS["full"]((), value, dtype=self.dtype, device=device)
        value = op("lift_fresh")(value)
    items = items_of(index)
    if len(items) == 1 and isinstance(items[0], bool):
        if not items[0]:
            return
        part, tensors = op("unsqueeze")(self, 0), []
    else:
        part, tensors = _part(self, items)
    if tensors:
        op("index_put_")(part, tensors, value)
    elif not value.dim() and part.dim():
        op("fill_", "Tensor")(part, value)
    else:
        op("copy_")(part, _fitted(value, tuple(part.shape)))


def _fitted(value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A value in the shape of the part: without the dimensions of length 1 in front, and expanded."""
    if tuple(value.shape) == shape:
        return value
    lengths = list(itertools.dropwhile(lambda length: length == 1, value.shape))
    value = op("view")(value, lengths)
    return value if tuple(lengths) == shape else op("expand")(value, list(shape))


def _part(input: Tensor, items: list[Any]) -> tuple[Tensor, list[Any]]:
    """The view that the numbers and slices of an index select, and its tensors by dimension, None where there is none."""
    consumed = sum(_dimensions_of(entry) for entry in items)
    part, dim = input, 0
    tensors: list[Any] = []
    for entry in items:
        if isinstance(entry, Tensor) and not entry.dim() and not entry.dtype.is_floating_point:
            entry = bool(item(entry)) if entry.dtype is dtypes.bool_ else int(item(entry))
        if entry is Ellipsis:
            dim += input.dim() - consumed
        elif entry is None:
            part, dim = op("unsqueeze")(part, dim), dim + 1
        elif isinstance(entry, slice):
            length = part.shape[dim]
            start, stop, step = entry.indices(length)
            if entry == slice(None):
                if len(items) == 1:  # PyTorch leaves such a slice out where there are other entries
                    part = op("slice", "Tensor")(part, dim, 0, sys.maxsize)
            elif (start, stop, step) != (0, length, 1):
                part = op("slice", "Tensor")(part, dim, start, stop, step)
            dim += 1
        elif isinstance(entry, int) and not isinstance(entry, bool):
            part = op("select", "int")(part, dim, entry)
        else:
            positions: Any = entry
            if isinstance(entry, bool):
                part = op("unsqueeze")(part, dim)
                positions = FUNCTIONS["zeros"](int(entry), dtype=dtypes.int64)
            tensors += [None] * (dim - len(tensors)) + [positions]
            dim += positions.dim() if positions.dtype in _MASKS else 1
    return part, tensors


_MASKS = (dtypes.bool_, dtypes.uint8)


def _dimensions_of(entry: object) -> int:
    """How many dimensions an entry of an index stands for."""
    if entry is None or entry is Ellipsis or isinstance(entry, bool):
        return 0
    return entry.dim() if isinstance(entry, Tensor) and entry.dtype in _MASKS else 1
