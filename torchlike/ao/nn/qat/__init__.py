"""torch.ao.nn.qat: layers that round their weights in training as quantization will."""

from .modules import *
from .modules import __all__ as __all__
