"""torch.ao.nn.intrinsic.quantized: fused layers that compute with integers."""

from .modules import *
from .modules import __all__ as __all__
