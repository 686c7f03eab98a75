"""Convolutions that round their weights in training as quantization will."""

from __future__ import annotations

from ..... import nn
from ....._core.tensor import Tensor
from ._base import FakeQuantized

__all__ = ["Conv1d", "Conv2d", "Conv3d"]

ARGUMENTS = ("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode")


class Conv1d(FakeQuantized, nn.Conv1d):
    """``nn.Conv1d`` with ``weight_fake_quant``."""

    _FLOAT_MODULE = nn.Conv1d
    _FLOAT_CONV_MODULE = nn.Conv1d
    _arguments = ARGUMENTS

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)


class Conv2d(FakeQuantized, nn.Conv2d):
    """``nn.Conv2d`` with ``weight_fake_quant``. ``prepare_qat`` makes it."""

    _FLOAT_MODULE = nn.Conv2d
    _FLOAT_CONV_MODULE = nn.Conv2d
    _arguments = ARGUMENTS

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)


class Conv3d(FakeQuantized, nn.Conv3d):
    """``nn.Conv3d`` with ``weight_fake_quant``."""

    _FLOAT_MODULE = nn.Conv3d
    _FLOAT_CONV_MODULE = nn.Conv3d
    _arguments = ARGUMENTS

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)
