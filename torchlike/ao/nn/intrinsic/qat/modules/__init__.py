"""Fused layers that round their weights in training as quantization will."""

from .conv_fused import *
from .conv_fused import __all__ as _convolutions
from .linear_relu import LinearReLU as LinearReLU

__all__ = [*_convolutions, "LinearReLU"]
