"""Converts between dense and sparse tensors, copies sparse tensors, and gives access to their indices and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .._core.annotations import Dtype, IntOrInts, Layout
from .._core.fields import leaf_alias
from .._core.layouts import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from .._core.sparse import LAYOUT_NAMES, Pattern, SparseValue, is_sparse, sparse_form, unsupported
from .._core.tensor import Tensor, alias, from_host
from ..autograd.function import Function, FunctionCtx
from ..dispatch.options import is_integer
from ..dispatch.register import Form, composite
from ..dispatch.type_names import type_name
from ..engine.aval import Placement
from ..ops.creation.cast import move, to_dtype
from ..ops.linalg.sparse_kernels import gathered, scattered
from ._compressed import INDEX_NAMES, as_coo, compressed
from ._parts import assembled, at_pattern, coalesced, coo_index, elements_of, is_coo, parts, pattern_of, values_of

__all__ = ["on_values", "stable"]

_COO = "sparse coordinate tensor layout"
_WORDS = {
    "indices": _COO,
    "crow_indices": "sparse row compressed tensor layout",
    "ccol_indices": "sparse column compressed tensor layout",
}


def _needs(name: str, tensor: Tensor, index: str) -> SparseValue:
    """The content of a sparse tensor; raises PyTorch's error for another layout. ``index``: what the layouts have that are meant."""
    layout = tensor.layout  # pyright: ignore[reportAttributeAccessIssue]
    if layout is strided or index not in INDEX_NAMES.get(layout, ("indices",)):
        raise RuntimeError(f"{name} expected {_WORDS[index]} but got {LAYOUT_NAMES[layout]}")
    return parts(tensor)


def stable(sparse: Tensor) -> Tensor:
    """A sparse tensor whose gradient can be given by element: coalesced, where a gradient is recorded."""
    return coalesced(sparse) if sparse._tracked and is_coo(sparse) else sparse


def on_values(sparse: Tensor, function: Any, name: str) -> Tensor:
    """The sparse tensor with a function applied to its values. The function keeps zeros."""
    sparse = stable(sparse)
    content = parts(sparse)
    return assembled(content.pattern, function(values_of(sparse)), content.coalesced, name)


# ---- what it is made of


@composite(forms=Form.METHOD)
def is_coalesced(self: Tensor) -> bool:
    """Whether each index of a sparse tensor comes once, and they are in order."""
    return _needs("is_coalesced", self, "indices").coalesced


@composite(forms=Form.METHOD)
def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    """Says that each index comes once and they are in order, which is not looked at; returns the tensor itself."""
    _needs("_coalesced_", self, "indices").coalesced = bool(coalesced)
    return self


@composite(forms=Form.METHOD)
def coalesce(self: Tensor) -> Tensor:
    """The same sparse tensor with each index once, in order; values of one place are added.

    >>> torch.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (2,)).coalesce()
    tensor(indices=tensor([[0, 1]]),
           values=tensor([2., 4.]),
           size=(2,), nnz=2, layout=torch.sparse_coo)
    """
    _needs("coalesce", self, "indices")
    return coalesced(self)


def _in_order(name: str, sparse: Tensor) -> SparseValue:
    content = _needs(name, sparse, "indices")
    if not content.coalesced:
        raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")
    return content


@composite(forms=Form.METHOD)
def indices(self: Tensor) -> Tensor:
    """The indices of a coalesced sparse tensor: shape (sparse dimensions, elements)."""
    return alias(_in_order("indices", self).pattern.indices[0])


@composite(forms=Form.METHOD)
def values(self: Tensor) -> Tensor:
    """The values of a sparse tensor, a coalesced one if it is of coordinates; gradients come back through them."""
    if not is_sparse(self):
        raise RuntimeError("values expected sparse tensor layout but got Strided")
    if is_coo(self):
        _in_order("values", self)
    return values_of(self)


def _coordinates(name: str, tensor: Tensor) -> SparseValue:
    if is_coo(tensor):
        return parts(tensor)
    if is_sparse(tensor):
        raise unsupported(name, (tensor,))
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{tensor.device.type.upper()}' backend: the tensor is dense"
    )


@composite(forms=Form.METHOD)
def _indices(self: Tensor) -> Tensor:
    """The indices of a sparse tensor as they are, coalesced or not."""
    return alias(_coordinates("_indices", self).pattern.indices[0])


@composite(forms=Form.METHOD)
def _values(self: Tensor) -> Tensor:
    """The values of a sparse tensor as they are, coalesced or not, without history. Writing to them is seen in the tensor."""
    return alias(_coordinates("_values", self).values)


@composite(forms=Form.METHOD)
def _nnz(self: Tensor) -> int:
    """The number of stored elements of a sparse tensor; repeated indices count each time."""
    if not is_sparse(self):
        _coordinates("_nnz", self)
    return pattern_of(self).count


@composite(forms=Form.METHOD)
def crow_indices(self: Tensor) -> Tensor:
    """Where each row of a CSR or BSR matrix begins, then the number of elements or blocks."""
    return alias(_needs("crow_indices", self, "crow_indices").pattern.indices[0])


@composite(forms=Form.METHOD)
def col_indices(self: Tensor) -> Tensor:
    """The column of each element of a CSR matrix, or of each block of a BSR matrix."""
    return alias(_needs("col_indices", self, "crow_indices").pattern.indices[1])


@composite(forms=Form.METHOD)
def ccol_indices(self: Tensor) -> Tensor:
    """Where each column of a CSC or BSC matrix begins, then the number of elements or blocks."""
    return alias(_needs("ccol_indices", self, "ccol_indices").pattern.indices[0])


@composite(forms=Form.METHOD)
def row_indices(self: Tensor) -> Tensor:
    """The row of each element of a CSC matrix, or of each block of a BSC matrix."""
    return alias(_needs("row_indices", self, "ccol_indices").pattern.indices[1])


@composite(forms=Form.METHOD)
def sparse_dim(self: Tensor) -> int:
    """The number of dimensions that have indices; 0 for a dense tensor."""
    return pattern_of(self).sparse_dim if is_sparse(self) else 0


@composite(forms=Form.METHOD)
def dense_dim(self: Tensor) -> int:
    """The number of dimensions of each value; all dimensions for a dense tensor."""
    return len(pattern_of(self).dense_shape) if is_sparse(self) else self.dim()


# ---- to and from dense tensors


@sparse_form("to_dense", blocks=True, stacks=True)
def to_dense(sparse: Tensor, masked_grad: bool = True) -> Tensor:
    if not masked_grad and sparse._tracked:
        return _ToDense.apply(sparse)
    sparse = stable(sparse)
    pattern = pattern_of(sparse)
    return scattered(coo_index(pattern), elements_of(sparse), pattern.shape, "ToDenseBackward0")


class _ToDense(Function):
    """The same where elements that are not stored have a gradient as well."""

    _node_name = "ToDenseBackward0"

    @staticmethod
    def forward(ctx: FunctionCtx, sparse: Tensor) -> Tensor:
        ctx.pattern = pattern_of(sparse)
        return to_dense(sparse)

    @staticmethod
    def backward(ctx: FunctionCtx, *gradients: Tensor) -> Tensor:
        pattern: Pattern = ctx.pattern
        if pattern.layout is sparse_coo:
            return to_sparse(gradients[0], pattern.sparse_dim)
        block = pattern.block if pattern.blocked else None
        return to_sparse(gradients[0], layout=pattern.layout, blocksize=block, dense_dim=len(pattern.dense_shape))


def _nonzero(dense: Tensor, dimensions: int) -> Pattern:
    """The indices of the nonzero elements of a dense tensor. Reads the tensor."""
    array = dense._array()
    dense_dims = tuple(range(dimensions, array.ndim))
    stored = (array != 0).any(dense_dims) if dense_dims else array != 0
    index = np.stack(np.nonzero(stored)) if dimensions else np.zeros((0, int(stored)), np.int64)
    return Pattern(sparse_coo, (from_host(index.astype(np.int64)).to(dense.device),), tuple(dense.shape))


@composite(forms=Form.METHOD)
def to_sparse(
    self: Tensor,
    *args: Any,
    layout: Layout | None = None,
    blocksize: IntOrInts | None = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The tensor as a sparse one, of coordinates unless ``layout`` says otherwise.

    Args:
        args: how many dimensions the indices speak of; all by default.
        layout: one of the sparse layouts.
        blocksize: rows and columns of a block, for ``torch.sparse_bsr`` and ``torch.sparse_bsc``.
        dense_dim: how many dimensions each value has.

    >>> torch.tensor([[0.0, 3.0], [0.0, 0.0]]).to_sparse()
    tensor(indices=tensor([[0],
                           [1]]),
           values=tensor([3.]),
           size=(2, 2), nnz=1, layout=torch.sparse_coo)

    Raises:
        RuntimeError: a block size where there are no blocks, none where there are, or one that does not divide the shape.
        RuntimeError: compressed layouts for matrices of a stack that have different numbers of elements.
    """
    if layout is None:
        layout = sparse_coo
    if layout is not sparse_coo and layout is not strided:
        return _to_compressed(self, layout, blocksize, dense_dim, "to_sparse")
    if len(args) > 1 or not all(is_integer(argument) for argument in args):
        raise TypeError(f"to_sparse(): expected the number of sparse dimensions, got {', '.join(map(type_name, args))}")
    if is_sparse(self):
        lead = pattern_of(self).sparse_dim
        if args and args[0] != lead:
            raise RuntimeError(
                "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not supported"
            )
        return as_coo(self)
    dimensions = int(args[0]) if args else self.dim() - (dense_dim or 0)
    if not (0 < dimensions <= self.dim() or not self.dim()):
        raise RuntimeError(f"sparse_dim {dimensions} must be in the range of 1 to {self.dim()}")
    pattern = _nonzero(self, dimensions)
    values = gathered(self, pattern.indices[0], "ToSparseBackward1")
    return assembled(pattern, values, True, "ToSparseBackward1")


@composite(forms=Form.METHOD)
def to_sparse_coo(self: Tensor) -> Tensor:
    """The tensor as a sparse one of coordinates."""
    return to_sparse(self)


@composite(forms=Form.METHOD)
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The matrix as a sparse one by rows; of a tensor of more dimensions, a stack of such matrices.

    Args:
        dense_dim: how many dimensions each element has, the last ones of a dense tensor.

    >>> torch.eye(2).to_sparse_csr()
    tensor(crow_indices=tensor([0, 1, 2]),
           col_indices=tensor([0, 1]),
           values=tensor([1., 1.]), size=(2, 2), nnz=2, layout=torch.sparse_csr)

    Raises:
        RuntimeError: a stack of matrices that have different numbers of elements.
    """
    return _to_compressed(self, sparse_csr, None, dense_dim, "to_sparse_csr")


@composite(forms=Form.METHOD)
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The matrix as a sparse one by columns."""
    return _to_compressed(self, sparse_csc, None, dense_dim, "to_sparse_csc")


@composite(forms=Form.METHOD)
def to_sparse_bsr(self: Tensor, blocksize: IntOrInts, dense_dim: int | None = None) -> Tensor:
    """The matrix as a sparse one of blocks, by rows.

    Args:
        blocksize: rows and columns of a block.

    >>> torch.eye(2).to_sparse_bsr((1, 2)).values()
    tensor([[[1., 0.]],
    <BLANKLINE>
            [[0., 1.]]])
    """
    return _to_compressed(self, sparse_bsr, blocksize, dense_dim, "to_sparse_bsr")


@composite(forms=Form.METHOD)
def to_sparse_bsc(self: Tensor, blocksize: IntOrInts, dense_dim: int | None = None) -> Tensor:
    """The matrix as a sparse one of blocks, by columns. See ``to_sparse_bsr``."""
    return _to_compressed(self, sparse_bsc, blocksize, dense_dim, "to_sparse_bsc")


def _to_compressed(tensor: Tensor, to: Layout, blocksize: Any, dense_dim: int | None, name: str) -> Tensor:
    """The matrix in a compressed layout, after PyTorch's checks."""
    source, target = LAYOUT_NAMES[tensor.layout], LAYOUT_NAMES[to]  # pyright: ignore[reportAttributeAccessIssue]
    own = pattern_of(tensor) if is_sparse(tensor) else None
    kind = str(to).rpartition("_")[2]
    whose = "dense" if own is None else "coo" if own.layout is sparse_coo else "sparse_compressed"
    if own is not None and dense_dim is not None:
        whose = "coo_to_sparse" if own.layout is sparse_coo else "to_sparse"
        raise RuntimeError(
            f"{whose}_{kind}: conversion from {source} to {target} with dense_dim argument given is not supported"
        )
    if own is None and tensor.dim() < 2:
        raise IndexError(f"to_sparse_{kind}: expected a tensor with at least 2 dimensions, but got {tensor.dim()}")
    if own is None and dense_dim is not None and not 0 <= dense_dim <= tensor.dim() - 2:
        raise RuntimeError(
            f"dense_to_sparse_{kind}: dense_dim argument must be in [0,{tensor.dim() - 2}] range, but {dense_dim} is given"
        )
    if own is not None and own.layout is sparse_coo and own.sparse_dim != 2:
        raise RuntimeError(
            f"coo_to_sparse_{kind}: conversion from {source} to {target} for input tensors with sparse_dim()!=2 is not supported"
        )
    blocks = to in (sparse_bsr, sparse_bsc)
    if blocks is (blocksize is None):
        given = "without blocksize argument given" if blocks else "with blocksize argument given"
        whose = "dense" if own is None else "sparse" if own.layout is sparse_coo else "sparse_compressed"
        raise RuntimeError(f"{whose}_to_sparse: conversion from {source} to {target} {given} is not supported")
    if own is not None and own.blocked and not blocks:
        kind = "csr" if to is sparse_csr else "csc"
        raise RuntimeError(
            f"sparse_compressed_to_sparse_{kind}: expected SparseCsr or SparseCsc layout but got {source}"
        )
    block = (
        tuple(map(int, blocksize if isinstance(blocksize, (tuple, list)) else (blocksize,) * 2)) if blocks else (1, 1)
    )
    if len(block) != 2 or min(block) < 1:
        raise RuntimeError(f"{name}: blocksize needs to be a tuple of two positive numbers, but got {list(block)}")
    if own is not None and own.blocked and own.block != block:
        raise RuntimeError(
            f"{name}: conversion from {source} to {target} with blocksize changed from {list(own.block)} to {list(block)} is not "
            "supported"
        )
    if own is not None and own.batch and blocks and not own.blocked:
        raise RuntimeError(
            f"sparse_compressed_to_sparse_{kind}: conversion from {source} to {target} for batched inputs is not supported"
        )
    lead = len(own.batch) if own is not None else tensor.dim() - 2 - (dense_dim or 0)
    rows, columns = tensor.shape[lead : lead + 2]
    if rows % block[0] or columns % block[1]:
        raise RuntimeError(
            f"{whose}_to_sparse_{kind}: tensor sparse size ({rows},{columns}) must be divisible by given blocksize "
            f"({block[0]},{block[1]})"
        )
    return compressed(tensor, to, block, dense_dim or 0)


@composite(forms=Form.METHOD)
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements that stand where a sparse tensor has some, as a sparse tensor with its indices.

    >>> torch.ones(2, 2).sparse_mask(torch.eye(2).to_sparse()).values()
    tensor([1., 1.])
    """
    if not is_sparse(mask):
        raise RuntimeError("sparse_mask(): mask must be a sparse tensor")
    if self.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size {list(mask.shape)}"
        )
    content = parts(mask)
    return assembled(content.pattern, at_pattern(self, content.pattern), content.coalesced, "SparseMaskBackward0")


# ---- copies


@sparse_form("_copy", blocks=True, stacks=True)
def _copied(sparse: Tensor) -> Tensor:
    content = parts(sparse)
    return assembled(content.pattern, ops.clone(values_of(sparse)), content.coalesced, "CloneBackward0")


@sparse_form("_to_dtype", blocks=True, stacks=True)
def _cast(sparse: Tensor, dtype: Dtype) -> Tensor:
    content = parts(sparse)
    return assembled(content.pattern, to_dtype(values_of(sparse), dtype), content.coalesced, "ToCopyBackward0")


@sparse_form("move", blocks=True, stacks=True)
def _move_sparse(sparse: Tensor, placement: Placement) -> Tensor:
    content = parts(sparse)
    index = tuple(move(indices, placement) for indices in content.pattern.indices)
    pattern = content.pattern._replace(indices=index)
    return assembled(pattern, move(values_of(sparse), placement), content.coalesced, "ToCopyBackward0")


def rebuilt(
    kind: type[Tensor],
    indices: tuple[Tensor, ...],
    values: Tensor,
    shape: tuple[int, ...],
    in_order: bool,
    requires_grad: bool,
    attributes: dict[str, object],
    layout: Layout | None = None,
    block: tuple[int, int] = (1, 1),
) -> Tensor:
    """The sparse tensor that a pickle describes; older ones say no layout, which is that of coordinates or CSR."""
    if layout is None:
        layout = sparse_coo if len(indices) == 1 else sparse_csr
    pattern = Pattern(layout, indices, shape, block)
    return leaf_alias(assembled(pattern, values, in_order), kind, requires_grad, attributes)


@sparse_form("__reduce__", blocks=True, stacks=True)
def _reduced(sparse: Tensor) -> tuple[Any, ...]:
    content = parts(sparse)
    pattern = content.pattern
    return rebuilt, (
        type(sparse), pattern.indices, content.values, pattern.shape, content.coalesced, sparse.requires_grad, dict(sparse.__dict__),
        pattern.layout, pattern.block,
    )  # fmt: skip
