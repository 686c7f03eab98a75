"""Makes sparse tensors from indices and values, and takes them apart. Every derivative of a sparse tensor passes through these two.

An operation on a sparse tensor is one on its values, which is an ordinary tensor: ``assembled(pattern, f(values_of(sparse)))``. So it
has derivatives of every order. The gradient of a sparse tensor stands where its elements do, whatever the gradient that arrives is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .. import ops
from .._core.dtypes import int64
from .._core.fields import stored_value
from .._core.layouts import sparse_bsr, sparse_coo, sparse_csr
from .._core.modes import carries, modes
from .._core.sparse import Pattern, SparseValue, is_sparse
from .._core.tensor import Tensor, alias, from_host, from_value
from ..autograd.function import Function
from ..dispatch.pullback import no_tangent
from ..ops.linalg.sparse_kernels import gathered, looked_up, rows_of

__all__ = [
    "added_up", "assembled", "at_pattern", "coalesced", "coo_index", "elements_of", "index_array", "is_coo", "keys", "keys_of", "parts",
    "pattern_of", "places", "rows_and_columns", "shaped", "values_of",
]  # fmt: skip


def parts(sparse: Tensor) -> SparseValue:
    """The content of a sparse tensor: its pattern and its values."""
    value: Any = stored_value(sparse)
    return value


def pattern_of(sparse: Tensor) -> Pattern:
    return parts(sparse).pattern


def is_coo(tensor: object) -> bool:
    """Whether this is a sparse tensor of coordinates."""
    return is_sparse(tensor) and pattern_of(tensor).layout is sparse_coo  # pyright: ignore[reportArgumentType]


def _plain(pattern: Pattern, values: Tensor, in_order: bool) -> Tensor:
    return from_value(SparseValue.create(pattern, alias(values), in_order))


class _Assembled(Function):
    """From values to the sparse tensor that they are the values of."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, pattern: Pattern, in_order: bool) -> Tensor:
        ctx.pattern = pattern
        return _plain(pattern, values, in_order)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None, None]:
        return at_pattern(grads[0], ctx.pattern), None, None


@cache
def _assembled_as(name: str) -> Any:
    return type("_Assembled", (_Assembled,), {"_node_name": name})


def assembled(
    pattern: Pattern, values: Tensor, in_order: bool, name: str = "SparseCooTensorWithDimsAndTensorsBackward0"
) -> Tensor:
    """The sparse tensor of these values at these indices.

    Args:
        in_order: whether no index comes twice, and they are in order.
        name: of the node in the graph.
    """
    if carries(values):
        raise no_tangent(
            "_sparse_coo_tensor_with_dims_and_tensors"
            if pattern.layout is sparse_coo
            else "aten::sparse_compressed_tensor"
        )
    if modes.grad_enabled and values._tracked:
        return _assembled_as(name).apply(values, pattern, in_order)
    return _plain(pattern, values, in_order)


class _Values(Function):
    """From a sparse tensor to its values."""

    _node_name = "ValuesBackward0"

    @staticmethod
    def forward(ctx: Any, sparse: Tensor) -> Tensor:
        content = parts(sparse)
        ctx.pattern, ctx.in_order = content.pattern, content.coalesced
        return alias(content.values)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Tensor:
        pattern, values = ctx.pattern, grads[0]
        if not ctx.in_order and pattern.layout is sparse_coo:
            # An index that comes twice has its gradient twice, and each is that of the whole element: they must not be added.
            return assembled(*_once_each(pattern, values, ops.index_copy), True)
        return assembled(pattern, values, ctx.in_order)


def values_of(sparse: Tensor) -> Tensor:
    """The values of a sparse tensor, through which gradients come back to it."""
    if modes.grad_enabled and sparse._tracked:
        return _Values.apply(sparse)
    return alias(parts(sparse).values)


class _Coalesced(Function):
    """From a sparse tensor to the same one without repeated indices: it is the same tensor, and so is the gradient."""

    _node_name = "CoalesceBackward0"

    @staticmethod
    def forward(ctx: object, sparse: Tensor) -> Tensor:
        content = parts(sparse)
        return _plain(*added_up(content.pattern, content.values), True)

    @staticmethod
    def backward(ctx: object, *grads: object) -> Any:
        return grads[0]


def coalesced(sparse: Tensor) -> Tensor:
    """The same tensor with each index once, in order: itself where that is so already."""
    return sparse if parts(sparse).coalesced else _Coalesced.apply(sparse)


def added_up(pattern: Pattern, values: Tensor) -> tuple[Pattern, Tensor]:
    """A pattern with each index once, in order, and the values added for each."""
    return _once_each(pattern, values, ops.index_add)


def _once_each(pattern: Pattern, values: Tensor, put: Callable[..., Tensor]) -> tuple[Pattern, Tensor]:
    """A pattern with each index once, in order, and for each what ``put`` makes of the values there: ``index_add``, ``index_copy``."""
    ordered, place = _without_repetition(pattern)
    zeros = ops.zeros((ordered.count, *values.shape[1:]), dtype=values.dtype, device=values.device)
    return ordered, put(zeros, 0, place, values)


def _without_repetition(pattern: Pattern) -> tuple[Pattern, Tensor]:
    """The pattern with each index once, in order, and for each element of the former one its place there. Reads the indices."""
    sizes = pattern.shape[: pattern.sparse_dim]
    flat = keys_of(index_array(pattern), sizes)
    different, place = np.unique(flat, return_inverse=True)
    index = np.stack(np.unravel_index(different, sizes)) if sizes else np.zeros((0, min(len(different), 1)), np.int64)
    device = pattern.indices[0].device
    indices = from_host(index.astype(np.int64)).to(device)
    return Pattern(pattern.layout, (indices,), pattern.shape), from_host(place.reshape(-1).astype(np.int64)).to(device)


def keys_of(index: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """The linear position of each index in the dense shape."""
    if not sizes:
        return np.zeros(index.shape[1], np.int64)
    if index.size and not (index.min() >= 0 and (index.max(axis=1) < np.asarray(sizes)).all()):
        dim = next(d for d, n in enumerate(sizes) if index[d].min() < 0 or index[d].max() >= n)
        if index[dim].min() < 0:
            raise RuntimeError(f"found negative index {index[dim].min()} for dim {dim}")
        bad = index[dim].max()
        raise RuntimeError(
            f"size is inconsistent with indices: for dim {dim}, size is {sizes[dim]} but found index {bad}"
        )
    return np.asarray(np.ravel_multi_index(tuple(index), sizes)) if index.size else np.zeros(0, np.int64)


def index_array(pattern: Pattern) -> np.ndarray:
    """The coordinates of the elements as a NumPy array."""
    return coo_index(pattern)._array()


def coo_index(pattern: Pattern) -> Tensor:
    """The coordinates of the elements: shape (sparse dimensions, elements)."""
    if pattern.layout is sparse_coo:
        return pattern.indices[0]
    at = rows_and_columns(pattern)
    if pattern.batch:  # the elements of one matrix after those of the other
        numbers = np.indices(pattern.batch).reshape(len(pattern.batch), -1)
        of_each = np.repeat(numbers, at[0].shape[0] // max(numbers.shape[1], 1), axis=1)
        at = [*from_host(np.ascontiguousarray(of_each, np.int64)).to(at[0].device), *at]
    return ops.stack(at)


def _lines(begins: Tensor, count: int) -> Tensor:
    """The row or column of each value, given where each begins; of a stack, of the values of all matrices."""
    if begins.dim() == 1:
        return rows_of(begins, count)
    each = [rows_of(one, count) for one in begins.reshape(math.prod(begins.shape[:-1]), begins.shape[-1])]
    return ops.cat(each) if each else ops.zeros(0, dtype=int64, device=begins.device)


def places(pattern: Pattern) -> list[Tensor]:
    """The row and the column of each value of a matrix; of each block, where the values are blocks."""
    first, *other_indices = pattern.indices
    if pattern.layout is sparse_coo:
        return [first[0], first[1]]
    outer, inner = _lines(first, pattern.count), other_indices[0].reshape(-1).to(int64)
    return [outer, inner] if pattern.layout in (sparse_csr, sparse_bsr) else [inner, outer]


def rows_and_columns(pattern: Pattern) -> list[Tensor]:
    """The two coordinates of the elements of a matrix."""
    at = places(pattern)
    if not pattern.blocked:
        return at
    whole = (at[0].shape[0], *pattern.block)
    within = [ops.arange(n, device=index.device) for n, index in zip(pattern.block, at, strict=True)]
    return [
        (index[:, None, None] * n + inside).expand(whole).reshape(-1)
        for index, n, inside in zip(at, pattern.block, (within[0][:, None], within[1]), strict=True)
    ]


def elements_of(sparse: Tensor) -> Tensor:
    """The values of a sparse tensor one by one, also where they are blocks, in the order of ``coo_index``."""
    values, pattern = values_of(sparse), pattern_of(sparse)
    if not (pattern.blocked or pattern.stacked):
        return values
    size = math.prod(pattern.batch) * pattern.count * math.prod(pattern.block)
    return values.reshape(size, *pattern.dense_shape)


def keys(pattern: Pattern) -> Tensor:
    """The linear position of each stored element in the sparse dimensions."""
    index = coo_index(pattern)
    total: Any = ops.zeros(index.shape[1], dtype=index.dtype, device=index.device)
    for row, size in zip(index.unbind(0), pattern.shape, strict=False):
        total = total * size + row
    return total


def at_pattern(tensor: Tensor, pattern: Pattern, name: str = "SparseMaskBackward0") -> Tensor:
    """The elements of a tensor, sparse or dense, that stand where the pattern has some."""
    if not is_sparse(tensor):
        return shaped(gathered(tensor, coo_index(pattern), name), pattern)
    own = pattern_of(tensor)
    if all(a is b or stored_value(a) is stored_value(b) for a, b in zip(own.indices, pattern.indices, strict=False)):
        if own.layout is pattern.layout and own.block == pattern.block:
            return values_of(tensor)
    if own.layout is not sparse_csr:  # whose elements are in order
        if own.layout is not sparse_coo:
            by_coordinates = Pattern(sparse_coo, (coo_index(own),), own.shape)
            tensor = assembled(by_coordinates, elements_of(tensor), False, "ToSparseBackward0")
        tensor = coalesced(tensor)
    return shaped(looked_up(keys(pattern_of(tensor)), elements_of(tensor), keys(pattern), name), pattern)


def shaped(elements: Tensor, pattern: Pattern) -> Tensor:
    """The elements as values of a pattern, whose values may be blocks."""
    if not (pattern.blocked or pattern.stacked):
        return elements
    block = pattern.block if pattern.blocked else ()
    return elements.reshape(*pattern.batch, pattern.count, *block, *pattern.dense_shape)
