"""A linear layer and ReLU of quantized tensors."""

from __future__ import annotations

from ....quantized.modules.linear import Linear

__all__ = ["LinearReLU"]


class LinearReLU(Linear):
    """``nn.Linear`` and ``nn.ReLU`` of a quantized input."""

    _relu = True

    def _get_name(self) -> str:
        return "QuantizedLinearReLU"
