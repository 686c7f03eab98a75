"""Sparse tensors made from indices and values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import ops
from .._core.annotations import DeviceLike, Dtype, IntOrInts, Layout
from .._core.dtypes import int32, int64
from .._core.layouts import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from .._core.sparse import LAYOUT_NAMES, Pattern
from .._core.tensor import Tensor
from ..dispatch.options import require_grad
from ..engine.aval import META
from ._compressed import INDEX_NAMES
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
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance for context nesting."
            )
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

    All three may have further dimensions before: a stack of matrices that have as many elements each.

    Args:
        crow_indices: shape (..., rows + 1): where each row begins, and at the end the number of elements.
        col_indices: shape (..., elements): the column of each.
        values: shape (..., elements), or with the dimensions of each element after these.
        size: rows and columns; by default the smallest that has room.
        check_invariants: whether to look at the indices.

    Raises:
        RuntimeError: shapes that do not go together; with ``check_invariants``, indices that are outside of the shape.

    >>> torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [3.0, 4.0, 5.0])
    tensor(crow_indices=tensor([0, 1, 3]),
           col_indices=tensor([2, 0, 2]),
           values=tensor([3., 4., 5.]), size=(2, 3), nnz=3,
           layout=torch.sparse_csr)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.sparse_csr_tensor.html
    """
    return _compressed(
        sparse_csr, crow_indices, col_indices, values, size, dtype, device, requires_grad, _wanted(check_invariants)
    )


def _compressed(
    to: Layout, outer: Data, inner: Data, values: Data, size: Any, dtype: Dtype | None, device: DeviceLike | None,
    requires_grad: bool, check: bool,
) -> Tensor:  # fmt: skip
    """A matrix of a compressed layout, or a stack of them, after PyTorch's checks."""
    outer_name, inner_name = INDEX_NAMES[to]
    blocked = to in (sparse_bsr, sparse_bsc)
    elements = _values(values, dtype, device)
    begins, places = (ops.as_tensor(numbers, device=elements.device).detach() for numbers in (outer, inner))
    for index in (begins, places):
        if not index.dim():
            raise RuntimeError(
                f"{outer_name if index is begins else inner_name} must have dimensionality >= 1 but got 0"
            )
    if begins.dim() != places.dim():
        raise RuntimeError(
            f"{outer_name} and {inner_name} dimensionalities must be equal but got {begins.dim()} and {places.dim()}, respectively"
        )
    lead, block_dims = begins.dim() - 1, 2 if blocked else 0
    if elements.dim() <= lead + block_dims:
        raise RuntimeError(
            f"values must have dimensionality > sum of batch and block dimensionalities (={lead} + {block_dims}) but got "
            f"{elements.dim()}"
        )
    for name, index in ((outer_name, begins), (inner_name, places)):
        if index.dtype not in (int32, int64):
            raise RuntimeError(f"{name} dtype must be Int or Long, but got dtype {index.dtype.scalar_name}")
    if begins.dtype is not places.dtype:
        raise RuntimeError(
            f"{outer_name} and {inner_name} dtype must match, but got {begins.dtype.scalar_name} and {places.dtype.scalar_name}"
        )
    if places.shape[-1] != elements.shape[lead]:
        raise RuntimeError(
            f"{inner_name}.shape[-1] must be equal to nnz (={elements.shape[lead]}) as defined by values.shape[{lead}], but got "
            f"{places.shape[-1]}"
        )
    block = (int(elements.shape[lead + 1]), int(elements.shape[lead + 2])) if blocked else (1, 1)
    dense_shape, by_rows = tuple(elements.shape[lead + 1 + block_dims :]), outer_name == "crow_indices"
    if size is None:
        counts = (max(begins.shape[-1] - 1, 0), int(places._array().max(initial=-1)) + 1)
        rows, columns = counts if by_rows else counts[::-1]
        shape = (*begins.shape[:-1], rows * block[0], columns * block[1], *dense_shape)
    else:
        shape = _shape(size)
    if len(shape) != lead + 2 + len(dense_shape):
        raise RuntimeError(
            f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={lead} + 2 + {len(dense_shape)}) but got "
            f"{len(shape)}"
        )
    stacks = [list(tensor.shape[:lead]) for tensor in (begins, places, elements)]
    if any(stack != list(shape[:lead]) for stack in stacks):
        raise RuntimeError(
            f"all batch dimensions of {outer_name} (={stacks[0]}), {inner_name} (={stacks[1]}), and values (={stacks[2]}) must be equal "
            f"to tensor batch dimensions (={list(shape[:lead])})"
        )
    if shape[lead + 2 :] != dense_shape:
        raise RuntimeError(
            f"values must have the dense dimensions {list(shape[lead + 2 :])}, but got {list(dense_shape)}"
        )
    for dim, length in enumerate(block):
        if shape[lead + dim] % length:
            raise RuntimeError(
                f"tensor shape[{lead + dim}] (={shape[lead + dim]}) must be divisible with blocksize[{dim}] (={length}) as defined by "
                "values shape"
            )
    if check:
        counts = (shape[lead] // block[0], shape[lead + 1] // block[1])
        stack = math.prod(shape[:lead])
        of_each = (index._array().reshape(stack, index.shape[-1]) for index in (begins, places))
        for first, inside in zip(*of_each, strict=True):
            _check_places(first, inside, counts, to)
    pattern = Pattern(to, (begins, places), shape, block)
    result = assembled(pattern, _detached(elements, requires_grad), True, "SparseCompressedTensorBackward0")
    return require_grad(result, requires_grad)


def _check_places(begins: np.ndarray, places: np.ndarray, counts: tuple[int, int], to: Layout) -> None:
    """Raises PyTorch's errors for indices that describe no matrix of so many rows and columns, or rows and columns of blocks."""
    outer, inner = INDEX_NAMES[to]
    by_rows = outer == "crow_indices"
    many, few = counts if by_rows else counts[::-1]
    of_outer, bound = ("row", "ncols") if by_rows else ("column", "nrows")
    if len(begins) != many + 1:
        kind = f"{of_outer} blocks" if to in (sparse_bsr, sparse_bsc) else f"{of_outer}s"
        raise RuntimeError(
            f"{outer}.shape[-1] must be equal to the number of {kind} + 1 (={many + 1}), but got {len(begins)}"
        )
    if begins[0] != 0:
        raise RuntimeError(f"`{outer}[..., 0] == 0` is not satisfied.")
    if begins[-1] != len(places):
        raise RuntimeError(f"`{outer}[..., -1] == nnz` is not satisfied.")
    if (np.diff(begins) < 0).any() or (np.diff(begins) > few).any():
        raise RuntimeError(f"`0 <= {outer}[..., 1:] - {outer}[..., :-1] <= {bound}` is not satisfied.")
    if len(places) and (places.min() < 0 or places.max() >= few):
        raise RuntimeError(f"`0 <= {inner} < {bound}` is not satisfied.")
    lines = np.repeat(np.arange(many), np.diff(begins))
    if (np.diff(places)[np.diff(lines) == 0] <= 0).any():
        raise RuntimeError(
            f"`{inner}[..., {outer}[..., i - 1]:{outer}[..., i]] for all i = 1, ..., {'nrows' if by_rows else 'ncols'} are sorted and "
            "distinct along the last dimension values` is not satisfied."
        )


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
    """A sparse matrix by rows or by columns; its layout is given by name. See ``sparse_csr_tensor`` and ``sparse_bsr_tensor``.

    Raises:
        RuntimeError: a layout that is not compressed, shapes that do not go together.

    >>> torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [3.0, 4.0], layout=torch.sparse_csc).to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """
    if layout not in INDEX_NAMES:
        given = "none" if layout is None else LAYOUT_NAMES.get(layout, str(layout))
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {given}")
    return _compressed(
        layout, compressed_indices, plain_indices, values, size, dtype, device, requires_grad, _wanted(check_invariants)
    )


def sparse_csc_tensor(
    ccol_indices: Data,
    row_indices: Data,
    values: Data,
    size: IntOrInts | None = None,
    *,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix by columns: column ``j`` has the elements from ``ccol_indices[j]`` up to ``ccol_indices[j + 1]``.

    Arguments and errors are those of ``sparse_csr_tensor``.

    >>> torch.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0])
    tensor(ccol_indices=tensor([0, 1, 2]),
           row_indices=tensor([1, 0]),
           values=tensor([3., 4.]), size=(2, 2), nnz=2, layout=torch.sparse_csc)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.sparse_csc_tensor.html
    """
    return _compressed(
        sparse_csc, ccol_indices, row_indices, values, size, dtype, device, requires_grad, _wanted(check_invariants)
    )


def sparse_bsr_tensor(
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
    """A sparse matrix of blocks, by rows of blocks.

    Args:
        crow_indices, col_indices: as for ``sparse_csr_tensor``, of blocks.
        values: shape (blocks, rows of a block, columns of a block).
        size: rows and columns of elements.

    >>> torch.sparse_bsr_tensor([0, 1], [0], [[[1.0, 2.0]]]).to_dense()
    tensor([[1., 2.]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.sparse_bsr_tensor.html
    """
    return _compressed(
        sparse_bsr, crow_indices, col_indices, values, size, dtype, device, requires_grad, _wanted(check_invariants)
    )


def sparse_bsc_tensor(
    ccol_indices: Data,
    row_indices: Data,
    values: Data,
    size: IntOrInts | None = None,
    *,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Tensor:
    """A sparse matrix of blocks, by columns of blocks. See ``sparse_bsr_tensor``.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.sparse_bsc_tensor.html
    """
    return _compressed(
        sparse_bsc, ccol_indices, row_indices, values, size, dtype, device, requires_grad, _wanted(check_invariants)
    )


def unsupported_layout(name: str, layout: str) -> NotImplementedError:
    """The error for a layout that torchlike does not have."""
    return NotImplementedError(
        f"torchlike does not support {name} with layout {layout}: use torch.sparse_coo or torch.sparse_csr"
    )
