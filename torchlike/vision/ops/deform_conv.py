"""Deformable convolution: each weight of the kernel reads the input at a place of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ... import ops
from ..._core.tensor import Tensor, from_host
from ...nn import Module, Parameter, init
from .regions import Size, two

__all__ = ["DeformConv2d", "deform_conv2d"]


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = (1, 1),
    padding: Size = (0, 0),
    dilation: Size = (1, 1),
    mask: Tensor | None = None,
) -> Tensor:
    """A convolution whose places are moved by offsets, and weighted by a mask.

    Args:
        input: ``(N, C, H, W)``.
        offset: ``(N, 2 * groups * kh * kw, oh, ow)``: down and to the right, for each weight of the kernel.
        weight: ``(C_out, C / weight groups, kh, kw)``.
        bias: ``(C_out,)``.
        mask: ``(N, groups * kh * kw, oh, ow)``: a factor for each.

    Raises:
        RuntimeError: a shape does not fit.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.deform_conv2d.html, and Zhu et al.,
    "Deformable ConvNets v2", https://arxiv.org/abs/1811.11168
    """
    (step_y, step_x), (pad_y, pad_x), (gap_y, gap_x) = two(stride), two(padding), two(dilation)
    count, channels, height, width = input.shape
    outputs, _, kernel_y, kernel_x = weight.shape
    taps = kernel_y * kernel_x
    groups = offset.shape[1] // (2 * taps)
    if groups == 0:
        raise RuntimeError(
            "the shape of the offset tensor at dimension 1 is not valid. It should "
            "be a multiple of 2 * weight.size[2] * weight.size[3].\n"
            f"Got offset.shape[1]={offset.shape[1]}, while 2 * weight.size[2] * weight.size[3]={2 * taps}"
        )
    rows = (height + 2 * pad_y - (gap_y * (kernel_y - 1) + 1)) // step_y + 1
    columns = (width + 2 * pad_x - (gap_x * (kernel_x - 1) + 1)) // step_x + 1
    if tuple(offset.shape) != (count, 2 * groups * taps, rows, columns):
        raise RuntimeError(
            f"offset output dims: ({offset.shape[2]}, {offset.shape[3]}) - computed output dims: ({rows}, {columns})"
        )
    offsets = offset.reshape(count, groups, taps, 2, rows, columns)
    tap_y, tap_x = (places.reshape(-1, 1, 1) for places in np.mgrid[:kernel_y, :kernel_x])
    start_y = np.arange(rows)[:, None] * step_y - pad_y + tap_y * gap_y
    start_x = np.arange(columns)[None, :] * step_x - pad_x + tap_x * gap_x
    dtype = input.dtype.numpy
    # The zeros give both grids one row and one column for each place of the result.
    y = offsets[:, :, :, 0] + from_host((start_y + 0 * start_x).astype(dtype)).to(input.device)
    x = offsets[:, :, :, 1] + from_host((start_x + 0 * start_y).astype(dtype)).to(input.device)
    values = _bilinear_values(input.reshape(count, groups, channels // groups, height * width), y, x, (height, width))
    if mask is not None:
        values = values * mask.reshape(count, groups, 1, taps, rows, columns)
    weight_groups = channels // weight.shape[1]
    flat = values.reshape(count, weight_groups, weight.shape[1] * taps, rows * columns)
    kernels = weight.reshape(weight_groups, outputs // weight_groups, weight.shape[1] * taps)
    result = (kernels @ flat).reshape(count, outputs, rows, columns)
    return result if bias is None else result + bias.reshape(1, -1, 1, 1)


def _bilinear_values(maps: Tensor, y: Tensor, x: Tensor, size: tuple[int, int]) -> Tensor:
    """Bilinear values ``(N, G, C, taps, oh, ow)`` of maps ``(N, G, C, H * W)``; outside of the maps they are 0."""
    height, width = size
    top, left = y.floor(), x.floor()
    down, right = y - top, x - left
    is_near = (y > -1) & (y < height) & (x > -1) & (x < width)
    total: Tensor | None = None
    for row, weight_y in ((top, 1 - down), (top + 1, down)):
        for column, weight_x in ((left, 1 - right), (left + 1, right)):
            is_inside = is_near & (row >= 0) & (row < height) & (column >= 0) & (column < width)
            place = (row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).detach().long()
            shape = (*maps.shape[:3], math.prod(place.shape[2:]))
            values = maps.gather(3, place.reshape(*place.shape[:2], 1, -1).expand(shape))
            weight = ops.where(is_inside, weight_y * weight_x, 0.0)
            weighted = values.reshape(*maps.shape[:3], *place.shape[2:]) * weight[:, :, None]
            total = weighted if total is None else total + weighted
    assert total is not None
    return total


class DeformConv2d(Module):
    """``deform_conv2d`` as a module, with weights like those of ``nn.Conv2d``.

    Raises:
        ValueError: numbers of channels that are no multiples of ``groups``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.DeformConv2d.html
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = two(kernel_size), two(stride)
        self.padding, self.dilation = two(padding), two(dilation)
        self.weight = Parameter(ops.empty((out_channels, in_channels // groups, *self.kernel_size)))
        self.bias = Parameter(ops.empty((out_channels,))) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.weight[0].numel())
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        return deform_conv2d(input, offset, self.weight, self.bias, self.stride, self.padding, self.dilation, mask=mask)

    def __repr__(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        text += f", padding={self.padding}" if self.padding != (0, 0) else ""
        text += f", dilation={self.dilation}" if self.dilation != (1, 1) else ""
        text += f", groups={self.groups}" if self.groups != 1 else ""
        text += ", bias=False" if self.bias is None else ""
        return f"{type(self).__name__}({text})"
