"""torch.ao.nn.quantized: modules that compute with integers."""

from . import functional as functional
from .modules import *
from .modules import __all__ as __all__
