"""Batch normalization of quantized tensors, with the statistics of training."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from ..... import nn, ops
from ....._core import dtypes
from ....._core.tensor import Tensor
from .....ops.creation.quantized import QuantizedTensor, requantized
from .._kernels import check_quantized, single
from .activation import observed_output

__all__ = ["BatchNorm2d", "BatchNorm3d"]


class _BatchNorm(nn.modules.batchnorm._BatchNorm):
    """The base of both."""

    scale: Tensor
    zero_point: Tensor
    _dimensions: ClassVar[int]
    _relu = False

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, device: None = None, dtype: None = None
    ) -> None:
        super().__init__(num_features, eps, momentum, True, True, device, dtype)
        self.register_buffer("scale", ops.tensor(1.0))
        self.register_buffer("zero_point", ops.tensor(0))

    def forward(self, input: Tensor) -> QuantizedTensor:
        if input.dim() != self._dimensions:
            raise ValueError("Input shape must be `(N, C, H, W)`!")
        x = check_quantized(input, f"batch_norm{self._dimensions - 2}d")
        weight: Any = self.weight
        scale, zero_point = self.scale.item(), int(self.zero_point.item())
        factor = weight.detach() / ops.sqrt(self.running_var + self.eps)  # pyright: ignore[reportOptionalOperand]
        step = single(single(x.q_scale()) / single(scale))
        shift = (self.bias.detach() - self.running_mean * factor) / single(scale)  # pyright: ignore[reportOptionalMemberAccess]
        sizes = [1, -1] + [1] * (self._dimensions - 2)
        centered = (x.int_repr().to(dtypes.int32) - x.q_zero_point()).double()
        sums = (centered * (factor * step).double().reshape(sizes) + shift.double().reshape(sizes)).float()
        one = ops.tensor(1.0)
        return requantized(sums, one, scale, zero_point, x.dtype, least=zero_point if self._relu else None)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized layer of an observed one."""
        layer = mod[0] if hasattr(mod, "_kinds") else mod
        scale, zero_point = observed_output(mod)
        result = cls(layer.num_features, layer.eps)
        result.weight, result.bias = layer.weight, layer.bias
        result.running_mean, result.running_var = layer.running_mean, layer.running_var
        result.scale, result.zero_point = ops.tensor(scale), ops.tensor(zero_point)
        return result


class BatchNorm2d(_BatchNorm):
    """``nn.BatchNorm2d`` of a quantized input, to a quantized output. ``convert`` makes it.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.nn.quantized.BatchNorm2d.html
    """

    _dimensions = 4

    def _get_name(self) -> str:
        return "QuantizedBatchNorm2d"


class BatchNorm3d(_BatchNorm):
    """``nn.BatchNorm3d`` of a quantized input, to a quantized output. ``convert`` makes it.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.nn.quantized.BatchNorm3d.html
    """

    _dimensions = 5

    def _get_name(self) -> str:
        return "QuantizedBatchNorm3d"
