"""Compressed matrices: elements, or blocks of them, by rows (CSR, BSR) or by columns (CSC, BSC), made from the other layouts."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .._core.layouts import layout as Layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .._core.sparse import LAYOUT_NAMES, Pattern, is_sparse
from .._core.tensor import Tensor, from_host
from ..ops.linalg.sparse_kernels import gathered
from ._parts import assembled, coalesced, coo_index, elements_of, index_array, parts, places as places_of, values_of

__all__ = ["INDEX_NAMES", "as_coo", "compressed", "transposed"]

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


def compressed(tensor: Tensor, to: Layout, block: tuple[int, int]) -> Tensor:
    """A matrix, dense or sparse, in a compressed layout.

    Args:
        block: the size of the blocks; (1, 1) for the layouts without.
    """
    name = f"To{LAYOUT_NAMES[to]}Backward0"
    if not is_sparse(tensor):
        return _of_dense(tensor, to, block, name)
    content = parts(tensor)
    own = content.pattern
    if own.layout is to and own.block == block:
        return tensor
    if own.blocked:  # of the same size, by rows instead of columns or the other way round
        rows, columns = (each._array() for each in places_of(own))
        places, order = _ordered(rows, columns, to, own.shape, block)
        pattern = _pattern(places, to, own.shape, block, tensor.device)
        return assembled(pattern, values_of(tensor).index_select(0, _on(order, tensor)), True, name)
    coo = coalesced(as_coo(tensor)) if own.layout is sparse_coo else as_coo(tensor)
    rows, columns = index_array(parts(coo).pattern)
    places, place_of_each = _ordered(rows // block[0], columns // block[1], to, own.shape, block, by_element=True)
    pattern = _pattern(places, to, own.shape, block, tensor.device)
    values = values_of(coo)
    if to in (sparse_csr, sparse_csc):
        return assembled(pattern, values.index_select(0, _on(np.argsort(place_of_each), tensor)), True, name)
    flat = (place_of_each * block[0] + rows % block[0]) * block[1] + columns % block[1]
    zeros = ops.zeros((pattern.count * block[0] * block[1],), dtype=tensor.dtype, device=tensor.device)
    return assembled(pattern, zeros.index_add(0, _on(flat, tensor), values).reshape(-1, *block), True, name)


def _of_dense(dense: Tensor, to: Layout, block: tuple[int, int], name: str) -> Tensor:
    (m, n), (height, width) = dense.shape, block
    nonzero = dense._array().reshape(m // height, height, n // width, width) != 0
    rows, columns = np.nonzero(nonzero.any((1, 3)))
    places, _ = _ordered(rows, columns, to, (m, n), block)
    pattern = _pattern(places, to, (m, n), block, dense.device)
    values = gathered(dense, coo_index(pattern), name)
    return assembled(pattern, values.reshape(-1, *block) if pattern.blocked else values, True, name)


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


def _pattern(
    places: tuple[np.ndarray, np.ndarray], to: Layout, shape: tuple[int, ...], block: tuple[int, int], device: Any
) -> Pattern:
    begins, inner = (from_host(each).to(device) for each in places)
    return Pattern(to, (begins, inner), (int(shape[0]), int(shape[1])), block)


def _on(index: np.ndarray, tensor: Tensor) -> Tensor:
    return from_host(np.ascontiguousarray(index, np.int64)).to(tensor.device)


def transposed(sparse: Tensor, name: str) -> Tensor:
    """The transpose of a compressed matrix: the same indices, read as those of columns instead of rows or the other way round."""
    content = parts(sparse)
    own, values = content.pattern, values_of(sparse)
    turned = Pattern(_TURNED[own.layout], own.indices, own.shape[::-1], (own.block[1], own.block[0]))
    return assembled(turned, values.transpose(1, 2) if own.blocked else values, content.coalesced, name)  # pyright: ignore[reportAttributeAccessIssue]
