"""Sums, norms and softmax of sparse tensors. Elements that are not stored count as zero; softmax leaves them out."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .._core.annotations import Dtype, IntOrInts
from .._core.dtypes import INTEGER, int64
from .._core.layouts import sparse_coo, sparse_csr
from .._core.sparse import Pattern, is_sparse, is_stacked, sparse_form, unsupported
from .._core.tensor import Tensor, from_host, wrap_dim
from ..ops.linalg.sparse_kernels import softmax as softmax_of_groups
from ..ops.reduction.reduce import vector_norm
from ._conversion import stable
from ._parts import added_up, assembled, coalesced, index_array, is_coo, keys_of, parts, pattern_of, values_of

__all__ = ["log_softmax", "softmax", "sum"]


@sparse_form("sum", blocks=True, stacks=True)
def _sum(input: Tensor, dim: Any = None, keepdim: bool = False, dtype: Dtype | None = None) -> Tensor:
    values = values_of(stable(input))
    if not is_coo(input) and dim is not None:
        if is_stacked(input):
            raise unsupported("sum.dim_IntList", (input,))
        return _summed_compressed(input, dim, keepdim, dtype)
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return ops.sum(values, dtype=dtype)
    dims = {wrap_dim(d, input.dim()) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))}
    kind = int64 if dtype is None and input.dtype.category <= INTEGER else dtype  # as of dense tensors
    sparse = input if kind is None else input.to(kind)  # pyright: ignore[reportAttributeAccessIssue]
    result = _summed(stable(sparse), dims)
    for d in sorted(dims) if keepdim else ():
        result = result.unsqueeze(d)  # pyright: ignore[reportAttributeAccessIssue]
    return result


def _summed_compressed(input: Tensor, dim: Any, keepdim: bool, dtype: Dtype | None) -> Tensor:
    """The sums of a CSR matrix along its dimensions, which PyTorch keeps, as a CSR matrix."""
    if input.layout is not sparse_csr:  # pyright: ignore[reportAttributeAccessIssue]
        kind = str(input.layout).removeprefix("torch.sparse_").capitalize()  # pyright: ignore[reportAttributeAccessIssue]
        raise RuntimeError(
            "Currently the only compressed sparse format supported for sum.dim_IntList is CSR, but got layout "
            f"Sparse{kind}"
        )
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    dims = {wrap_dim(d, 2) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))} or {0, 1}
    by_place: Any = input.to_sparse()  # pyright: ignore[reportAttributeAccessIssue]
    kind = int64 if dtype is None and input.dtype.category <= INTEGER else dtype
    sums: Any = _summed(stable(by_place if kind is None else by_place.to(kind)), dims)
    for d in sorted(dims):
        sums = sums.unsqueeze(d)
    return sums.to_sparse_csr()


def _summed(sparse: Tensor, dims: set[int]) -> Tensor:
    """The sums along dimensions: dense where no sparse dimension is left, else sparse."""
    pattern = pattern_of(sparse)
    lead = pattern.sparse_dim
    values = values_of(sparse)
    inner = tuple(dim - lead + 1 for dim in dims if dim >= lead)
    if inner:
        values = values.sum(inner)  # pyright: ignore[reportAttributeAccessIssue]
    rows = [dim for dim in range(lead) if dim not in dims]
    if not rows:
        return values.sum(0)  # pyright: ignore[reportAttributeAccessIssue]
    index = pattern.indices[0].index_select(0, from_host(np.asarray(rows, np.int64)).to(sparse.device))
    shape = tuple(n for dim, n in enumerate(pattern.shape) if dim not in dims)
    all_rows = len(rows) == lead
    smaller = Pattern(sparse_coo, (index,), shape)
    if all_rows:
        return assembled(smaller, values, parts(sparse).coalesced, "SparseSumBackward0")
    return assembled(*added_up(smaller, values), True, "SparseSumBackward0")


def sum(input: Tensor, dim: IntOrInts | None = None, dtype: Dtype | None = None) -> Tensor:
    """The sum of a sparse tensor's elements, of all or along dimensions; sparse where a sparse dimension is left.

    Args:
        dim: the dimensions to sum along; None: all.
        dtype: the dtype of the result.

    >>> torch.sparse.sum(torch.eye(2).to_sparse(), 0)
    tensor(indices=tensor([[0, 1]]),
           values=tensor([1., 1.]),
           size=(2,), nnz=2, layout=torch.sparse_coo)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.sparse.sum.html
    """
    if not is_sparse(input):
        return ops.sum(input, dim, dtype=dtype)
    result = _sum(input, dim, False, dtype)
    # Unlike the method, this keeps the dtype of integers where a sparse dimension is left.
    return result.to(input.dtype) if dtype is None and is_sparse(result) else result  # pyright: ignore[reportAttributeAccessIssue]


@sparse_form("linalg_vector_norm")
def _norm(
    input: Tensor, ord: object = 2, dim: object = None, keepdim: bool = False, dtype: Dtype | None = None
) -> Tensor:
    if dim is not None and len(dim if isinstance(dim, (tuple, list)) else (dim,)) != input.dim():
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all dimensions of the input"
        )
    if keepdim:
        raise RuntimeError("norm_sparse currently does not support keepdim=True")
    sparse = coalesced(input) if is_coo(input) else input
    return vector_norm(values_of(sparse).reshape(-1), ord, None, False, dtype=dtype)


@sparse_form("any")
def _any(input: Tensor, dim: object = None, keepdim: bool = False) -> Tensor:
    if dim is not None:
        raise unsupported("any.dim", (input,))
    return ops.any(values_of(coalesced(input) if is_coo(input) else input))


def _softmax(name: str, input: Tensor, dim: int, dtype: Dtype | None, logarithm: bool) -> Tensor:
    if not is_coo(input):
        if is_sparse(input):
            raise unsupported(name, (input,))
        raise NotImplementedError(f"{name}: expected a sparse tensor of coordinates: use torch.softmax for a dense one")
    sparse = coalesced(input if dtype is None else input.to(dtype))  # pyright: ignore[reportAttributeAccessIssue]
    pattern, values = pattern_of(sparse), values_of(sparse)
    dim = wrap_dim(dim, input.dim())
    node = "SparseLogSoftmaxBackward0" if logarithm else "SparseSoftmaxBackward0"
    if dim >= pattern.sparse_dim:
        function = ops.log_softmax if logarithm else ops.softmax
        return assembled(pattern, function(values, dim - pattern.sparse_dim + 1), True, node)
    if not values.dtype.is_floating_point:
        raise RuntimeError(f"\"{'log_' * logarithm}softmax\" not implemented for '{values.dtype.scalar_name}'")
    index = np.delete(index_array(pattern), dim, 0)
    sizes = tuple(n for d, n in enumerate(pattern.shape[: pattern.sparse_dim]) if d != dim)
    different, group = np.unique(keys_of(index, sizes), return_inverse=True)
    groups = from_host(group.reshape(-1).astype(np.int64)).to(sparse.device)
    return assembled(pattern, softmax_of_groups(values, groups, len(different), logarithm, node), True, node)


def softmax(input: Tensor, dim: int, *, dtype: Dtype | None = None) -> Tensor:
    """``softmax`` among the elements of a sparse tensor that are written down; the others count as minus infinity.

    Args:
        dim: the dimension along which the results add up to one.
        dtype: the dtype to compute in.

    >>> torch.sparse.softmax(torch.ones(2, 2).to_sparse(), 1).to_dense()
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.sparse.softmax.html
    """
    return _softmax("_sparse_softmax", input, dim, dtype, False)


def log_softmax(input: Tensor, dim: int, *, dtype: Dtype | None = None) -> Tensor:
    """The logarithm of ``softmax``.

    >>> torch.sparse.log_softmax(torch.ones(1, 1).to_sparse(), 1).to_dense()
    tensor([[0.]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.sparse.log_softmax.html
    """
    return _softmax("_sparse_log_softmax", input, dim, dtype, True)
