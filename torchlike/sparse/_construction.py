"""Sparse tensors made from indices and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import ops
from .._core.annotations import DeviceLike, Dtype, IntOrInts, Layout
from .._core.dtypes import int32, int64
from .._core.layouts import sparse_coo, sparse_csr
from .._core.sparse import Pattern
from .._core.tensor import Tensor
from ..dispatch.options import require_grad
from ..engine.aval import META
from ._parts import assembled, index_array, keys_of

__all__ = [
    "check_sparse_tensor_invariants", "unsupported_layout", "sparse_bsc_tensor", "sparse_bsr_tensor", "sparse_compressed_tensor",
    "sparse_coo_tensor", "sparse_csc_tensor", "sparse_csr_tensor",
]  # fmt: skip

Data: TypeAlias = "Tensor | np.ndarray | Sequence[object]"


class check_sparse_tensor_invariants:
    """Whether functions that make sparse tensors look at the indices: a switch, a context manager and a decorator.

    That reads the indices, which waits for them to be computed. Off unless switched on.

    Args:
        enable: whether it is on within the context.

    >>> with torch.sparse.check_sparse_tensor_invariants():
    ...     torch.sparse_coo_tensor([[5]], [1.0], (2,))
    Traceback (most recent call last):
        ...
    RuntimeError: size is inconsistent with indices: for dim 0, size is 2 but found index 5

    Source: https://docs.pytorch.org/docs/stable/generated/torch.sparse.check_sparse_tensor_invariants.html
    """

    _on = False

    def __init__(self, enable: bool = True) -> None:
        self._wanted, self._before = enable, None

    @staticmethod
    def is_enabled() -> bool:
        """Whether it is on."""
        return check_sparse_tensor_invariants._on

    @staticmethod
    def enable() -> None:
        """Switches it on."""
        check_sparse_tensor_invariants._on = True

    @staticmethod
    def disable() -> None:
        """Switches it off."""
        check_sparse_tensor_invariants._on = False

    def __enter__(self) -> None:
        if self._before is not None:
            raise RuntimeError("This context manager is already activated. Create a new instance to nest it")
        self._before: bool | None = self.is_enabled()
        check_sparse_tensor_invariants._on = self._wanted

    def __exit__(self, *exc: object) -> None:
        assert self._before is not None
        check_sparse_tensor_invariants._on, self._before = self._before, None

    def __call__(self, function: Any) -> Any:
        from functools import wraps

        @wraps(function)
        def call(*args: object, **kwargs: object) -> Any:
            with type(self)(self._wanted):
                return function(*args, **kwargs)

        return call


def _wanted(check_invariants: bool | None) -> bool:
    return check_sparse_tensor_invariants.is_enabled() if check_invariants is None else bool(check_invariants)


def _values(values: Data, dtype: Dtype | None, device: DeviceLike | None) -> Tensor:
    tensor = ops.as_tensor(values, dtype=dtype, device=device)
    if tensor._aval.placement is META:
        raise NotImplementedError("torchlike does not support sparse tensors on the meta device")
    return tensor


def _detached(values: Tensor, requires_grad: bool) -> Tensor:
    """The values, without history where the sparse tensor is to be a leaf."""
    return values.detach() if requires_grad else values


def sparse_coo_tensor(
    indices: Data | None = None,
    values: Data | float | None = None,
    size: IntOrInts | None = None,
    *,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A sparse tensor from the coordinates of its elements.

    ``result[indices[0, k], indices[1, k], ...] = values[k]``; the values of one place are added.

    Args:
        indices: shape (sparse dimensions, elements). An index may come more than once.
        values: shape (elements, ...): one value, which may have dimensions of its own, for each index.
        size: the shape; by default the smallest that has room for the indices. Given alone, the tensor has no elements.
        check_invariants: whether to look at the indices: see ``torch.sparse.check_sparse_tensor_invariants``.
        is_coalesced: True: no index comes twice, and they are in order.

    Raises:
        RuntimeError: shapes that do not go together; with ``check_invariants``, indices that are outside of the shape.

    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    tensor(indices=tensor([[0, 1],
                           [2, 0]]),
           values=tensor([3., 4.]),
           size=(2, 3), nnz=2, layout=torch.sparse_coo)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.sparse_coo_tensor.html
    """
    if values is None:
        shape = _shape(size if size is not None else indices)
        index = ops.zeros((len(shape), 0), dtype=int64, device=device)
        pattern = Pattern(sparse_coo, (index,), shape)
        empty = ops.zeros((0,), dtype=dtype, device=device)
        return require_grad(assembled(pattern, empty, True), requires_grad)
    elements = _values(values, dtype, device)  # pyright: ignore[reportArgumentType]
    index = ops.as_tensor(indices, device=elements.device).to(int64).detach()
    if index.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(index.shape)}")
    if not elements.dim() and index.shape[1] == 1:
        elements = elements.reshape(1)
    if index.shape[1] != elements.shape[0]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {index.shape[1]}, nnz from values: {elements.shape[0]}"
        )
    if size is None:
        least = index._array().max(axis=1, initial=-1) + 1
        shape = (*map(int, least), *elements.shape[1:])
    else:
        shape = _shape(size)
    sparse_dim, dense_dim = index.shape[0], elements.dim() - 1
    if len(shape) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(shape)}, sparse_dim = {sparse_dim}, "
            f"dense_dim = {dense_dim}"
        )
    if tuple(elements.shape[1:]) != shape[sparse_dim:]:
        raise RuntimeError(
            f"values has incorrect size, expected {[index.shape[1], *shape[sparse_dim:]]}, got {list(elements.shape)}"
        )
    pattern = Pattern(sparse_coo, (index,), shape)
    if _wanted(check_invariants):
        keys_of(index_array(pattern), shape[:sparse_dim])
    result = assembled(pattern, _detached(elements, requires_grad), bool(is_coalesced) or index.shape[1] < 2)
    return require_grad(result, requires_grad)


def _shape(size: Any) -> tuple[int, ...]:
    return (int(size),) if isinstance(size, int) else tuple(int(n) for n in size)


def sparse_csr_tensor(
    crow_indices: Data,
    col_indices: Data,
    values: Data,
    size: IntOrInts | None = None,
    *,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix by rows: row ``i`` has the elements from ``crow_indices[i]`` up to ``crow_indices[i + 1]``.

    Args:
        crow_indices: shape (rows + 1): where each row begins, and at the end the number of elements.
        col_indices: shape (elements): the column of each.
        values: shape (elements).
        size: rows and columns; by default the smallest that has room.
        check_invariants: whether to look at the indices.

    Raises:
        RuntimeError: shapes that do not go together; with ``check_invariants``, indices that are outside of the shape.
        NotImplementedError: stacks of matrices, and values with dimensions.

    >>> torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0])
    tensor(crow_indices=tensor([0, 1, 3]),
           col_indices=tensor([2, 0, 2]),
           values=tensor([3., 4., 5.]), size=(2, 3), nnz=3,
           layout=torch.sparse_csr)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.sparse_csr_tensor.html
    """
    elements = _values(values, dtype, device)
    crow, columns = (ops.as_tensor(numbers, device=elements.device).detach() for numbers in (crow_indices, col_indices))
    if crow.dim() != 1 or elements.dim() != 1:
        raise NotImplementedError(
            "torchlike does not support stacks of CSR matrices, or values with dimensions of their own: make one tensor a matrix"
        )
    for name, index in (("crow_indices", crow), ("col_indices", columns)):
        if index.dtype not in (int32, int64):
            raise RuntimeError(f"{name} dtype must be Int or Long, but got dtype {index.dtype.scalar_name}")
    if crow.dtype is not columns.dtype:
        raise RuntimeError(
            f"crow_indices and col_indices dtype must match, but got {crow.dtype.scalar_name} and {columns.dtype.scalar_name}"
        )
    if columns.shape != elements.shape:
        raise RuntimeError(
            f"number of elements in col_indices ({columns.numel()}) and values ({elements.numel()}) must be the same"
        )
    if size is None:
        widest = int(columns._array().max(initial=-1)) + 1
        shape = (max(crow.shape[0] - 1, 0), widest)
    else:
        shape = _shape(size)
        if len(shape) != 2:
            raise NotImplementedError("torchlike does not support stacks of CSR matrices: make one tensor a matrix")
    pattern = Pattern(sparse_csr, (crow, columns), shape)
    if _wanted(check_invariants):
        _check_rows(crow._array(), columns._array(), shape)
    result = assembled(pattern, _detached(elements, requires_grad), True, "SparseCompressedTensorBackward0")
    return require_grad(result, requires_grad)


def _check_rows(crow: np.ndarray, columns: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raises PyTorch's errors for indices that describe no matrix of this shape."""
    if len(crow) != shape[0] + 1:
        raise RuntimeError(
            f"crow_indices.shape[-1] must be equal to the number of rows + 1 (={shape[0] + 1}), but got {len(crow)}"
        )
    if crow[0] != 0:
        raise RuntimeError("`crow_indices[..., 0] == 0` is not satisfied.")
    if crow[-1] != len(columns):
        raise RuntimeError("`crow_indices[..., -1] == nnz` is not satisfied.")
    if (np.diff(crow) < 0).any() or (np.diff(crow) > shape[1]).any():
        raise RuntimeError("`0 <= crow_indices[..., 1:] - crow_indices[..., :-1] <= ncols` is not satisfied.")
    if len(columns) and (columns.min() < 0 or columns.max() >= shape[1]):
        raise RuntimeError("`0 <= col_indices < ncols` is not satisfied.")


def sparse_compressed_tensor(
    compressed_indices: Data,
    plain_indices: Data,
    values: Data,
    size: IntOrInts | None = None,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix by rows, as ``sparse_csr_tensor``; its layout is given by name.

    Raises:
        NotImplementedError: layouts other than ``torch.sparse_csr``.
    """
    if layout is None:
        raise RuntimeError("expected sparse compressed tensor layout but got None")
    if layout is not sparse_csr:
        raise unsupported_layout("sparse_compressed_tensor", str(layout))
    return sparse_csr_tensor(
        compressed_indices, plain_indices, values, size, dtype=dtype, device=device, pin_memory=pin_memory,
        requires_grad=requires_grad, check_invariants=check_invariants,
    )  # fmt: skip


def unsupported_layout(name: str, layout: str) -> NotImplementedError:
    """The error for a layout that torchlike does not have."""
    return NotImplementedError(
        f"torchlike does not support {name} with layout {layout}: use torch.sparse_coo or torch.sparse_csr"
    )


def _refuse_layout(name: str, layout: str) -> Any:
    def call(*args: object, **kwargs: object) -> Tensor:
        raise unsupported_layout(name, layout)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Raises NotImplementedError: torchlike has no tensors of layout {layout}."
    return call


sparse_csc_tensor = _refuse_layout("sparse_csc_tensor", "torch.sparse_csc")
sparse_bsr_tensor = _refuse_layout("sparse_bsr_tensor", "torch.sparse_bsr")
sparse_bsc_tensor = _refuse_layout("sparse_bsc_tensor", "torch.sparse_bsc")
