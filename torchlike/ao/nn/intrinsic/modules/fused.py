"""Sequences of layers that quantization makes one layer of: a convolution or linear layer, normalization, an activation."""

from __future__ import annotations

from ..... import nn
from .....nn.modules.module import Module

__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d",
    "ConvReLU2d", "ConvReLU3d", "LinearBn1d", "LinearReLU",
]  # fmt: skip


class _FusedModule(nn.Sequential):
    """The base of all of them. ``_kinds``: the classes that its layers must have."""

    _kinds: tuple[type[Module], ...] = ()

    def __init__(self, *args: Module) -> None:
        types = [type(layer) for layer in args]
        if self._kinds and (len(types) != len(self._kinds) or not all(map(issubclass, types, self._kinds))):
            raise AssertionError(f"Incorrect types for input modules {' '.join(map(str, types))}")
        super().__init__(*args)


class ConvReLU1d(_FusedModule):
    """``Conv1d`` and ``ReLU``."""

    _kinds = (nn.Conv1d, nn.ReLU)


class ConvReLU2d(_FusedModule):
    """``Conv2d`` and ``ReLU``."""

    _kinds = (nn.Conv2d, nn.ReLU)


class ConvReLU3d(_FusedModule):
    """``Conv3d`` and ``ReLU``."""

    _kinds = (nn.Conv3d, nn.ReLU)


class LinearReLU(_FusedModule):
    """``Linear`` and ``ReLU``."""

    _kinds = (nn.Linear, nn.ReLU)


class ConvBn1d(_FusedModule):
    """``Conv1d`` and ``BatchNorm1d``."""

    _kinds = (nn.Conv1d, nn.BatchNorm1d)


class ConvBn2d(_FusedModule):
    """``Conv2d`` and ``BatchNorm2d``."""

    _kinds = (nn.Conv2d, nn.BatchNorm2d)


class ConvBn3d(_FusedModule):
    """``Conv3d`` and ``BatchNorm3d``."""

    _kinds = (nn.Conv3d, nn.BatchNorm3d)


class ConvBnReLU1d(_FusedModule):
    """``Conv1d``, ``BatchNorm1d`` and ``ReLU``."""

    _kinds = (nn.Conv1d, nn.BatchNorm1d, nn.ReLU)


class ConvBnReLU2d(_FusedModule):
    """``Conv2d``, ``BatchNorm2d`` and ``ReLU``."""

    _kinds = (nn.Conv2d, nn.BatchNorm2d, nn.ReLU)


class ConvBnReLU3d(_FusedModule):
    """``Conv3d``, ``BatchNorm3d`` and ``ReLU``."""

    _kinds = (nn.Conv3d, nn.BatchNorm3d, nn.ReLU)


class BNReLU2d(_FusedModule):
    """``BatchNorm2d`` and ``ReLU``."""

    _kinds = (nn.BatchNorm2d, nn.ReLU)


class BNReLU3d(_FusedModule):
    """``BatchNorm3d`` and ``ReLU``."""

    _kinds = (nn.BatchNorm3d, nn.ReLU)


class LinearBn1d(_FusedModule):
    """``Linear`` and ``BatchNorm1d``."""

    _kinds = (nn.Linear, nn.BatchNorm1d)
