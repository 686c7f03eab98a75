"""Functions of quantized tensors that need a scale and a zero point of their output, or are PyTorch's names for others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .... import ops
from ...._core import dtypes
from ...._core.tensor import Tensor
from ....nn import functional as F
from ....nn.modules.padding import ntuple
from ....ops.creation.quantized import QuantizedTensor, exact_values, quantized_as
from . import _kernels as kernels
from .modules.activation import hardswish_values

__all__ = [
    "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool2d", "avg_pool3d", "celu", "clamp", "conv1d", "conv2d", "conv3d", "elu",
    "hardsigmoid", "hardswish", "hardtanh", "interpolate", "leaky_relu", "linear", "max_pool1d", "max_pool2d", "upsample",
    "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

IntOrInts = int | Sequence[int]


def _check(input: Tensor, name: str) -> QuantizedTensor:
    if not isinstance(input, QuantizedTensor):
        raise ValueError(f"Input to 'quantized.{name}' must be quantized!")
    return input


def avg_pool2d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """``F.avg_pool2d`` of a quantized tensor."""
    x = _check(input, "avg_pool2d")
    return F.avg_pool2d(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """``F.avg_pool3d`` of a quantized tensor."""
    x = _check(input, "avg_pool3d")
    return F.avg_pool3d(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def adaptive_avg_pool2d(input: Tensor, output_size: IntOrInts) -> Tensor:
    """``F.adaptive_avg_pool2d`` of a quantized tensor."""
    return F.adaptive_avg_pool2d(_check(input, "functional.adaptive_avg_pool2d"), output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: IntOrInts) -> Tensor:
    """``F.adaptive_avg_pool3d`` of a quantized tensor."""
    return F.adaptive_avg_pool3d(_check(input, "functional.adaptive_avg_pool3d"), output_size)


def _convolution(
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    places: tuple[IntOrInts, IntOrInts, IntOrInts, int],
    padding_mode: str,
    scale: float,
    zero_point: int,
    dtype: dtypes.dtype,
) -> QuantizedTensor:
    if padding_mode != "zeros":
        raise NotImplementedError("Only zero-padding is supported!")
    if input.dtype is not dtypes.quint8:
        raise NotImplementedError("Only torch.quint8 is supported for activation tensor!")
    if weight.dtype is not dtypes.qint8:
        raise NotImplementedError("Only torch.qint8 is supported for weight tensor!")
    if dtype is not dtypes.quint8:
        raise NotImplementedError(f"torchlike does not support quantized convolutions to {dtype}")
    if input.dim() != n + 2:
        raise ValueError(f"Input shape must be `{('(N, C, L)', '(N, C, H, W)', '(N, C, D, H, W)')[n - 1]}`!")
    sizes = [ntuple(size, n) for size in places[:3]]
    kernel = kernels.check_quantized(weight, f"conv{n}d")
    return kernels.convolved(
        input, kernel, bias, kernels.Places(sizes[0], sizes[1], sizes[2], places[3]), scale, zero_point
    )


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
    scale: float = 1.0,
    zero_point: int = 0,
    dtype: dtypes.dtype = dtypes.quint8,
) -> QuantizedTensor:
    """``F.conv1d`` of a quantized input and weight, to an output with this scale and zero point."""
    places = (stride, padding, dilation, groups)
    return _convolution(1, input, weight, bias, places, padding_mode, scale, zero_point, dtype)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
    scale: float = 1.0,
    zero_point: int = 0,
    dtype: dtypes.dtype = dtypes.quint8,
) -> QuantizedTensor:
    """``F.conv2d`` of a quantized input and weight, to an output with this scale and zero point."""
    places = (stride, padding, dilation, groups)
    return _convolution(2, input, weight, bias, places, padding_mode, scale, zero_point, dtype)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
    padding_mode: str = "zeros",
    scale: float = 1.0,
    zero_point: int = 0,
    dtype: dtypes.dtype = dtypes.quint8,
) -> QuantizedTensor:
    """``F.conv3d`` of a quantized input and weight, to an output with this scale and zero point."""
    places = (stride, padding, dilation, groups)
    return _convolution(3, input, weight, bias, places, padding_mode, scale, zero_point, dtype)


def linear(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    scale: float | None = None,
    zero_point: int | None = None,
) -> QuantizedTensor:
    """``F.linear`` of a quantized input and weight; without a scale and a zero point the output has the input's."""
    x, matrix = kernels.check_quantized(input, "linear"), kernels.check_quantized(weight, "linear")
    scale = x.q_scale() if scale is None else scale
    return kernels.linear(x, matrix, bias, scale, x.q_zero_point() if zero_point is None else zero_point)


def max_pool1d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """``F.max_pool1d`` of a quantized tensor."""
    if return_indices:
        raise NotImplementedError("return_indices is not yet implemented!")
    return F.max_pool1d(_check(input, "max_pool1d"), kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None = None,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """``F.max_pool2d`` of a quantized tensor."""
    if return_indices:
        raise NotImplementedError("return_indices is not yet implemented!")
    return F.max_pool2d(_check(input, "max_pool2d"), kernel_size, stride, padding, dilation, ceil_mode)


def celu(input: Tensor, scale: float, zero_point: int, alpha: float = 1.0) -> QuantizedTensor:
    """``F.celu`` with a scale and a zero point of the output."""
    x = _check(input, "celu")
    return quantized_as(F.celu(exact_values(x), alpha), scale, zero_point, x.dtype)


def elu(input: Tensor, scale: float, zero_point: int, alpha: float = 1.0) -> QuantizedTensor:
    """``F.elu`` with a scale and a zero point of the output."""
    x = _check(input, "elu")
    return quantized_as(F.elu(exact_values(x), alpha), scale, zero_point, x.dtype)


def hardswish(input: Tensor, scale: float, zero_point: int) -> QuantizedTensor:
    """``F.hardswish`` with a scale and a zero point of the output."""
    x = _check(input, "hardswish")
    return quantized_as(hardswish_values(exact_values(x)), scale, zero_point, x.dtype)


def leaky_relu(
    input: Tensor,
    negative_slope: float = 0.01,
    inplace: bool = False,
    scale: float | None = None,
    zero_point: int | None = None,
) -> Tensor:
    """``F.leaky_relu``; without a scale and a zero point the output has the input's."""
    if scale is None or zero_point is None:
        return F.leaky_relu(input, negative_slope, inplace)
    if inplace:
        raise AssertionError("Cannot rescale with `inplace`")
    x = kernels.check_quantized(input, "leaky_relu")
    return quantized_as(F.leaky_relu(exact_values(x), negative_slope), scale, zero_point, x.dtype)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """``F.hardtanh`` of a quantized tensor."""
    return F.hardtanh(_check(input, "hardtanh"), min_val, max_val, inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``F.hardsigmoid`` of a quantized tensor."""
    return F.hardsigmoid(_check(input, "hardsigmoid"), inplace)


def clamp(input: Tensor, min_: float, max_: float) -> Tensor:
    """``torch.clamp`` of a quantized tensor."""
    return ops.clamp(_check(input, "clamp"), min_, max_)


def interpolate(
    input: Tensor,
    size: IntOrInts | None = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """``F.interpolate`` of a quantized tensor."""
    return F.interpolate(_check(input, "interpolate"), size, scale_factor, mode, align_corners)


upsample = interpolate


def upsample_nearest(
    input: Tensor, size: IntOrInts | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """``interpolate`` with the nearest elements."""
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: Tensor, size: IntOrInts | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """``interpolate`` with weighted elements, corners aligned."""
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
