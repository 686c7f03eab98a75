"""Compressed matrices: elements, or blocks of them, by rows (CSR, BSR) or by columns (CSC, BSC), made from the other layouts."""

from __future__ import annotations

import math

import numpy as np

from .. import ops
from .._core.devices import device
from .._core.dtypes import dtype, int32, int64
from .._core.layouts import layout as Layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .._core.sparse import LAYOUT_NAMES, Pattern, is_sparse
from .._core.tensor import Tensor, from_host
from ..ops.linalg.sparse_kernels import gathered, rows_of
from ._parts import assembled, coalesced, coo_index, elements_of, parts, places as places_of, shaped, values_of

__all__ = [
    "INDEX_NAMES",
    "_convert_indices_from_coo_to_csr",
    "_convert_indices_from_csr_to_coo",
    "as_coo",
    "compressed",
    "transposed",
]

# The indices of each layout: where the rows or columns begin, and the place of each element or block in its row or column.
INDEX_NAMES = {
    sparse_csr: ("crow_indices", "col_indices"),
    sparse_bsr: ("crow_indices", "col_indices"),
    sparse_csc: ("ccol_indices", "row_indices"),
    sparse_bsc: ("ccol_indices", "row_indices"),
}
_TURNED = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}


def as_coo(sparse: Tensor) -> Tensor:
    """The sparse tensor by coordinates, in the order in which its elements are stored."""
    content = parts(sparse)
    if content.pattern.layout is sparse_coo:
        return sparse
    pattern = Pattern(sparse_coo, (coo_index(content.pattern),), content.pattern.shape)
    in_order = content.coalesced and content.pattern.layout is sparse_csr
    return assembled(pattern, elements_of(sparse), in_order, "ToSparseBackward0")


def compressed(tensor: Tensor, to: Layout, block: tuple[int, int], dense_dim: int = 0) -> Tensor:
    """A matrix, dense or sparse, in a compressed layout; or a stack of them, or a matrix whose elements have dimensions.

    Args:
        block: the size of the blocks; (1, 1) for the layouts without.
        dense_dim: how many dimensions each element of a dense tensor has. What comes before the matrix is a stack.
    """
    name = f"To{LAYOUT_NAMES[to]}Backward0"
    if not is_sparse(tensor):
        return _of_dense(tensor, to, block, dense_dim, name)
    content = parts(tensor)
    own = content.pattern
    if own.layout is to and own.block == block:
        return tensor
    blocks = to in (sparse_bsr, sparse_bsc)
    coo = coalesced(as_coo(tensor)) if own.layout is sparse_coo else tensor
    own = parts(coo).pattern
    rows, columns = (each._array() for each in places_of(own))
    matrix = own.shape[len(own.batch) : len(own.batch) + 2]
    if own.blocked:  # of the same size, by rows instead of columns or the other way round
        pieces = [_ordered(*at, to, matrix, block) for at in _by_matrix(own, rows, columns)]
        order = _joined([order for _, order in pieces])
        pattern = _pattern(
            [at for at, _ in pieces], to, own.shape, own.batch, block, tensor.device, own.indices[0].dtype
        )
        flat = values_of(coo).reshape(len(order), *block, *own.dense_shape)
        return assembled(pattern, shaped(flat.index_select(0, _on(order, tensor)), pattern), True, name)
    if not blocks:
        pieces = [_ordered(*at, to, matrix, block, by_element=True) for at in _by_matrix(own, rows, columns)]
        order = _joined([np.argsort(place) for _, place in pieces])
        pattern = _pattern(
            [at for at, _ in pieces], to, own.shape, own.batch, block, tensor.device, own.indices[0].dtype
        )
        return assembled(pattern, shaped(elements_of(coo).index_select(0, _on(order, tensor)), pattern), True, name)
    places, place_of_each = _ordered(rows // block[0], columns // block[1], to, matrix, block, by_element=True)
    pattern = _pattern([places], to, own.shape, (), block, tensor.device, own.indices[0].dtype)
    flat = (place_of_each * block[0] + rows % block[0]) * block[1] + columns % block[1]
    size = (pattern.count * block[0] * block[1], *own.dense_shape)
    zeros = ops.zeros(size, dtype=tensor.dtype, device=tensor.device)
    return assembled(pattern, shaped(zeros.index_add(0, _on(flat, tensor), elements_of(coo)), pattern), True, name)


def _of_dense(dense: Tensor, to: Layout, block: tuple[int, int], dense_dim: int, name: str) -> Tensor:
    lead = dense.dim() - 2 - dense_dim
    shape, (height, width) = tuple(dense.shape), block
    batch, (m, n), inner = shape[:lead], shape[lead : lead + 2], shape[lead + 2 :]
    split = (math.prod(batch), m // height, height, n // width, width, math.prod(inner))
    nonzero = (dense._array().reshape(split) != 0).any((2, 4, 5))
    places = [np.nonzero(each) for each in nonzero]
    pieces = [_ordered(rows, columns, to, (m, n), block)[0] for rows, columns in places]
    if len({len(places) for _, places in pieces}) > 1:
        raise RuntimeError("Expect the same number of specified elements per batch.")
    pattern = _pattern(pieces, to, shape, batch, block, dense.device)
    return assembled(pattern, shaped(gathered(dense, coo_index(pattern), name), pattern), True, name)


def _ordered(
    rows: np.ndarray,
    columns: np.ndarray,
    to: Layout,
    shape: tuple[int, ...],
    block: tuple[int, int],
    by_element: bool = False,
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """The places of a layout in its order, as its two indices; and the order of the given places, or the place that each came to."""
    counts = shape[0] // block[0], shape[1] // block[1]
    by_rows = to in (sparse_csr, sparse_bsr)
    outer, inner, many, few = (rows, columns, *counts) if by_rows else (columns, rows, *counts[::-1])
    keys, first, place = np.unique(outer * max(few, 1) + inner, return_index=True, return_inverse=True)
    begins = np.zeros(many + 1, np.int64)
    np.cumsum(np.bincount(keys // max(few, 1), minlength=many), out=begins[1:])
    return (begins, (keys % max(few, 1)).astype(np.int64)), place.reshape(-1) if by_element else first


def _by_matrix(own: Pattern, rows: np.ndarray, columns: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The places of each matrix of a stack, each of which has as many."""
    size = math.prod(own.batch), own.count
    return list(zip(rows.reshape(size), columns.reshape(size), strict=True))


def _joined(orders: list[np.ndarray]) -> np.ndarray:
    """The order of the values of all matrices, given that of each."""
    return np.concatenate(
        [order + number * len(order) for number, order in enumerate(orders)] or [np.zeros(0, np.int64)]
    )


def _pattern(
    pieces: list[tuple[np.ndarray, np.ndarray]], to: Layout, shape: tuple[int, ...], batch: tuple[int, ...], block: tuple[int, int],
    device: device, kind: dtype = int64,
) -> Pattern:  # fmt: skip
    """The pattern of a stack of matrices, given the two indices of each."""
    rows, columns = (n // size for n, size in zip(shape[len(batch) :], block, strict=False))
    lines = (rows if to in (sparse_csr, sparse_bsr) else columns) + 1
    none = np.zeros((0, lines), np.int64), np.zeros((0, 0), np.int64)
    begins, inner = (np.stack(each) for each in zip(*pieces, strict=True)) if pieces else none
    indices = tuple(from_host(each.reshape(*batch, each.shape[1])).to(device, kind) for each in (begins, inner))
    return Pattern(to, indices, tuple(map(int, shape)), block)


def _on(index: np.ndarray, tensor: Tensor) -> Tensor:
    return from_host(np.ascontiguousarray(index, np.int64)).to(tensor.device)


def transposed(sparse: Tensor, name: str) -> Tensor:
    """The transpose of a compressed matrix: the same indices, read as those of columns instead of rows or the other way round."""
    content = parts(sparse)
    own, values = content.pattern, values_of(sparse)
    lead = len(own.batch)
    shape = (*own.shape[:lead], own.shape[lead + 1], own.shape[lead])
    turned = Pattern(_TURNED[own.layout], own.indices, shape, (own.block[1], own.block[0]))
    if own.blocked:
        values = values.transpose(lead + 1, lead + 2)  # pyright: ignore[reportAttributeAccessIssue]
    return assembled(turned, values, content.coalesced, name)


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Row pointers (CSR): where each of ``size`` rows begins among elements sorted by row, then the number of elements."""
    rows = ops.arange(size + 1, dtype=input.dtype, device=input.device)
    return ops.searchsorted(input, rows, out_int32=out_int32)


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """Rows and columns of the elements, shape (2, elements); with ``transpose`` columns and rows."""
    kind = int32 if out_int32 else int64
    indices = [rows_of(crow_indices, col_indices.shape[0]).to(kind), col_indices.to(kind)]
    return ops.stack(indices[::-1] if transpose else indices)
