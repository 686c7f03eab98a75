"""torch.ao.nn.quantized.dynamic: modules that quantize their inputs at each call."""

from .modules import Linear as Linear
