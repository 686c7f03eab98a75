"""make_tensor: tensors of random values for tests."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from .._core import dtypes
from .._core.annotations import DeviceLike, Dtype, MemoryFormat
from .._core.size import Size
from .._core.tensor import Tensor

__all__ = ["make_tensor"]


def make_tensor(
    *shape: Any,
    dtype: Dtype,
    device: DeviceLike,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """A tensor of values drawn uniformly from ``[low, high)``.

    Args:
        shape: its shape.
        dtype: its dtype. Unless told, numbers lie between -9 and 9, unsigned ones between 0 and 9.
        device: where it lies.
        low, high: the range.
        requires_grad: whether it is a leaf with a gradient.
        noncontiguous: every other element of a larger tensor.
        exclude_zero: zeros are replaced by the smallest number.
        memory_format: how it is laid out.

    Raises:
        ValueError: the range is empty, or without numbers of the dtype.

    >>> torch.testing.make_tensor((2, 3), dtype=torch.float32, device="cpu").shape
    torch.Size([2, 3])

    Source: https://docs.pytorch.org/docs/stable/testing.html#torch.testing.make_tensor
    """
    if len(shape) == 1 and not isinstance(shape[0], int):
        shape = tuple(shape[0])
    if noncontiguous and memory_format is not None:
        raise ValueError(
            f"The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got noncontiguous={noncontiguous} "
            f"and memory_format={memory_format}"
        )
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    with_gaps = noncontiguous and math.prod(shape) > 1
    result = _random_tensor(Size((*shape[:-1], 2 * shape[-1]) if with_gaps else shape), dtype, device, low, high)
    if with_gaps:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.contiguous(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = 1 if dtype.category < 2 else dtypes.finfo(dtype).tiny
    return result._require_grad(requires_grad) if requires_grad else result


def _random_tensor(shape: Size, dtype: Dtype, device: DeviceLike | None, low: object, high: object) -> Tensor:
    if dtype is dtypes.bool_:
        low, high = _range(dtype, low, high, 0, 2, 0, 2)
        return ops.randint(math.floor(low), math.ceil(high), shape, device=device, dtype=dtype)
    if dtype.category == 1:
        limits = dtypes.iinfo(dtype)
        # Unsigned dtypes begin at 0.
        low, high = _range(dtype, low, high, max(limits.min, -9), min(limits.max, 10), limits.min, limits.max)
        low, high = math.floor(low), math.ceil(high)
        return ops.randint(low, high, shape, device=device, dtype=dtype)
    limits = dtypes.finfo(dtype)
    low, high = _range(dtype, low, high, -9, 9, limits.min, limits.max)
    drawn = dtypes.float32 if dtype.itemsize == 1 else dtype  # no numbers are drawn in types of 8 bits
    result = ops.empty(shape, device=device, dtype=drawn)
    if dtype.is_complex:
        parts = ops.view_as_real(result)
        parts.uniform_(low, high)
    else:
        result.uniform_(low, high)
    return result.to(dtype)


def _range(
    dtype: Dtype | None, low: Any, high: Any, default_low: object, default_high: object, least: object, most: object
) -> tuple[int, int]:
    """The range within what the dtype holds."""
    low = default_low if low is None else low
    high = default_high if high is None else high
    if any(isinstance(v, float) and math.isnan(v) for v in (low, high)):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if high < least or low > most:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports [{least}, {most}]"
        )
    return max(low, least), min(high, most)
