"""Pooling by maximum, mean and p-norm, with windows of a fixed size or of sizes that follow from the output's size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..._core.annotations import IntOrInts
from ..._core.layouts import channels_last_3d
from ..._core.tensor import Tensor
from ...dispatch.autocast import under_autocast
from ...dispatch.register import Autocast
from ...ops.elementwise import activation
from ...ops.nn import pool
from ...ops.shape.reshape import lay_out, lay_out_channels

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices", "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d",
    "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
]  # fmt: skip


def _laid_out(input: Tensor, pooled: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """The largest elements and where they lie, with the channels last in memory if those of the input are."""
    for each in pooled:
        lay_out_channels(each, input)
    return pooled


def _volumes_laid_out(input: Tensor, pooled: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """The same for volumes, also for one without a batch: PyTorch's other poolings give that in the usual order."""
    if input.dim() == 4 and input.unsqueeze(0).is_contiguous(memory_format=channels_last_3d):
        for each in pooled:
            lay_out(each, input)
        return pooled
    return _laid_out(input, pooled)


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool1d``, and where the largest elements lie."""
    return pool.pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 1)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool2d``, and where the largest elements lie in the flattened images."""
    return _laid_out(input, pool.pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 2))


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool3d``, and where the largest elements lie in the flattened volumes."""
    return _volumes_laid_out(input, pool.pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 3))


def max_pool1d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of (N, C, L); with ``return_indices`` also where they lie."""
    pooled = pool.pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 1)
    return pooled if return_indices else pooled[0]


def max_pool2d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of (N, C, H, W); with ``return_indices`` also where they lie.

    >>> F.max_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
    tensor([[[4.]]])
    """
    pooled = _laid_out(input, pool.pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 2))
    return pooled if return_indices else pooled[0]


def _alone_in_float32(*args: object, return_indices: bool = False, **kwargs: object) -> Autocast | None:
    return None if return_indices or (len(args) > 6 and args[6]) else Autocast.FLOAT32


@under_autocast(cpu=_alone_in_float32)
def max_pool3d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, ...]:
    """The largest element of each window of (N, C, D, H, W); with ``return_indices`` also where they lie."""
    pooled = _volumes_laid_out(input, pool.pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 3))
    return pooled if return_indices else pooled[0]


def avg_pool1d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of (N, C, L).

    >>> F.avg_pool1d(torch.tensor([[1.0, 4.0, 2.0, 3.0]]), 2)
    tensor([[2.5000, 2.5000]])
    """
    return pool.pooled_by_mean(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None, 1)


def avg_pool2d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of (N, C, H, W).

    >>> F.avg_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
    tensor([[[2.5000]]])
    """
    pooled = pool.pooled_by_mean(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 2)
    return lay_out_channels(pooled, input)


def avg_pool3d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of (N, C, D, H, W)."""
    return pool.pooled_by_mean(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 3)


def adaptive_avg_pool1d(input: Tensor, output_size: object) -> Tensor:
    """The means of ``output_size`` windows of (N, C, L) that are as even as possible."""
    return pool.adaptively_by_mean(input, output_size, 1)


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """The means of ``output_size`` windows of (N, C, H, W) that are as even as possible; None keeps a dimension.

    >>> F.adaptive_avg_pool2d(torch.arange(4.0).view(1, 2, 2), 1)
    tensor([[[1.5000]]])
    """
    pooled = pool.adaptively_by_mean(input, output_size, 2)
    return lay_out_channels(pooled, input)


def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """The means of ``output_size`` windows of (N, C, D, H, W) that are as even as possible; None keeps a dimension."""
    return pool.adaptively_by_mean(input, output_size, 3)


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """``adaptive_max_pool1d``, and where the largest elements lie."""
    return pool.adaptively_by_max(input, output_size, 1)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """``adaptive_max_pool2d``, and where the largest elements lie."""
    return _laid_out(input, pool.adaptively_by_max(input, output_size, 2))


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """``adaptive_max_pool3d``, and where the largest elements lie."""
    return pool.adaptively_by_max(input, output_size, 3)


def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False) -> Any:
    """The largest elements of ``output_size`` windows of (N, C, L) that are as even as possible."""
    pooled = pool.adaptively_by_max(input, output_size, 1)
    return pooled if return_indices else pooled[0]


def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False) -> Any:
    """The largest elements of ``output_size`` windows of (N, C, H, W) that are as even as possible.

    >>> F.adaptive_max_pool2d(torch.arange(4.0).view(1, 2, 2), 1)
    tensor([[[3.]]])
    """
    pooled = _laid_out(input, pool.adaptively_by_max(input, output_size, 2))
    return pooled if return_indices else pooled[0]


def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False) -> Any:
    """The largest elements of ``output_size`` windows of (N, C, D, H, W) that are as even as possible."""
    pooled = pool.adaptively_by_max(input, output_size, 3)
    return pooled if return_indices else pooled[0]


def _by_power(
    input: Tensor, norm_type: float, kernel_size: IntOrInts, stride: IntOrInts | None, ceil_mode: bool, count: int
) -> Tensor:
    kernel = pool._per_dimension(f"lp_pool{count}d", "kernel_size", kernel_size, count, "either be a single int")
    out = pool.pooled_by_mean(input.pow(norm_type), kernel, stride, 0, ceil_mode, True, None, count)
    return (out.sign() * activation.relu(out.abs())).mul(math.prod(kernel)).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: int, stride: IntOrInts | None = None, ceil_mode: bool = False
) -> Tensor:
    """``sum(input ** p) ** (1 / p)`` of each window of (N, C, L)."""
    return _by_power(input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: IntOrInts, stride: IntOrInts | None = None, ceil_mode: bool = False
) -> Tensor:
    """``sum(input ** p) ** (1 / p)`` of each window of (N, C, H, W)."""
    return _by_power(input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: IntOrInts, stride: IntOrInts | None = None, ceil_mode: bool = False
) -> Tensor:
    """``sum(input ** p) ** (1 / p)`` of each window of (N, C, D, H, W)."""
    return _by_power(input, norm_type, kernel_size, stride, ceil_mode, 3)
