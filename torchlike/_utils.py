"""torch._utils: functions that programs import from there although the module is private."""

from __future__ import annotations

from collections.abc import Sequence

from ._core.dtypes import dtype as dtype_
from ._core.tensor import Tensor
from .ops.shape.joining import cat

__all__ = ["_element_size", "_flatten_dense_tensors", "_unflatten_dense_tensors"]


def _flatten_dense_tensors(tensors: Sequence[Tensor]) -> Tensor:
    """Concatenates the elements of all tensors to a vector; a single tensor is viewed, not copied."""
    parts = [tensor.contiguous().view(-1) for tensor in tensors]
    return parts[0] if len(parts) == 1 else cat(parts)


def _unflatten_dense_tensors(flat: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The parts of a vector in the shapes of ``tensors``, as views; empty ones are made anew."""
    parts, start = [], 0
    for like in tensors:
        count = like.numel()
        parts.append(flat.narrow(0, start, count).view(like.shape) if count else flat.new_empty(like.shape))
        start += count
    return tuple(parts)


def _element_size(dtype: dtype_) -> int:
    """Bytes that an element of a dtype takes.

    >>> torch._utils._element_size(torch.float32)
    4
    """
    if not isinstance(dtype, dtype_):
        raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
    return dtype.itemsize
