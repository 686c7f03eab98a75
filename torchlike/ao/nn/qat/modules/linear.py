"""A linear layer that rounds its weight in training as quantization will."""

from __future__ import annotations

from ..... import nn
from ....._core.tensor import Tensor
from .....nn import functional as F
from ._base import FakeQuantized

__all__ = ["Linear"]


class Linear(FakeQuantized, nn.Linear):
    """``nn.Linear`` with ``weight_fake_quant``. ``prepare_qat`` makes it."""

    _FLOAT_MODULE = nn.Linear
    _arguments = ("in_features", "out_features")

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)

    def to_float(self) -> nn.Linear:
        """An ordinary layer with the same parameters."""
        linear = nn.Linear(self.in_features, self.out_features, self.bias is not None)
        linear.weight, linear.bias = self.weight, self.bias
        linear.train(self.training)
        return linear
