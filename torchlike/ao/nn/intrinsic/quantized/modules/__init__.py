"""Fused layers that compute with integers."""

from .bn_relu import BNReLU2d as BNReLU2d, BNReLU3d as BNReLU3d
from .conv_relu import ConvReLU1d as ConvReLU1d, ConvReLU2d as ConvReLU2d, ConvReLU3d as ConvReLU3d
from .linear_relu import LinearReLU as LinearReLU

__all__ = ["BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]
