"""Batch normalization and ReLU of quantized tensors."""

from __future__ import annotations

from ....quantized.modules.batchnorm import BatchNorm2d, BatchNorm3d

__all__ = ["BNReLU2d", "BNReLU3d"]


class BNReLU2d(BatchNorm2d):
    """``nn.BatchNorm2d`` and ``nn.ReLU`` of a quantized input."""

    _relu = True

    def _get_name(self) -> str:
        return "QuantizedBNReLU2d"


class BNReLU3d(BatchNorm3d):
    """``nn.BatchNorm3d`` and ``nn.ReLU`` of a quantized input."""

    _relu = True

    def _get_name(self) -> str:
        return "QuantizedBNReLU3d"
