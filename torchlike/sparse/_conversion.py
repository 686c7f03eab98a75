"""Converts between dense and sparse tensors, copies sparse tensors, and gives access to their indices and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .._core import dtypes
from .._core.annotations import DeviceLike, Dtype, IntOrInts, Layout
from .._core.fields import leaf_alias
from .._core.layouts import sparse_coo, sparse_csr, strided
from .._core.sparse import Pattern, SparseValue, is_sparse, sparse_form, unsupported
from .._core.tensor import Tensor, alias, from_host
from ..dispatch.options import is_integer, require_grad
from ..dispatch.register import Form, composite
from ..dispatch.type_names import type_name
from ..engine.aval import Placement
from ..ops.creation.cast import move, to_dtype
from ..ops.linalg.sparse_kernels import gathered, scattered
from ._construction import sparse_coo_tensor, unsupported_layout
from ._parts import assembled, at_pattern, coalesced, coo_index, index_array, is_coo, parts, pattern_of, values_of

__all__ = ["on_values", "stable"]

_NAMES = {strided: "Strided", sparse_coo: "Sparse", sparse_csr: "SparseCsr"}


def _needs(name: str, tensor: Tensor, layout_needed: Layout | None, words: str) -> SparseValue:
    """The content of a sparse tensor; raises PyTorch's error for another layout. ``layout_needed`` is None for any sparse layout."""
    layout = tensor.layout  # pyright: ignore[reportAttributeAccessIssue]
    if layout is strided or layout_needed not in (None, layout):
        raise RuntimeError(f"{name} expected {words} but got {_NAMES[layout]}")
    return parts(tensor)


_COO = "sparse coordinate tensor layout"
_CSR = "sparse row compressed tensor layout"


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
    return _needs("is_coalesced", self, sparse_coo, _COO).coalesced


@composite(forms=Form.METHOD)
def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    """Says that each index comes once and they are in order, which is not looked at; returns the tensor itself."""
    _needs("_coalesced_", self, sparse_coo, _COO).coalesced = bool(coalesced)
    return self


@composite(forms=Form.METHOD)
def coalesce(self: Tensor) -> Tensor:
    """The same sparse tensor with each index once, in order; values of one place are added.

    >>> torch.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (2,)).coalesce()
    tensor(indices=tensor([[0, 1]]),
           values=tensor([2., 4.]),
           size=(2,), nnz=2, layout=torch.sparse_coo)
    """
    _needs("coalesce", self, sparse_coo, _COO)
    return coalesced(self)


def _in_order(name: str, sparse: Tensor) -> SparseValue:
    content = _needs(name, sparse, sparse_coo, _COO)
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
    if _needs("values", self, None, "sparse tensor layout").pattern.layout is sparse_coo:
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
    """The row pointers of a CSR matrix: where each row begins, then the number of elements."""
    return alias(_needs("crow_indices", self, sparse_csr, _CSR).pattern.indices[0])


@composite(forms=Form.METHOD)
def col_indices(self: Tensor) -> Tensor:
    """The column of each element of a CSR matrix."""
    return alias(_needs("col_indices", self, sparse_csr, _CSR).pattern.indices[1])


@composite(forms=Form.METHOD)
def sparse_dim(self: Tensor) -> int:
    """The number of dimensions that have indices; 0 for a dense tensor."""
    return pattern_of(self).sparse_dim if is_sparse(self) else 0


@composite(forms=Form.METHOD)
def dense_dim(self: Tensor) -> int:
    """The number of dimensions of each value; all dimensions for a dense tensor."""
    return self.dim() - sparse_dim(self)


# ---- to and from dense tensors


@sparse_form("to_dense")
def to_dense(sparse: Tensor) -> Tensor:
    sparse = stable(sparse)
    pattern = pattern_of(sparse)
    return scattered(coo_index(pattern), values_of(sparse), pattern.shape, "ToDenseBackward0")


def _nonzero(dense: Tensor, dimensions: int) -> Pattern:
    """The indices of the nonzero elements of a dense tensor. Reads the tensor."""
    array = dense._array()
    dense_dims = tuple(range(dimensions, array.ndim))
    places = np.nonzero((array != 0).any(dense_dims) if dense_dims else array != 0)
    index = np.stack(places) if dimensions else np.zeros((0, 1), np.int64)
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
        layout: ``torch.sparse_coo`` or ``torch.sparse_csr``.
        dense_dim: how many dimensions each value has.

    >>> torch.tensor([[0.0, 3.0], [0.0, 0.0]]).to_sparse()
    tensor(indices=tensor([[0],
                           [1]]),
           values=tensor([3.]),
           size=(2, 2), nnz=1, layout=torch.sparse_coo)

    Raises:
        NotImplementedError: another layout.
    """
    if layout is None:
        layout = sparse_coo
    if layout is sparse_csr:
        return to_sparse_csr(self, dense_dim)
    if layout is not sparse_coo:
        raise unsupported_layout("to_sparse", str(layout))
    if len(args) > 1 or not all(is_integer(argument) for argument in args):
        raise TypeError(f"to_sparse(): expected the number of sparse dimensions, got {', '.join(map(type_name, args))}")
    if is_sparse(self):
        lead = pattern_of(self).sparse_dim
        if args and args[0] != lead:
            raise RuntimeError(
                "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not supported"
            )
        return _to_coo(self)
    dimensions = int(args[0]) if args else self.dim() - (dense_dim or 0)
    if not (0 < dimensions <= self.dim() or not self.dim()):
        raise RuntimeError(f"sparse_dim {dimensions} must be in the range of 1 to {self.dim()}")
    pattern = _nonzero(self, dimensions)
    values = gathered(self, pattern.indices[0], "ToSparseBackward1")
    return assembled(pattern, values, True, "ToSparseBackward1")


def _to_coo(sparse: Tensor) -> Tensor:
    content = parts(sparse)
    if content.pattern.layout is sparse_coo:
        return sparse
    pattern = Pattern(sparse_coo, (coo_index(content.pattern),), content.pattern.shape)
    return assembled(pattern, values_of(sparse), content.coalesced, "ToSparseBackward0")


@composite(forms=Form.METHOD)
def to_sparse_coo(self: Tensor) -> Tensor:
    """The tensor as a sparse one of coordinates."""
    return to_sparse(self)


@composite(forms=Form.METHOD)
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The matrix as a sparse one by rows.

    >>> torch.eye(2).to_sparse_csr()
    tensor(crow_indices=tensor([0, 1, 2]),
           col_indices=tensor([0, 1]),
           values=tensor([1., 1.]), size=(2, 2), nnz=2, layout=torch.sparse_csr)

    Raises:
        NotImplementedError: a tensor that is no matrix, or values with dimensions.
    """
    if self.dim() != 2 or dense_dim:
        raise NotImplementedError("torchlike does not support stacks of CSR matrices: make one tensor a matrix")
    if is_sparse(self) and not is_coo(self):
        return self
    sparse = coalesced(self if is_sparse(self) else to_sparse(self))
    pattern = pattern_of(sparse)
    rows, columns = index_array(pattern)
    crow = np.zeros(pattern.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=pattern.shape[0]), out=crow[1:])
    device = sparse.device
    by_rows = Pattern(sparse_csr, (from_host(crow).to(device), from_host(columns.copy()).to(device)), pattern.shape)
    return assembled(by_rows, values_of(sparse), True, "ToSparseCsrBackward0")


def _refuse_layout(name: str, layout: str) -> None:
    def call(self: Tensor, *args: object, **kwargs: object) -> Tensor:
        raise unsupported_layout(f"Tensor.{name}", layout)

    call.__name__ = name
    call.__doc__ = f"Raises NotImplementedError: torchlike has no tensors of layout {layout}."
    composite(forms=Form.METHOD)(call)


for _name, _layout in (
    ("to_sparse_csc", "sparse_csc"),
    ("to_sparse_bsr", "sparse_bsr"),
    ("to_sparse_bsc", "sparse_bsc"),
):
    _refuse_layout(_name, f"torch.{_layout}")


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


@sparse_form("_copy")
def _copied(sparse: Tensor) -> Tensor:
    content = parts(sparse)
    return assembled(content.pattern, ops.clone(values_of(sparse)), content.coalesced, "CloneBackward0")


@sparse_form("_to_dtype")
def _cast(sparse: Tensor, dtype: Dtype) -> Tensor:
    content = parts(sparse)
    return assembled(content.pattern, to_dtype(values_of(sparse), dtype), content.coalesced, "ToCopyBackward0")


@sparse_form("move")
def _move_sparse(sparse: Tensor, placement: Placement) -> Tensor:
    content = parts(sparse)
    index = tuple(move(indices, placement) for indices in content.pattern.indices)
    pattern = Pattern(content.pattern.layout, index, content.pattern.shape)
    return assembled(pattern, move(values_of(sparse), placement), content.coalesced, "ToCopyBackward0")


@sparse_form("zeros_like", "empty_like")
def _empty(sparse: Tensor, dtype: Dtype, device: DeviceLike | None, requires_grad: bool) -> Tensor:
    """A sparse tensor of the same shape without elements."""
    content = parts(sparse)
    device = sparse.device if device is None else device
    if content.pattern.layout is sparse_coo:
        lead, dense_shape = content.pattern.sparse_dim, content.pattern.shape[content.pattern.sparse_dim :]
        index: tuple[Tensor, ...] = (ops.zeros((lead, 0), dtype=dtypes.int64, device=device),)
    else:
        dense_shape = ()
        kind = content.pattern.indices[0].dtype
        index = (
            ops.zeros((content.pattern.shape[0] + 1,), dtype=kind, device=device),
            ops.zeros((0,), dtype=kind, device=device),
        )
    pattern = Pattern(content.pattern.layout, index, content.pattern.shape)
    return require_grad(
        assembled(pattern, ops.zeros((0, *dense_shape), dtype=dtype, device=device), True), requires_grad
    )


@sparse_form("new_zeros", "new_empty")
def _new_empty(
    sparse: Tensor, shape: tuple[int, ...], dtype: Dtype, device: DeviceLike | None, requires_grad: bool
) -> Tensor:
    """A sparse tensor of another shape without elements."""
    if not is_coo(sparse):
        raise unsupported("new_zeros", (sparse,))
    device = sparse.device if device is None else device
    return sparse_coo_tensor(size=shape, dtype=dtype, device=device, requires_grad=requires_grad)


def rebuilt(
    kind: type[Tensor],
    indices: tuple[Tensor, ...],
    values: Tensor,
    shape: tuple[int, ...],
    in_order: bool,
    requires_grad: bool,
    attributes: dict[str, object],
) -> Tensor:
    """The sparse tensor that a pickle describes."""
    layout = sparse_coo if len(indices) == 1 else sparse_csr
    return leaf_alias(assembled(Pattern(layout, indices, shape), values, in_order), kind, requires_grad, attributes)


@sparse_form("__reduce__")
def _reduced(sparse: Tensor) -> tuple[Any, ...]:
    content = parts(sparse)
    pattern = content.pattern
    return rebuilt, (
        type(sparse), pattern.indices, content.values, pattern.shape, content.coalesced, sparse.requires_grad, dict(sparse.__dict__),
    )  # fmt: skip
