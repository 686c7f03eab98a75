"""Functions that change shapes and take parts: most are views."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..._core.layouts import contiguous_format
from ..._core.modes import undispatched
from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...dispatch.bindings import FUNCTIONS
from .table import expands, op

__all__ = ["reshape"]


def _can_view(x: Tensor, shape: Sequence[int]) -> bool:
    if x.is_contiguous():
        return True
    try:
        with undispatched(), no_grad():
            FUNCTIONS["view"](x, *shape)
    except RuntimeError:
        return False
    return True


def _without_unknown(count: int, shape: Sequence[int]) -> list[int]:
    """A shape of ``count`` elements in which -1 stands for a length that follows."""
    known_count = math.prod(length for length in shape if length != -1)
    return [count // max(known_count, 1) if length == -1 else length for length in shape]


def reshape(input: Tensor, sizes: Sequence[int]) -> Tensor:
    """A view where there is one, else a copy."""
    if _can_view(input, sizes):
        return op("view")(input, list(sizes))
    copied = op("clone")(input, memory_format=contiguous_format)
    return op("_unsafe_view")(copied, _without_unknown(input.numel(), sizes))


@expands("reshape")
def reshape_as_called(input: Tensor, *sizes: Any, shape: Any = None) -> Tensor:
    """``reshape`` with lengths one by one, as a sequence or by name."""
    if shape is None:
        shape = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    return reshape(input, shape)


@expands("reshape_as")
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """``reshape``."""
    return reshape(self, other.shape)


@expands("ravel")
def ravel(input: Tensor) -> Tensor:
    """``reshape`` to one dimension."""
    return reshape(input, [-1])


@expands("view_as")
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """``view``."""
    return op("view")(self, list(other.shape))


@expands("flatten")
def flatten(input: Tensor, start_dim: int, end_dim: int) -> Tensor:
    """``reshape`` of some dimensions to one."""
    rank = input.dim()
    start, end = start_dim % max(rank, 1), end_dim % max(rank, 1)
    if rank and start == end:
        return input
    shape = input.shape
    return reshape(input, [*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]])


@expands("unflatten")
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """``view``."""
    shape, dim = input.shape, dim % input.dim()
    return op("view")(input, [*shape[:dim], *_without_unknown(shape[dim], sizes), *shape[dim + 1 :]])


@expands("expand_as")
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """``expand``."""
    return op("expand")(self, list(other.shape))


@expands("broadcast_to")
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """``expand``."""
    return op("expand")(input, list(size))


@expands("swapaxes")
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """``transpose``."""
    return op("transpose", "int")(input, axis0, axis1)


@expands("swapdims")
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """``transpose``."""
    return op("transpose", "int")(input, dim0, dim1)


@expands("movedim", "moveaxis")
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """``permute``."""
    rank = input.dim()
    sources, targets = ([source], [destination]) if isinstance(source, int) else (source, destination)
    sources = [dim % rank for dim in sources]
    order = [dim for dim in range(rank) if dim not in sources]
    for target, dim in sorted(zip([dim % rank for dim in targets], sources, strict=True)):
        order.insert(target, dim)
    return op("permute")(input, order)


# ---- parts


@expands("chunk")
def chunk(input: Tensor, chunks: int, dim: int) -> Sequence[Tensor]:
    """``split``."""
    return op("split", "Tensor")(input, -(-input.shape[dim] // chunks), dim)


@expands("torch.split")
def split(tensor: Tensor, split_size_or_sections: Any, dim: int) -> Sequence[Tensor]:
    """``split`` into parts of one size, ``split_with_sizes`` of several."""
    if isinstance(split_size_or_sections, int):
        return op("split", "Tensor")(tensor, split_size_or_sections, dim)
    return op("split_with_sizes")(tensor, list(split_size_or_sections), dim)


@expands("Tensor.split")
def split_method(self: Tensor, split_size: Any, dim: int) -> Sequence[Tensor]:
    """``torch.split``."""
    return split(self, split_size, dim)


@expands("narrow")
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``slice``."""
    start = int(start)
    if start < 0:
        start += input.shape[dim]
    return op("slice", "Tensor")(input, dim, start, start + length)
