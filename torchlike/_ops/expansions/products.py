"""Products of matrices, convolutions and attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from ..._core.tensor import Tensor
from ...dispatch.bindings import FUNCTIONS
from ...ops.nn.attention import FLASH, backward_name
from .shapes import reshape
from .table import expands, op

__all__ = ["matmul"]

Lengths: TypeAlias = "int | Sequence[int]"


@expands("linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``t`` and ``addmm``, or ``mm``."""
    rank = input.dim()
    if bias is not None and rank == 2:
        return op("addmm")(bias, input, op("t")(weight))
    if bias is not None and rank == 3 and input.is_contiguous():
        rows = op("view")(input, [input.shape[0] * input.shape[1], input.shape[2]])
        return op("view")(op("addmm")(bias, rows, op("t")(weight)), [*input.shape[:-1], weight.shape[0]])
    result = matmul(input, op("t")(weight) if weight.dim() == 2 else weight)
    return result if bias is None else op("add", "Tensor")(result, bias)


@expands("matmul")
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """``dot``, ``mv``, ``mm`` or ``bmm``."""
    left, right = input.dim(), other.dim()
    if not left or not right:
        return op("matmul")(input, other)  # an error, which the function raises
    if left == right == 1:
        return op("dot")(input, other)
    if right == 1 and left == 2:
        return op("mv")(input, other)
    if left == 1 and right == 2:
        return op("squeeze", "dim")(op("mm")(op("unsqueeze")(input, 0), other), 0)
    if left == right == 2:
        return op("mm")(input, other)
    if left >= 3 and right == 2 and (other.requires_grad or input.is_contiguous()):
        rows = reshape(input, [-1, input.shape[-1]])
        return op("_unsafe_view")(op("mm")(rows, other), [*input.shape[:-1], other.shape[-1]])
    return _batched(input, other)


def _batched(input: Tensor, other: Tensor) -> Tensor:
    batch = list(FUNCTIONS["broadcast_shapes"](input.shape[:-2], other.shape[:-2]))
    rows = [input.shape[-2]] if input.dim() > 1 else []
    columns = [other.shape[-1]] if other.dim() > 1 else []
    left = input if rows else op("unsqueeze")(input, 0)
    right = other if columns else op("unsqueeze")(other, 1)
    count = math.prod(batch)
    left = reshape(op("expand")(left, [*batch, *left.shape[-2:]]), [count, *left.shape[-2:]])
    right = reshape(op("expand")(right, [*batch, *right.shape[-2:]]), [count, *right.shape[-2:]])
    return op("_unsafe_view")(op("bmm")(left, right), [*batch, *rows, *columns])


@expands("einsum")
def einsum(equation: str, *operands: Any) -> Tensor:
    """The function as a whole."""
    tensors = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    return op("einsum")(equation, list(tensors))


@expands("outer", "ger")
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """``view`` and ``mul``."""
    return op("mul", "Tensor")(reshape(input, [input.shape[0], 1]), vec2)


# ---- convolutions


def _lengths(value: Lengths, count: int) -> list[int]:
    if isinstance(value, int):
        return [int(value)] * count
    return [int(n) for n in value] * (count if len(value) == 1 else 1)


def _convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, lengths: Sequence[Lengths], transposed: bool, groups: int
) -> Tensor:
    """``convolution``, of a batch. ``lengths``: stride, padding, dilation and output padding."""
    count = weight.dim() - 2
    single = input.dim() == count + 1
    x = op("unsqueeze")(input, 0) if single else input
    stride, padding, dilation, output_padding = (_lengths(value, count) for value in lengths)
    result = op("convolution")(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    return op("squeeze", "dim")(result, 0) if single else result


@expands("conv1d", "conv2d", "conv3d")
def convolve(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Lengths,
    padding: Lengths | str,
    dilation: Lengths,
    groups: int,
) -> Tensor:
    """``convolution``, after ``constant_pad_nd`` where ``"same"`` pads one side more than the other."""
    if padding == "valid":
        padding = 0
    elif padding == "same":
        kernel = weight.shape[2:]
        totals = [d * (k - 1) for d, k in zip(_lengths(dilation, len(kernel)), kernel, strict=True)]
        if any(total % 2 for total in totals):
            ends = [n for total in reversed(totals) for n in (0, total % 2)]
            input = op("constant_pad_nd")(input, ends, 0)
        padding = [total // 2 for total in totals]
    assert not isinstance(padding, str)
    return _convolution(input, weight, bias, (stride, padding, dilation, 0), False, groups)


@expands("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def convolve_transposed(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Lengths,
    padding: Lengths,
    output_padding: Lengths,
    groups: int,
    dilation: Lengths,
) -> Tensor:
    """``convolution``."""
    return _convolution(input, weight, bias, (stride, padding, dilation, output_padding), True, groups)


@expands("scaled_dot_product_attention")
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Tensor:
    """The CPU's own operator where PyTorch has it, else the function as a whole."""
    avals: list[Any] = [x._aval for x in (query, key, value)]
    if (
        not dropout_p
        and not enable_gqa
        and backward_name(avals[0], avals[1], avals[2], None, None, is_causal, scale, False) == FLASH
    ):
        flash = op("_scaled_dot_product_flash_attention_for_cpu")
        options = {name: value for name, value in (("attn_mask", attn_mask), ("scale", scale)) if value is not None}
        return flash(query, key, value, 0.0, is_causal, **options)[0]
    whole = op("scaled_dot_product_attention")
    return whole(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
