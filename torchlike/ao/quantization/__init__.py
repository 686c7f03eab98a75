"""torch.ao.quantization: observers, fake quantization, and models whose linear layers compute with integers."""

from . import fake_quantize, observer, qconfig
from .fake_quantize import *
from .observer import *
from .qconfig import *
from .quantize import quantize_dynamic as quantize_dynamic

__all__ = ["quantize_dynamic", *fake_quantize.__all__, *observer.__all__, *qconfig.__all__]
