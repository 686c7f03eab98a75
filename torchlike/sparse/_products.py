"""Products with sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .._core.layouts import sparse_coo, sparse_csr
from .._core.sparse import Pattern, has_blocks, is_sparse, sparse_form, unsupported
from .._core.tensor import Tensor, from_host
from ..ops.linalg.sparse_kernels import accumulated, product
from ._conversion import stable
from ._parts import (
    assembled,
    coalesced,
    elements_of,
    index_array,
    is_coo,
    parts,
    pattern_of,
    rows_and_columns,
    values_of,
)

__all__ = ["addmm", "dsmm", "hsmm", "hspmm", "mm", "sampled_addmm", "smm", "spmm", "sspaddmm"]


def _check(name: str, a: Tensor, b: Tensor, dimensions: int = 2) -> None:
    """Raises PyTorch's errors for what cannot be multiplied."""
    if a.dim() != 2 or b.dim() != dimensions:
        raise RuntimeError(
            f"{name}: Expected a matrix and {dimensions} dimensions, but got {a.dim()}-D and {b.dim()}-D tensors"
        )
    if a.shape[1] != b.shape[0] and dimensions == 2 and is_sparse(a) and not is_sparse(b):
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {a.shape[1]}, got {b.shape[0]}")
    if a.shape[1] != b.shape[0]:
        words = "mat1 and mat2 shapes cannot be multiplied" if dimensions == 2 else "size mismatch, got input"
        raise RuntimeError(
            f"{words} ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
            if dimensions == 2
            else f"{words} ({a.shape[0]}), mat ({a.shape[0]}x{a.shape[1]}), vec ({b.shape[0]})"
        )
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {a.dtype.scalar_name} != {b.dtype.scalar_name}"
        )


def _times_dense_and(
    input: Tensor, sparse: Tensor, dense: Tensor, beta: object, alpha: object, name: str, of_two: str
) -> Tensor:
    """``beta * input + alpha * (sparse @ dense)``, or with the two matrices the other way round."""
    if not is_sparse(sparse) or is_sparse(dense) or is_sparse(input) or beta == 0:
        return _added(input, _multiplied(sparse, dense, name, of_two), beta, alpha)
    _check("addmm", sparse, dense)
    sparse = stable(sparse)
    rows, columns = rows_and_columns(pattern_of(sparse))
    return accumulated(input, rows, columns, elements_of(sparse), dense, sparse.shape[0], beta, alpha, name)


def _times_dense(sparse: Tensor, dense: Tensor, name: str) -> Tensor:
    pattern = pattern_of(sparse)
    if pattern.sparse_dim != 2 or len(pattern.shape) != 2:
        raise RuntimeError("a sparse tensor that is multiplied must have two sparse dimensions and no others")
    sparse = stable(sparse)
    rows, columns = rows_and_columns(pattern_of(sparse))
    return product(rows, columns, elements_of(sparse), dense, pattern.shape[0], name)


def _dense_times(dense: Tensor, sparse: Tensor, name: str) -> Tensor:
    sparse = stable(sparse)
    rows, columns = rows_and_columns(pattern_of(sparse))
    return product(columns, rows, elements_of(sparse), dense.t(), sparse.shape[1], name).t()  # pyright: ignore[reportAttributeAccessIssue]


def _multiplied(a: Tensor, b: Tensor, name: str, of_two: str) -> Tensor:
    _check("mm", a, b)
    if is_sparse(a) and is_sparse(b):
        return _times_sparse(a, b, of_two)
    return _times_dense(a, b, name) if is_sparse(a) else _dense_times(a, b, name)


def _times_sparse(a: Tensor, b: Tensor, name: str) -> Tensor:
    """The product of two sparse matrices: each element of the one with those in its row of the other. Reads the indices."""
    if has_blocks(a) or has_blocks(b):
        raise unsupported("mm", (a, b))
    layout_of = a
    a, b = (coalesced(x.to_sparse()) for x in (a, b))  # pyright: ignore[reportAttributeAccessIssue]
    rows, inner = index_array(pattern_of(a))
    others, columns = index_array(pattern_of(b))
    shape = (a.shape[0], b.shape[1])
    begins, ends = np.searchsorted(others, inner, "left"), np.searchsorted(others, inner, "right")
    counts = ends - begins
    left = np.repeat(np.arange(len(inner)), counts)
    right = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(begins, counts)
    flat = rows[left] * shape[1] + columns[right]
    different, place = np.unique(flat, return_inverse=True)
    device = a.device
    left_places, right_places, into = (
        from_host(np.ascontiguousarray(x, np.int64)).to(device) for x in (left, right, place.reshape(-1))
    )
    terms = values_of(a).index_select(0, left_places) * values_of(b).index_select(0, right_places)
    sums = ops.zeros((len(different),), dtype=a.dtype, device=device).index_add(0, into, terms)
    index = np.stack(np.divmod(different, max(shape[1], 1))).astype(np.int64)
    result = assembled(Pattern(sparse_coo, (from_host(index).to(device),), shape), sums, True, name)
    return result if is_coo(layout_of) else result.to_sparse_csr()  # pyright: ignore[reportAttributeAccessIssue]


@sparse_form("mm", blocks=True)
def _mm(input: Tensor, mat2: Tensor) -> Tensor:
    return _multiplied(input, mat2, "MmBackward0", "SparseSparseMatmulBackward0")


@sparse_form("mv", blocks=True)
def _mv(input: Tensor, vec: Tensor) -> Tensor:
    _check("mv", input, vec, 1)
    return _times_dense(input, vec, "MvBackward0")


@sparse_form("addmm", blocks=True)
def _addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: object = 1, alpha: object = 1) -> Tensor:
    return _times_dense_and(input, mat1, mat2, beta, alpha, "AddmmBackward0", "AddmmBackward0")


@sparse_form("_linear", blocks=True)
def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    rows: Any = input if is_sparse(input) or input.dim() == 2 else input.reshape(-1, input.shape[-1])  # pyright: ignore[reportAttributeAccessIssue]
    result: Any = _mm(rows, weight.t())  # pyright: ignore[reportAttributeAccessIssue]
    if rows is not input:
        result = result.reshape((*input.shape[:-1], result.shape[-1]))
    return result if bias is None else result + bias


def _added(input: Tensor, result: Tensor, beta: object, alpha: object) -> Tensor:
    """``beta * input + alpha * result``; with a ``beta`` of 0 nothing of the input is seen, not even NaN."""
    result = result if alpha == 1 else result * alpha
    if beta == 0:
        return result
    return (input if beta == 1 else input * beta) + result


def _reduced(mat1: Tensor, mat2: Tensor, reduce: str) -> Tensor:
    """For each row of a CSR matrix the mean or an extreme, instead of the sum, of what its elements contribute to the product."""
    if mat1.layout is not sparse_csr or is_sparse(mat2) or reduce not in ("sum", "mean", "amax", "amin"):
        raise RuntimeError(
            "torch.sparse.mm with reduce needs a CSR matrix, a dense one, and one of sum, mean, amax, amin: got "
            f"{mat1.layout}, {mat2.layout}, {reduce!r}"  # pyright: ignore[reportAttributeAccessIssue]
        )
    _check("mm", mat1, mat2)
    rows, columns = rows_and_columns(pattern_of(mat1))
    terms = ops.index_select(mat2, 0, columns) * values_of(mat1).unsqueeze(1)  # pyright: ignore[reportAttributeAccessIssue]
    result = ops.zeros((mat1.shape[0], mat2.shape[1]), dtype=mat2.dtype, device=mat2.device)
    where = rows.unsqueeze(1).expand(terms.shape)  # pyright: ignore[reportAttributeAccessIssue]
    return ops.scatter_reduce(result, 0, where, terms, reduce, include_self=False)


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of two matrices, at least one of them sparse; sparse if both are. Gradients come to both.

    Args:
        mat1: shape (n, k).
        mat2: shape (k, m).
        reduce: for a CSR matrix and a dense one: "mean", "amax" or "amin" instead of the sum of a row's terms; 0 where there is none.

    >>> adjacency = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2))
    >>> torch.sparse.mm(adjacency, torch.tensor([[1.0], [10.0]]))
    tensor([[10.],
            [ 2.]])

    Raises:
        RuntimeError: shapes or dtypes that do not go together.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.sparse.mm.html
    """
    if not (is_sparse(mat1) or is_sparse(mat2)):
        return ops.mm(mat1, mat2)
    if reduce not in (None, "sum"):
        return _reduced(mat1, mat2, reduce)
    return _multiplied(mat1, mat2, "SparseAddmmBackward0", "SparseSparseMatmulBackward0")


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """``beta * mat + alpha * (mat1 @ mat2)`` with a sparse ``mat1``. Gradients come to all three.

    >>> torch.sparse.addmm(torch.ones(2, 2), torch.eye(2).to_sparse(), torch.ones(2, 2))
    tensor([[2., 2.],
            [2., 2.]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.sparse.addmm.html
    """
    if not (is_sparse(mat1) or is_sparse(mat2)):
        return ops.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)
    return _times_dense_and(mat, mat1, mat2, beta, alpha, "SparseAddmmBackward0", "SparseAddmmBackward0")


def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """An old name of ``torch.mm``, for a sparse first matrix."""
    return ops.mm(input, mat2)


def dsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """An old name of ``torch.mm``, for a sparse first matrix."""
    return ops.mm(input, mat2)


def hsmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """An old name of ``torch.hspmm``."""
    return hspmm(mat1, mat2)


def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix as a sparse matrix.

    >>> torch.smm(torch.eye(2).to_sparse(), torch.ones(2, 1)).to_dense()
    tensor([[1.],
            [1.]])
    """
    return mm(input, mat2).to_sparse()  # pyright: ignore[reportAttributeAccessIssue]


def hspmm(mat1: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a sparse and a dense matrix as a tensor with one sparse dimension, whose values are rows.

    Raises:
        NotImplementedError: ``out`` is given.
    """
    if out is not None:
        raise NotImplementedError("torchlike does not support hspmm with out=")
    row_numbers = np.unique(index_array(pattern_of(mat1))[0])
    rows = from_host(row_numbers).to(mat1.device)
    values = mm(mat1, mat2).index_select(0, rows)  # pyright: ignore[reportAttributeAccessIssue]
    return assembled(Pattern(sparse_coo, (rows.reshape(1, -1),), (mat1.shape[0], mat2.shape[1])), values, True)


def sspaddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` as a sparse matrix, with sparse ``input`` and ``mat1``.

    Raises:
        NotImplementedError: ``out`` is given.
    """
    if out is not None:
        raise NotImplementedError("torchlike does not support sspaddmm with out=")
    return _added(input, smm(mat1, mat2), beta, alpha)


def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)`` at the places of a sparse CSR matrix ``input``, and nowhere else.

    >>> torch.sparse.sampled_addmm(torch.eye(2).to_sparse_csr(), torch.ones(2, 3), torch.ones(3, 2)).values()
    tensor([4., 4.])

    Raises:
        RuntimeError: ``input`` is not of layout CSR. NotImplementedError: ``out`` is given.
    """
    if out is not None:
        raise NotImplementedError("torchlike does not support sampled_addmm with out=")
    if input.layout is not sparse_csr:
        raise RuntimeError("Expected self to be a sparse CSR tensor")
    content = parts(input)
    rows, columns = rows_and_columns(content.pattern)
    sums = (mat1.index_select(0, rows) * mat2.index_select(1, columns).t()).sum(1)  # pyright: ignore[reportAttributeAccessIssue]
    values = _added(values_of(input), sums, beta, alpha)
    return assembled(content.pattern, values, content.coalesced, "SparseSampledAddmmBackward0")
