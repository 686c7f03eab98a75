"""Sparse matrices made from diagonals."""

from __future__ import annotations

import numpy as np

from .. import ops
from .._core.annotations import IntOrInts, Layout
from .._core.dtypes import int64
from .._core.layouts import sparse_coo, sparse_csr
from .._core.sparse import Pattern
from .._core.tensor import Tensor, from_host
from ..ops.linalg.sparse_kernels import gathered
from ._construction import unsupported_layout
from ._parts import assembled

__all__ = ["spdiags"]


def spdiags(diagonals: Tensor, offsets: Tensor, shape: IntOrInts, layout: Layout | None = None) -> Tensor:
    """The sparse matrix with these diagonals: ``result[j - offsets[k], j] = diagonals[k, j]``.

    Args:
        diagonals: shape (diagonals, n), or (n) for one of them.
        offsets: shape (diagonals): 0 is the main diagonal, 1 the one above it, -1 the one below.
        shape: rows and columns.
        layout: ``torch.sparse_coo`` (the default) or ``torch.sparse_csr``.

    >>> torch.sparse.spdiags(torch.tensor([[1.0, 2.0]]), torch.tensor([1]), (2, 2)).to_dense()
    tensor([[0., 2.],
            [0., 0.]])

    Raises:
        RuntimeError, ValueError: shapes that do not go together. NotImplementedError: another layout.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.sparse.spdiags.html
    """
    rows_of = diagonals.reshape(1, -1) if diagonals.dim() == 1 else diagonals  # pyright: ignore[reportAttributeAccessIssue]
    places = offsets.reshape(-1)  # pyright: ignore[reportAttributeAccessIssue]
    if rows_of.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if len(shape) != 2:  # pyright: ignore[reportArgumentType]
        raise RuntimeError("Output shape must be 2d")
    if places.shape[0] != rows_of.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({rows_of.shape[0]}) does not match the number of offsets ({places.shape[0]})"
        )
    if places.dtype is not int64:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {places.dtype.scalar_name}")
    numbers = places._array()
    if len(np.unique(numbers)) != len(numbers):
        raise RuntimeError("Offset tensor contains duplicate values")
    if layout not in (None, sparse_coo, sparse_csr):
        raise unsupported_layout("spdiags", str(layout))
    height, width = (int(n) for n in shape)  # pyright: ignore[reportGeneralTypeIssues]
    columns = np.arange(min(width, rows_of.shape[1]))
    index, sources = [np.zeros((2, 0), np.int64)], [np.zeros((2, 0), np.int64)]
    for k, offset in enumerate(numbers):
        rows = columns - offset
        inside = (rows >= 0) & (rows < height)
        index.append(np.stack([rows[inside], columns[inside]]))
        sources.append(np.stack([np.full(inside.sum(), k), columns[inside]]))
    values = gathered(rows_of, from_host(np.concatenate(sources, 1).astype(np.int64)), "SpdiagsBackward0")
    pattern = Pattern(sparse_coo, (from_host(np.concatenate(index, 1).astype(np.int64)),), (height, width))
    result = assembled(pattern, ops.clone(values), False, "SpdiagsBackward0")
    return result.to_sparse_csr() if layout is sparse_csr else result  # pyright: ignore[reportAttributeAccessIssue]
