"""Convolutions and ReLU of quantized tensors."""

from ....quantized.modules.conv import Conv1d, Conv2d, Conv3d

__all__ = ["ConvReLU1d", "ConvReLU2d", "ConvReLU3d"]


class ConvReLU1d(Conv1d):
    """``nn.Conv1d`` and ``nn.ReLU`` of a quantized input."""

    _relu = True


class ConvReLU2d(Conv2d):
    """``nn.Conv2d`` and ``nn.ReLU`` of a quantized input."""

    _relu = True


class ConvReLU3d(Conv3d):
    """``nn.Conv3d`` and ``nn.ReLU`` of a quantized input."""

    _relu = True
