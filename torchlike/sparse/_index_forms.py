"""Converts a matrix's row indices between one index for each element and the start of each row."""

from __future__ import annotations

from .. import ops
from .._core.dtypes import int32, int64
from .._core.tensor import Tensor
from ..ops.linalg.sparse_kernels import rows_of

__all__ = ["_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo"]


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
