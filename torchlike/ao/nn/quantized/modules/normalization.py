"""Normalization of quantized tensors over layers, groups and instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from ..... import nn
from ....._core.tensor import Tensor
from .....nn import functional as F
from .....ops.creation.quantized import QuantizedTensor, exact_values, quantized_as
from .._kernels import check_quantized
from .activation import keep_scale, observed_output

__all__ = ["GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm"]


class LayerNorm(nn.LayerNorm):
    """``nn.LayerNorm`` with a scale and a zero point of its output."""

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        weight: Any,
        bias: Any,
        scale: float,
        zero_point: int,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        device: None = None,
        dtype: None = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, device=device, dtype=dtype)  # pyright: ignore[reportArgumentType]
        self.weight, self.bias = weight, bias
        keep_scale(self, scale, zero_point)

    def forward(self, input: Tensor) -> QuantizedTensor:
        x = check_quantized(input, "layer_norm")
        return quantized_as(
            super().forward(exact_values(x)).detach(), self.scale.item(), int(self.zero_point.item()), x.dtype
        )

    def _get_name(self) -> str:
        return "QuantizedLayerNorm"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized layer of an observed one."""
        scale, zero_point = observed_output(mod)
        return cls(mod.normalized_shape, mod.weight, mod.bias, scale, zero_point, mod.eps, mod.elementwise_affine)


class GroupNorm(nn.GroupNorm):
    """``nn.GroupNorm`` with a scale and a zero point of its output."""

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        weight: Any,
        bias: Any,
        scale: float,
        zero_point: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: None = None,
        dtype: None = None,
    ) -> None:
        super().__init__(num_groups, num_channels, eps, affine, device, dtype)
        self.weight, self.bias = weight, bias
        keep_scale(self, scale, zero_point)

    def forward(self, input: Tensor) -> QuantizedTensor:
        x = check_quantized(input, "group_norm")
        return quantized_as(
            super().forward(exact_values(x)).detach(), self.scale.item(), int(self.zero_point.item()), x.dtype
        )

    def _get_name(self) -> str:
        return "QuantizedGroupNorm"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized layer of an observed one."""
        scale, zero_point = observed_output(mod)
        arguments = (mod.num_groups, mod.num_channels, mod.weight, mod.bias, scale, zero_point)
        return cls(*arguments, mod.eps, mod.affine)


class _InstanceNorm(nn.modules.instancenorm._InstanceNorm):
    """The base of all three."""

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        num_features: int,
        weight: Any,
        bias: Any,
        scale: float,
        zero_point: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: None = None,
        dtype: None = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)
        self.weight, self.bias = weight, bias
        keep_scale(self, scale, zero_point)

    def forward(self, input: Tensor) -> QuantizedTensor:
        x = check_quantized(input, "instance_norm")
        weight, bias = (None if number is None else number.detach() for number in (self.weight, self.bias))
        values = F.instance_norm(exact_values(x), None, None, weight, bias, True, 0.1, self.eps)
        return quantized_as(values, self.scale.item(), int(self.zero_point.item()), x.dtype)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized layer of an observed one."""
        scale, zero_point = observed_output(mod)
        return cls(mod.num_features, mod.weight, mod.bias, scale, zero_point, mod.eps, mod.affine)


class InstanceNorm1d(_InstanceNorm, nn.InstanceNorm1d):
    """``nn.InstanceNorm1d`` with a scale and a zero point of its output."""


class InstanceNorm2d(_InstanceNorm, nn.InstanceNorm2d):
    """``nn.InstanceNorm2d`` with a scale and a zero point of its output."""


class InstanceNorm3d(_InstanceNorm, nn.InstanceNorm3d):
    """``nn.InstanceNorm3d`` with a scale and a zero point of its output."""
