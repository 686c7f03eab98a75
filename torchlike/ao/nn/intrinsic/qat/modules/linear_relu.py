"""A linear layer and ReLU, with fake quantization of the weight."""

from __future__ import annotations

from ...... import nn
from ......_core.tensor import Tensor
from ......nn import functional as F
from .....nn import intrinsic as nni, qat as nnqat

__all__ = ["LinearReLU"]


class LinearReLU(nnqat.Linear):
    """``nni.LinearReLU`` with ``weight_fake_quant``. ``prepare_qat`` makes it."""

    _FLOAT_MODULE = nni.LinearReLU  # pyright: ignore[reportAssignmentType]

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(super().forward(input))

    def to_float(self) -> nni.LinearReLU:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Ordinary layers with the same parameters."""
        return nni.LinearReLU(super().to_float(), nn.ReLU())
