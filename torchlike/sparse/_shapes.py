"""Transposes, joins and selects sparse tensors, by changing their indices and selecting among their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .._core.dtypes import int64
from .._core.layouts import sparse_coo
from .._core.sparse import Pattern, is_sparse, sparse_form, unsupported
from .._core.tensor import Tensor, from_host, wrap_dim
from ..numerics.windows import FULL, TAKE
from ._compressed import transposed
from ._conversion import stable
from ._parts import assembled, coalesced, index_array, is_coo, parts, pattern_of, values_of

__all__: list[str] = []


def _coordinates(name: str, sparse: Tensor) -> None:
    if not is_coo(sparse):
        raise unsupported(name, (sparse,))


def _permuted(sparse: Tensor, order: tuple[int, ...], name: str) -> Tensor:
    if not is_coo(sparse):
        if order == (0, 1):
            return sparse
        return transposed(sparse, name)
    sparse = stable(sparse)
    pattern = pattern_of(sparse)
    lead = pattern.sparse_dim
    if sorted(order[:lead]) != list(range(lead)):
        raise RuntimeError("transpose: a sparse and a dense dimension of a sparse tensor cannot change places")
    index = ops.stack([pattern.indices[0][dim] for dim in order[:lead]]) if lead else pattern.indices[0]
    values = values_of(sparse)
    if order[lead:] != tuple(range(lead, len(order))):
        values = values.permute(0, *(dim - lead + 1 for dim in order[lead:]))  # pyright: ignore[reportAttributeAccessIssue]
    new_pattern = Pattern(sparse_coo, (index,), tuple(pattern.shape[dim] for dim in order))
    in_order = order == tuple(range(len(order)))
    return assembled(new_pattern, values, in_order and parts(sparse).coalesced, name)


@sparse_form("t", blocks=True)
def _t(sparse: Tensor) -> Tensor:
    if sparse.dim() > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {sparse.dim()} dimensions"
        )
    return sparse if sparse.dim() < 2 else _permuted(sparse, (1, 0), "TBackward0")


@sparse_form("transpose", blocks=True, stacks=True)
def _transposed(sparse: Tensor, dim0: int, dim1: int) -> Tensor:
    order = list(range(sparse.dim()))
    a, b = wrap_dim(dim0, sparse.dim()), wrap_dim(dim1, sparse.dim())
    if not is_coo(sparse):
        return _with_two_exchanged(sparse, a, b)
    order[a], order[b] = order[b], order[a]
    return _permuted(sparse, tuple(order), "TransposeBackward0")


def _with_two_exchanged(sparse: Tensor, a: int, b: int) -> Tensor:
    """A compressed matrix, or a stack of them, with two dimensions in each other's place."""
    content = parts(sparse)
    own, lead = content.pattern, len(content.pattern.batch)
    if own.dense_shape:
        raise RuntimeError("transpose(): hybrid sparse compressed tensors with dense dimensions are not supported")
    if a == b:
        return sparse
    first, second = ("Batch" if dim < lead else "Sparse" for dim in (a, b))
    if first != second:
        raise RuntimeError(
            "transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got "
            f"{a}({first}) and {b}({second})"
        )
    if first == "Sparse":
        return transposed(sparse, "TransposeBackward0")
    shape = list(own.shape)
    shape[a], shape[b] = shape[b], shape[a]
    pattern = own._replace(indices=tuple(index.transpose(a, b) for index in own.indices), shape=tuple(shape))
    values: Any = values_of(sparse)
    return assembled(pattern, values.transpose(a, b), content.coalesced, "TransposeBackward0")


@sparse_form("permute")
def _reordered(sparse: Tensor, dims: Any) -> Tensor:
    _coordinates("permute", sparse)  # as in PyTorch, which has ``t`` and ``transpose`` for compressed matrices
    order = tuple(wrap_dim(dim, sparse.dim()) for dim in dims)
    if sorted(order) != list(range(sparse.dim())):
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {sparse.dim()} is not equal to len(dims) = {len(order)}"
        )
    return _permuted(sparse, order, "PermuteBackward0")


@sparse_form("unsqueeze")
def _with_dimension(sparse: Tensor, dim: int) -> Tensor:
    _coordinates("unsqueeze", sparse)
    dim = wrap_dim(dim, sparse.dim() + 1)
    sparse = stable(sparse)
    pattern = pattern_of(sparse)
    shape = (*pattern.shape[:dim], 1, *pattern.shape[dim:])
    if dim > pattern.sparse_dim:
        inner = values_of(sparse).unsqueeze(dim - pattern.sparse_dim + 1)  # pyright: ignore[reportAttributeAccessIssue]
        return assembled(
            Pattern(sparse_coo, pattern.indices, shape), inner, parts(sparse).coalesced, "UnsqueezeBackward0"
        )
    old = pattern.indices[0]
    index = ops.cat([old[:dim], ops.zeros((1, pattern.count), dtype=int64, device=sparse.device), old[dim:]])
    return assembled(Pattern(sparse_coo, (index,), shape), values_of(sparse), False, "UnsqueezeBackward0")


@sparse_form("squeeze")
def _without_dimension(sparse: Tensor, dim: Any = None) -> Tensor:
    _coordinates("squeeze", sparse)
    pattern = pattern_of(sparse)
    dims = range(sparse.dim()) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    removed = [d for d in (wrap_dim(number, sparse.dim()) for number in dims) if pattern.shape[d] == 1]
    if any(d >= pattern.sparse_dim for d in removed):
        raise NotImplementedError("torchlike does not support squeeze of a dense dimension of a sparse tensor")
    rows = [d for d in range(pattern.sparse_dim) if d not in removed]
    sparse = stable(sparse)
    index = pattern_of(sparse).indices[0].index_select(0, from_host(np.asarray(rows, np.int64)).to(sparse.device))
    shape = tuple(n for d, n in enumerate(pattern.shape) if d not in removed)
    return assembled(
        Pattern(sparse_coo, (index,), shape), values_of(sparse), parts(sparse).coalesced, "SqueezeBackward0"
    )


@sparse_form("cat")
def _cat_sparse(tensors: Any, dim: int = 0) -> Tensor:
    first = next(tensor for tensor in tensors if is_sparse(tensor))
    for position, tensor in enumerate(tensors):
        if not is_sparse(tensor):
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {position}.")
        _coordinates("cat", tensor)
    dim = wrap_dim(dim, first.dim())
    lead = pattern_of(first).sparse_dim
    tensors = [stable(tensor) for tensor in tensors]
    patterns = [pattern_of(tensor) for tensor in tensors]
    for position, pattern in enumerate(patterns):
        if pattern.sparse_dim != lead or any(
            a != b for d, (a, b) in enumerate(zip(pattern.shape, patterns[0].shape, strict=False)) if d != dim
        ):
            raise RuntimeError(
                "All tensors must have the same shape: "
                f"{list(patterns[0].shape)} (except in the concatenating dimension), but found shape: {list(pattern.shape)} at "
                f"position {position}"
            )
    shape = list(patterns[0].shape)
    shape[dim] = sum(pattern.shape[dim] for pattern in patterns)
    if dim >= lead:
        return _joined_beside(tensors, patterns, dim - lead + 1, tuple(shape))
    shifted, before = [], 0
    for pattern in patterns:
        shift = np.zeros((lead, 1), np.int64)
        shift[dim] = before
        shifted.append(pattern.indices[0] + from_host(shift).to(first.device))
        before += pattern.shape[dim]
    new_pattern = Pattern(sparse_coo, (ops.cat(shifted, 1),), tuple(shape))
    return assembled(new_pattern, ops.cat([values_of(tensor) for tensor in tensors]), False, "CatBackward0")


def _joined_beside(tensors: list[Tensor], patterns: list[Pattern], dim: int, shape: tuple[int, ...]) -> Tensor:
    """The tensors along a dimension of their values: each has zeros where the others have theirs."""
    values, before = [], 0
    for tensor, pattern in zip(tensors, patterns, strict=True):
        own = values_of(tensor)
        width = own.shape[dim]
        after = shape[pattern.sparse_dim + dim - 1] - before - width
        padding = [(*own.shape[:dim], n, *own.shape[dim + 1 :]) for n in (before, after)]
        edges = [ops.zeros(size, dtype=own.dtype, device=own.device) for size in padding]
        values.append(ops.cat([edges[0], own, edges[1]], dim))
        before += width
    index = ops.cat([pattern.indices[0] for pattern in patterns], 1)
    return assembled(Pattern(sparse_coo, (index,), shape), ops.cat(values), False, "CatBackward0")


@sparse_form("stack")
def _stacked(tensors: Any, dim: int = 0) -> Tensor:
    if not all(is_sparse(tensor) for tensor in tensors):
        raise RuntimeError("stack: sparse and dense tensors cannot be stacked together")
    dim = wrap_dim(dim, tensors[0].dim() + 1)
    return _cat_sparse([_with_dimension(tensor, dim) for tensor in tensors], dim)


@sparse_form("index_select")
def _selected(sparse: Tensor, dim: int, index: Tensor) -> Tensor:
    _coordinates("index_select", sparse)
    dim = wrap_dim(dim, sparse.dim())
    sparse = stable(sparse)
    content = parts(sparse)
    pattern = content.pattern
    numbers = np.atleast_1d(index._array())
    size = pattern.shape[dim]
    for number in numbers:
        if not -size <= number < size:
            raise IndexError(
                f"index_select(): index contains {number} that is out of range for tensor of size {list(pattern.shape)} at "
                f"dimension {dim}"
            )
    numbers = np.where(numbers < 0, numbers + size, numbers)
    shape = (*pattern.shape[:dim], len(numbers), *pattern.shape[dim + 1 :])
    if dim >= pattern.sparse_dim:
        inner = values_of(sparse).index_select(dim - pattern.sparse_dim + 1, from_host(numbers).to(sparse.device))
        return assembled(Pattern(sparse_coo, pattern.indices, shape), inner, content.coalesced, "IndexSelectBackward0")
    own = index_array(pattern)
    new, old = np.nonzero(numbers[:, None] == own[dim][None, :])
    return _select_elements(sparse, own, old, dim, new, shape, "IndexSelectBackward0")


def _select_elements(
    sparse: Tensor,
    own: np.ndarray,
    chosen: np.ndarray,
    dim: int,
    places: np.ndarray | None,
    shape: tuple[int, ...],
    name: str,
) -> Tensor:
    """Selects elements. ``places``: their new index along ``dim``; None removes that dimension."""
    index = own[:, chosen]
    index = np.delete(index, dim, 0) if places is None else index
    if places is not None:
        index[dim] = places
    device = sparse.device
    pattern = Pattern(sparse_coo, (from_host(np.ascontiguousarray(index, np.int64)).to(device),), shape)
    values = values_of(sparse).index_select(0, from_host(chosen.astype(np.int64)).to(device))
    return assembled(pattern, values, False, name)


def _at(sparse: Tensor, dim: int, number: int) -> Tensor:
    """The slice at one index of a dimension; a dense tensor where no sparse dimension is left."""
    sparse = stable(sparse)
    content = parts(sparse)
    pattern = content.pattern
    shape = (*pattern.shape[:dim], *pattern.shape[dim + 1 :])
    if dim >= pattern.sparse_dim:
        inner = values_of(sparse).select(dim - pattern.sparse_dim + 1, number)  # pyright: ignore[reportAttributeAccessIssue]
        return assembled(Pattern(sparse_coo, pattern.indices, shape), inner, content.coalesced, "SelectBackward0")
    own = index_array(pattern)
    element_places = np.flatnonzero(own[dim] == number)
    if pattern.sparse_dim == 1:
        places = from_host(element_places).to(sparse.device)
        return values_of(sparse).index_select(0, places).sum(0)  # pyright: ignore[reportAttributeAccessIssue]
    return _select_elements(sparse, own, element_places, dim, None, shape, "SelectBackward0")


def _narrow_sparse(sparse: Tensor, dim: int, start: int, length: int, step: int) -> Tensor:
    positions = from_host(np.arange(start, start + length * step, step, dtype=np.int64)).to(sparse.device)
    result = _selected(sparse, dim, positions)
    return coalesced(result) if parts(sparse).coalesced else result


@sparse_form("_slice")
def _window(sparse: Tensor, index: tuple[Any, ...], starts: Any) -> Tensor:
    """Applies a basic index, dimension by dimension."""
    if not is_coo(sparse):
        sparse = sparse.to_sparse()  # pyright: ignore[reportAttributeAccessIssue]
    begins = iter(int(start) for start in starts)
    dim, result = 0, sparse
    for entry in index:
        if entry is None:
            result = _with_dimension(result, dim) if is_sparse(result) else result.unsqueeze(dim)  # pyright: ignore[reportAttributeAccessIssue]
            dim += 1
        elif entry == FULL:
            dim += 1
        elif entry == TAKE:
            number = next(begins)
            result = _at(result, dim, number) if is_sparse(result) else result.select(dim, number)  # pyright: ignore[reportAttributeAccessIssue]
        else:
            length, step = entry
            result = _narrow_sparse(result, dim, next(begins), length, step)
            dim += 1
    return result


@sparse_form("unbind")
def _unbound(sparse: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    _coordinates("unbind", sparse)
    dim = wrap_dim(dim, sparse.dim())
    return tuple(_at(sparse, dim, number) for number in range(sparse.shape[dim]))
