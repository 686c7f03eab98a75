"""Dropout of quantized tensors, which does nothing: they are not trained."""

from __future__ import annotations

from typing import Any, Self

from ..... import nn
from ....._core.tensor import Tensor

__all__ = ["Dropout"]


class Dropout(nn.Dropout):
    """``nn.Dropout`` as it is in evaluation mode: the identity."""

    def forward(self, input: Tensor) -> Tensor:
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The identity for an ordinary layer."""
        return cls(mod.p, mod.inplace)
