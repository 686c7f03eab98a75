"""torch.quantization: the older name of torch.ao.quantization."""

from ..ao.quantization import *
from ..ao.quantization import __all__ as __all__
