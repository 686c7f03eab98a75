"""Stubs: where tensors are quantized in a model, and where they become floats again."""

from __future__ import annotations

from typing import Any

from ..._core.tensor import Tensor
from ...nn.modules.module import Module
from .qconfig import QConfig

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class QuantStub(Module):
    """The identity, observed by ``prepare``. ``convert`` makes it quantize its input.

    Args:
        qconfig: for its observer; None for that of the model.
    """

    def __init__(self, qconfig: QConfig | None = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class DeQuantStub(Module):
    """The identity. ``convert`` makes it return its input's values as floats."""

    def __init__(self, qconfig: QConfig | None = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class QuantWrapper(Module):
    """A module between a ``QuantStub`` and a ``DeQuantStub``."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        qconfig: Any = getattr(module, "qconfig", None)
        self.quant, self.dequant = QuantStub(qconfig), DeQuantStub(qconfig)
        self.module = module
        self.train(module.training)

    def forward(self, X: Tensor) -> Tensor:
        return self.dequant(self.module(self.quant(X)))
