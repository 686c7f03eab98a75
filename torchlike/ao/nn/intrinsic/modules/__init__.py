"""Layers that are fused before they are quantized."""

from .fused import *
from .fused import __all__ as __all__
