"""Fake quantization: values are rounded to those that an integer dtype could hold, and stay floats."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from ..._core import dtypes
from ..._core.meta import on_meta
from ..._core.tensor import Tensor, wrap_dim
from ...dispatch.register import Category, Form, Indices, Promote, Saves, composite, op

_PER_TENSOR = "FakeQuantizePerTensorAffineCachemaskBackward0"
_PER_TENSOR_OF_TENSORS = "FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0"
_PER_CHANNEL = "FakeQuantizePerChannelAffineCachemaskBackward0"


@partial(jax.custom_jvp, nondiff_argnums=(3, 4))
def _rounded(x: Array, scale: Array, zero_point: Array, low: int, high: int) -> Array:
    number = _number(x, scale, zero_point)
    # PyTorch converts to an integer, and the conversion makes the smallest one of NaN.
    return (jnp.where(jnp.isnan(number), low, jnp.clip(number, low, high)) - zero_point) * scale


def _number(x: Array, scale: Array, zero_point: Array) -> Array:
    # As PyTorch does, multiply by the reciprocal: a division would round some numbers to the neighbouring integer.
    is_integral = zero_point == jnp.round(zero_point)  # one that is not is added before rounding, as PyTorch does
    return jnp.where(is_integral, zero_point + jnp.round(x * (1 / scale)), jnp.round(x * (1 / scale) + zero_point))


@_rounded.defjvp
def _rounded_derivative(low: int, high: int, primals: Any, tangents: Any) -> tuple[Array, Array]:
    """The gradient passes where nothing was clipped, as if nothing had been rounded."""
    x, scale, zero_point = primals
    number = _number(x, scale, zero_point)
    inside = (number >= low) & (number <= high)
    return _rounded(x, scale, zero_point, low, high), jnp.where(inside, tangents[0], jnp.zeros((), x.dtype))


@op(
    name="_fake_quantize",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward=lambda *args: args[-1],
    refuse="fake_quantize_tensor_cachemask_kernel_type_handling",
    saves=Saves.NOTHING,  # but a mask
    samples=[],
)
def fake_quantized(
    input: Array, scale: Indices, zero_point: Indices, low: int, high: int, axis: int | None, node_name: str
) -> Array:
    """The values nearest to the elements among those that an integer from ``low`` to ``high`` stands for."""
    kind = jnp.float64 if input.dtype == jnp.float64 else jnp.float32
    sizes = () if axis is None else tuple(-1 if d == axis else 1 for d in range(input.ndim))
    scale, zero_point = (
        jax.lax.stop_gradient(parameter.astype(kind).reshape(sizes)) for parameter in (scale, zero_point)
    )
    return _rounded(input.astype(kind), scale, zero_point, low, high).astype(input.dtype)


@composite(forms=Form.FUNCTION)
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: float | Tensor, zero_point: int | Tensor, quant_min: int, quant_max: int
) -> Tensor:
    """Rounds to the values ``(n - zero_point) * scale`` for whole numbers n from ``quant_min`` to ``quant_max``.

    The gradient passes as if nothing had been rounded, and is 0 where an element lies outside.

    Raises:
        RuntimeError: ``quant_min`` is above ``quant_max``, or ``zero_point`` is not between them.

    >>> torch.fake_quantize_per_tensor_affine(torch.tensor([0.12, 0.26, 9.0]), 0.1, 0, 0, 10)
    tensor([0.1000, 0.3000, 1.0000])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.fake_quantize_per_tensor_affine.html
    """
    _check_range(quant_min, quant_max)
    if isinstance(scale, Tensor) and isinstance(zero_point, Tensor):
        node_name = _PER_TENSOR_OF_TENSORS
    else:
        node_name = _PER_TENSOR
        if not quant_min <= int(zero_point) <= quant_max:
            raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
        scale = input.new_tensor(float(scale), dtype=dtypes.float32)
        zero_point = input.new_tensor(int(zero_point), dtype=dtypes.int32)
    return fake_quantized(input, scale.reshape(()), zero_point.reshape(()), quant_min, quant_max, None, node_name)


@composite(forms=Form.FUNCTION)
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """``fake_quantize_per_tensor_affine`` with a scale and a zero point for each index of one dimension.

    Raises:
        RuntimeError: ``scale`` or ``zero_point`` is of another dtype or length, or a zero point is out of range.

    >>> scale, zero = torch.tensor([1.0, 0.5]), torch.tensor([0, 0], dtype=torch.int32)
    >>> torch.fake_quantize_per_channel_affine(torch.tensor([[1.2, 9.0], [1.2, 9.0]]), scale, zero, 0, 0, 7)
    tensor([[1.0000, 7.0000],
            [1.0000, 3.5000]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.fake_quantize_per_channel_affine.html
    """
    if scale.dtype not in (dtypes.float32, dtypes.bfloat16):
        raise RuntimeError(f"Scale must be Float or BFloat16, found {scale.dtype.scalar_name}")
    if zero_point.dtype not in (dtypes.int32, dtypes.float32, dtypes.float16):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {zero_point.dtype.scalar_name}")
    for name, parameter in (("scale", scale), ("zero point", zero_point)):
        if parameter.dim() != 1:
            raise RuntimeError(f"{name} should be a 1-D tensor")
    if scale.numel() != zero_point.numel():
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if scale.numel() != input.shape[wrap_dim(axis, input.dim())]:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    _check_range(quant_min, quant_max)
    if not zero_point.is_floating_point() and not on_meta(zero_point):
        lowest, highest = zero_point.min().item(), zero_point.max().item()
        if lowest < quant_min or highest > quant_max:
            raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    return fake_quantized(input, scale, zero_point, quant_min, quant_max, axis, _PER_CHANNEL)


def _check_range(low: int, high: int) -> None:
    if low > high:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")
