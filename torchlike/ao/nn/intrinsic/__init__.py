"""torch.ao.nn.intrinsic: layers that are fused before they are quantized."""

from .modules import *
from .modules import __all__ as __all__
