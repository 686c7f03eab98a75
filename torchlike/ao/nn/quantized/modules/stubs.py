"""Where tensors are quantized in a model, and where they become floats again."""

from __future__ import annotations

from typing import Any, Self

from ..... import nn, ops
from ....._core import dtypes
from ....._core.tensor import Tensor
from .....nn.modules.module import Module

__all__ = ["DeQuantize", "MaxPool2d", "Quantize"]


class Quantize(Module):
    """Quantizes its input. ``convert`` makes it of a ``QuantStub``.

    >>> from torchlike.ao.nn.quantized import Quantize
    >>> Quantize(1.0, 2, torch.quint8)(torch.tensor([1.0, 3.0])).int_repr()
    tensor([3, 5], dtype=torch.uint8)
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self, scale: float | Tensor, zero_point: int | Tensor, dtype: dtypes.dtype, factory_kwargs: object = None
    ) -> None:
        super().__init__()
        self.register_buffer("scale", ops.tensor([float(scale)]))
        self.register_buffer("zero_point", ops.tensor([int(zero_point)]))
        self.dtype = dtype

    def forward(self, X: Tensor) -> Tensor:
        return ops.quantize_per_tensor(X, self.scale.item(), int(self.zero_point.item()), self.dtype)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The module that quantizes, of an observed stub."""
        if not hasattr(mod, "activation_post_process"):
            raise AssertionError("The input module must have 'activation_post_process' attribute")
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        return cls(scale.float().item(), int(zero_point.item()), mod.activation_post_process.dtype)

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(Module):
    """Returns its input's values as floats. ``convert`` makes it of a ``DeQuantStub``."""

    def forward(self, Xq: Tensor) -> Tensor:
        return Xq.dequantize()

    @classmethod
    def from_float(cls, mod: object, use_precomputed_fake_quant: bool = False) -> Self:
        """The module that makes floats, of a stub."""
        return cls()


class MaxPool2d(nn.MaxPool2d):
    """``nn.MaxPool2d``, which takes quantized tensors itself."""
