"""Activations, normalisation, pooling, embedding, dropout and resampling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from ..._core import dtypes
from ..._core.modes import undispatched
from ..._core.overridable import overridable_namespaces
from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...dispatch.bindings import FUNCTIONS
from .conversion import contiguous, to_dtype
from .table import expands, op

__all__ = ["softmax"]

Lengths: TypeAlias = "int | Sequence[int]"


def _with_inplace(name: str) -> None:
    """Declares an activation of ``torch.nn.functional``, whose argument ``inplace`` chooses between two operators."""

    @expands(f"F.{name}")
    def activate(input: Tensor, inplace: bool, **numbers: float) -> Tensor:
        return op(f"{name}_" if inplace else name)(input, *numbers.values())


for name in (
    "relu", "silu", "elu", "leaky_relu", "hardtanh", "hardswish", "hardsigmoid", "mish", "celu", "selu",
):  # fmt: skip
    _with_inplace(name)


@expands("F.relu6")
def relu6(input: Tensor, inplace: bool) -> Tensor:
    """``hardtanh``."""
    return op("hardtanh_" if inplace else "hardtanh")(input, 0, 6)


def _softmax(name: str) -> Any:
    @expands(name)
    def softmax(input: Tensor, dim: int | None, dtype: dtypes.dtype | None) -> Tensor:
        """The inner operator, which knows no dtype."""
        input = to_dtype(input, dtype)
        if dim is None:
            dim = 0 if input.dim() in (0, 1, 3) else 1
        return op(f"_{name}")(input, dim, False)

    return softmax


softmax = _softmax("softmax")
_softmax("log_softmax")


@expands("F.dropout", unchecked=True)
def dropout(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """A mask of zeros and of ``1 / (1 - p)``, and the product with it."""
    if not training or not p or not input.numel():
        return input
    mask = op("bernoulli_", "float")(op("empty_like")(input), 1 - p)
    op("div_", "Scalar")(mask, 1 - p)
    return op("mul_" if inplace else "mul", "Tensor")(input, mask)


@expands("torch.dropout", unchecked=True)
def dropout_function(input: Tensor, p: float, train: bool) -> Tensor:
    """``torch.nn.functional.dropout``."""
    return dropout(input, p, train, False)


@expands("F.embedding")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None,
    scale_grad_by_freq: bool,
) -> Tensor:
    """``embedding`` of the table and the indices."""
    padding_idx = -1 if padding_idx is None else padding_idx % weight.shape[0]
    return op("embedding")(weight, input, padding_idx, scale_grad_by_freq)


# ---- normalisation


@expands("layer_norm")
def layer_norm(
    input: Tensor, normalized_shape: Lengths, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Tensor:
    """``native_layer_norm``."""
    return op("native_layer_norm")(input, normalized_shape, weight, bias, eps)[0]


@expands("group_norm")
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """``native_group_norm``."""
    batch, channels, *lengths = input.shape
    size = math.prod(lengths)
    return op("native_group_norm")(contiguous(input), weight, bias, batch, channels, size, num_groups, eps)[0]


@expands("F.batch_norm")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    """``native_batch_norm``, after ``empty`` for what other devices keep."""
    op("empty", "memory_format")([0], dtype=dtypes.uint8, device=input.device, pin_memory=False)
    return op("native_batch_norm")(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


# ---- pooling


@expands("F.max_pool2d")
def max_pool2d(
    input: Tensor,
    kernel_size: Lengths,
    stride: Lengths | None,
    padding: Lengths,
    dilation: Lengths,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    """``max_pool2d_with_indices``."""
    stride = [] if stride is None else stride
    result = op("max_pool2d_with_indices")(input, kernel_size, stride, padding, dilation, ceil_mode)
    return result if return_indices else result[0]


@expands("torch.max_pool2d")
def max_pool2d_function(
    input: Tensor, kernel_size: Lengths, stride: Lengths, padding: Lengths, dilation: Lengths, ceil_mode: bool
) -> Tensor:
    """``torch.nn.functional.max_pool2d``."""
    return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, False)


@expands("avg_pool2d")
def avg_pool2d(
    input: Tensor,
    kernel_size: Lengths,
    stride: Lengths | None,
    padding: Lengths,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    """The operator of the same name."""
    stride = [] if stride is None else stride
    return op("avg_pool2d")(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@expands("adaptive_avg_pool2d")
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """``mean`` for an output of one element, else ``_adaptive_avg_pool2d``."""
    output_size = (output_size, output_size) if isinstance(output_size, int) else output_size
    sizes = [old if new is None else new for new, old in zip(output_size, input.shape[-2:], strict=True)]
    if sizes == [1, 1]:
        return op("mean", "dim")(input, [-1, -2], True)
    return op("_adaptive_avg_pool2d")(input, sizes)


# ---- padding and resampling


@expands("pad")
def pad(input: Tensor, pad: Sequence[int], mode: str, value: float | None) -> Tensor:
    """``constant_pad_nd``, or the function as a whole."""
    if mode == "constant":
        return op("constant_pad_nd")(input, list(pad), 0.0 if value is None else value)
    return op("pad")(input, list(pad), mode, value)


_UPSAMPLE = {
    ("nearest", 3): "upsample_nearest1d", ("nearest", 4): "upsample_nearest2d", ("nearest", 5): "upsample_nearest3d",
    ("nearest-exact", 4): "_upsample_nearest_exact2d", ("linear", 3): "upsample_linear1d", ("bilinear", 4): "upsample_bilinear2d",
    ("bicubic", 4): "upsample_bicubic2d", ("trilinear", 5): "upsample_trilinear3d",
}  # fmt: skip


@expands("interpolate")
def interpolate(
    input: Tensor,
    size: Any,
    scale_factor: Any,
    mode: str,
    align_corners: bool | None,
    recompute_scale_factor: bool | None,
    antialias: bool,
) -> Tensor:
    """``upsample_nearest2d`` and the like, as PyTorch names them by mode and number of dimensions."""
    name = _UPSAMPLE.get((mode, input.dim()))
    whole = overridable_namespaces()["torch.nn.functional"]["interpolate"]  # pyright: ignore[reportIndexIssue, reportArgumentType]
    options = (size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
    if name is None or antialias:
        with undispatched():
            return whole(input, *options)
    with undispatched(), no_grad():
        shape = whole(FUNCTIONS["empty"](*input.shape, dtype=input.dtype, device="meta"), *options).shape
    count = input.dim() - 2
    scales = [None] * count
    if scale_factor is not None and not recompute_scale_factor:
        factors = [scale_factor] * count if isinstance(scale_factor, (int, float)) else scale_factor
        scales = [float(factor) for factor in factors]
    corners = [] if "nearest" in mode else [bool(align_corners)]
    return op(name)(input, list(shape[2:]), *corners, *scales)
