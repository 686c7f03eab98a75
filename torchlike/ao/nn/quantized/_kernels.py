"""What quantized layers compute: sums of products of integers are exact, and one multiplication makes the output's integers of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .... import ops
from ...._core import dtypes
from ...._core.tensor import Tensor
from ....nn import functional as F
from ....ops.creation.quantized import RANGES, QuantizedTensor, exact_values, quantized, quantized_as, requantized

__all__ = ["convolved", "linear", "single"]

_CONVOLUTIONS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


class Places(NamedTuple):
    """Where a convolution's kernel goes."""

    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    groups: int
    output_padding: Sequence[int] | None = None  # of a transposed one


def single(number: float) -> float:
    """The number rounded to float32, in which PyTorch's kernels keep scales."""
    return float(np.float32(number))


def check_quantized(x: Tensor, name: str) -> QuantizedTensor:
    """The input, or PyTorch's error for one that is not quantized."""
    if not isinstance(x, QuantizedTensor):
        raise NotImplementedError(f"Could not run 'quantized::{name}' with arguments from the 'CPU' backend.")
    return x


def _scales_of(weight: QuantizedTensor) -> Tensor:
    """The scale for each row of outputs, or the one scale, as float32."""
    if weight._axis is None:
        return ops.tensor(single(weight.q_scale()), dtype=dtypes.float32)
    return weight.q_per_channel_scales().to(dtypes.float32)


def _centered(weight: QuantizedTensor, kind: dtypes.dtype) -> Tensor:
    """The weight's integers without its zero points."""
    integers = weight.int_repr().to(kind)
    if weight._axis is None:
        return integers - weight.q_zero_point()
    sizes = [-1 if d == weight._axis else 1 for d in range(weight.dim())]
    return integers - weight.q_per_channel_zero_points().to(kind).reshape(sizes)


def _output(
    sums: Tensor,
    x: QuantizedTensor,
    weight: QuantizedTensor,
    bias: Tensor | None,
    scale: float,
    zero_point: int,
    relu: bool,
    sizes: Sequence[int],
) -> QuantizedTensor:
    """The output of a layer, from sums of products in int32; ``sizes``: of a tensor with an element for each output channel."""
    products = _scales_of(weight) * single(x.q_scale())
    multiplier = products / single(scale)
    added = None
    if bias is not None:
        bias = bias.detach().to(dtypes.float32)
        added = bias * products.reciprocal() if weight._axis is None else bias / products
    if weight._axis is not None:
        multiplier = multiplier.reshape(sizes)
    return requantized(
        sums,
        multiplier,
        scale,
        zero_point,
        x.dtype,
        bias=None if added is None else added.reshape(sizes),
        least=zero_point if relu else None,
    )


def linear(
    x: Tensor, weight: QuantizedTensor, bias: Tensor | None, scale: float, zero_point: int, relu: bool = False
) -> QuantizedTensor:
    """``F.linear`` of a quantized input."""
    x = check_quantized(x, "linear_relu" if relu else "linear")
    left = x.int_repr().to(dtypes.int32) - x.q_zero_point()
    sums = ops.matmul(left, _centered(weight, dtypes.int32).t())
    return _output(sums, x, weight, bias, scale, zero_point, relu, [-1])


def convolved(
    x: Tensor,
    weight: QuantizedTensor,
    bias: Tensor | None,
    places: Places,
    scale: float,
    zero_point: int,
    relu: bool = False,
) -> QuantizedTensor:
    """A convolution of a quantized input, transposed where ``places`` has an output padding.

    Sums are taken in float64, which holds them all, since there are fast convolutions for it.
    """
    n = weight.dim() - 2
    x = check_quantized(x, f"conv{n}d_relu" if relu else f"conv{n}d")
    left, right = x.int_repr().double() - x.q_zero_point(), _centered(weight, dtypes.float64)
    stride, padding, dilation = list(places.stride), list(places.padding), list(places.dilation)
    if places.output_padding is None:
        sums = _CONVOLUTIONS[n](left, right, None, stride, padding, dilation, places.groups)
    else:
        sums = _TRANSPOSED[n](left, right, None, stride, padding, list(places.output_padding), places.groups, dilation)
    return _output(sums.to(dtypes.int32), x, weight, bias, scale, zero_point, relu, [-1] + [1] * n)


def added(x: Tensor, y: Tensor, scale: float, zero_point: int, relu: bool = False) -> QuantizedTensor:
    """``x + y``."""
    x, y = check_quantized(x, "add"), check_quantized(y, "add")
    total = exact_values(x) + exact_values(y)
    return quantized_as(F.relu(total) if relu else total, scale, zero_point, x.dtype)


def multiplied(x: Tensor, y: Tensor, scale: float, zero_point: int) -> QuantizedTensor:
    """``x * y``."""
    x, y = check_quantized(x, "mul"), check_quantized(y, "mul")
    factors = [tensor.int_repr().to(dtypes.int32) - tensor.q_zero_point() for tensor in (x, y)]
    multiplier = np.float32(x.q_scale()) * np.float32(y.q_scale()) * (np.float32(1) / np.float32(scale))
    return requantized(
        factors[0] * factors[1], ops.tensor(float(multiplier), dtype=dtypes.float32), scale, zero_point, x.dtype
    )


def joined(tensors: Sequence[Tensor], dim: int, scale: float, zero_point: int) -> QuantizedTensor:
    """``torch.cat``."""
    every = [check_quantized(tensor, "cat") for tensor in tensors]
    values = ops.cat([tensor.dequantize() for tensor in every], dim=dim)
    return ops.quantize_per_tensor(values, scale, zero_point, every[0].dtype)


def product(x: Tensor, y: Tensor, scale: float, zero_point: int) -> QuantizedTensor:
    """``x @ y``."""
    x, y = check_quantized(x, "matmul"), check_quantized(y, "matmul")
    left, right = (tensor.int_repr().to(dtypes.int32) - tensor.q_zero_point() for tensor in (x, y))
    multiplier = np.float32(x.q_scale()) * np.float32(y.q_scale()) / np.float32(scale)
    sums = ops.matmul(left, right)
    return requantized(sums, ops.tensor(float(multiplier), dtype=dtypes.float32), scale, zero_point, x.dtype)


def moved(x: Tensor, number: float) -> QuantizedTensor:
    """``x + number``. The zero point moves; where it would leave the dtype's range, the scale becomes larger instead."""
    x = check_quantized(x, "add_scalar")
    low, high = RANGES[x.dtype]
    scale, zero_point = x.q_scale(), x.q_zero_point()
    steps = round(number / scale)
    new_zero = zero_point - steps
    if low <= new_zero <= high:
        return quantized(x.int_repr(), x.dtype, scale, new_zero)
    # Of the bounds of all values one stays, and the other one moves to 0 or beyond.
    bound = low if new_zero < low else high
    wide = abs(high - low if bound == low else low - high) + abs(bound - new_zero)
    new_scale = scale * wide / (high - low)
    return quantized_as(x.dequantize() + steps * scale, new_scale, bound, x.dtype)


def scaled(x: Tensor, number: float) -> QuantizedTensor:
    """``x * number``: the scale changes. A negative number turns the integers round."""
    x = check_quantized(x, "mul_scalar")
    low, high = RANGES[x.dtype]
    if number == 0:
        return quantized(x.int_repr() * 0, x.dtype, 1.0, 0)
    if number > 0:
        return quantized(x.int_repr(), x.dtype, x.q_scale() * number, x.q_zero_point())
    integers = (low + high - x.int_repr().to(dtypes.int32)).to(x.int_repr().dtype)
    return quantized(integers, x.dtype, -number * x.q_scale(), low + high - x.q_zero_point())
