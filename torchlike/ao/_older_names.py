"""The modules that torch.nn has under older names: torch.nn.quantized, torch.nn.intrinsic, torch.nn.qat."""

from . import quantization as quantization  # which imports all of them
from .nn import intrinsic as intrinsic, qat as qat, quantized as quantized
