"""Padding as layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._core.annotations import IntOrInts
from ..._core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "ReflectionPad1d",
    "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d",
    "ZeroPad3d",
]  # fmt: skip


def ntuple(value: object, n: int) -> tuple[Any, ...]:
    """A tuple of ``n`` numbers, from one number for all dimensions, or from one for each."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * n


class _ConstantPadNd(Module):
    _dimensions: int

    def __init__(self, padding: IntOrInts, value: float) -> None:
        super().__init__()
        self.padding = ntuple(padding, 2 * self._dimensions)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """One number before and after the last dimension; ``padding`` is a number of places, or (left, right).

    >>> nn.ConstantPad1d(1, 9.0)(torch.tensor([[1.0, 2.0]]))
    tensor([[9., 1., 2., 9.]])
    """

    _dimensions = 1


class ConstantPad2d(_ConstantPadNd):
    """One number around the last two dimensions; ``padding`` is a number of places, or (left, right, top, bottom).

    >>> torch.nn.ConstantPad2d((1, 0, 0, 1), 5.0)(torch.zeros(1, 1, 1))
    tensor([[[5., 0.],
             [5., 5.]]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ConstantPad2d.html
    """

    _dimensions = 2


class ConstantPad3d(_ConstantPadNd):
    """One number around the last three dimensions; ``padding`` is a number of places, or two for each, the last first."""

    _dimensions = 3


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: IntOrInts) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPadNd, ConstantPad1d):
    """``ConstantPad1d`` with zero.

    >>> nn.ZeroPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[0., 1., 2., 3., 0.]])
    """


class ZeroPad2d(_ZeroPadNd, ConstantPad2d):
    """``ConstantPad2d`` with zero.

    >>> nn.ZeroPad2d(1)(torch.ones(1, 1, 2))
    tensor([[[0., 0., 0., 0.],
             [0., 1., 1., 0.],
             [0., 0., 0., 0.]]])
    """


class ZeroPad3d(_ZeroPadNd, ConstantPad3d):
    """``ConstantPad3d`` with zero."""


class _ModePadNd(Module):
    _dimensions: int
    _mode: str

    def __init__(self, padding: IntOrInts) -> None:
        super().__init__()
        self.padding = ntuple(padding, 2 * self._dimensions)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ReflectionPad1d(_ModePadNd):
    """The last dimension mirrored at its ends, which are not repeated; ``padding`` as for ``ConstantPad1d``.

    >>> nn.ReflectionPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[2., 1., 2., 3., 2.]])
    """

    _dimensions, _mode = 1, "reflect"


class ReflectionPad2d(_ModePadNd):
    """The last two dimensions mirrored at their ends; ``padding`` as for ``ConstantPad2d``.

    >>> nn.ReflectionPad2d(1)(torch.arange(4.0).view(1, 2, 2))
    tensor([[[3., 2., 3., 2.],
             [1., 0., 1., 0.],
             [3., 2., 3., 2.],
             [1., 0., 1., 0.]]])
    """

    _dimensions, _mode = 2, "reflect"


class ReflectionPad3d(_ModePadNd):
    """The last three dimensions mirrored at their ends; ``padding`` as for ``ConstantPad3d``."""

    _dimensions, _mode = 3, "reflect"


class ReplicationPad1d(_ModePadNd):
    """The ends of the last dimension repeated; ``padding`` as for ``ConstantPad1d``.

    >>> nn.ReplicationPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[1., 1., 2., 3., 3.]])
    """

    _dimensions, _mode = 1, "replicate"


class ReplicationPad2d(_ModePadNd):
    """The ends of the last two dimensions repeated; ``padding`` as for ``ConstantPad2d``.

    >>> nn.ReplicationPad2d(1)(torch.ones(1, 1, 2))
    tensor([[[1., 1., 1., 1.],
             [1., 1., 1., 1.],
             [1., 1., 1., 1.]]])
    """

    _dimensions, _mode = 2, "replicate"


class ReplicationPad3d(_ModePadNd):
    """The ends of the last three dimensions repeated; ``padding`` as for ``ConstantPad3d``."""

    _dimensions, _mode = 3, "replicate"


class _CircularPadNd(_ModePadNd):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        least = self._dimensions + 1
        if input.dim() not in (least, least + 1):
            raise ValueError(f"expected {least}D or {least + 1}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """The last dimension continued from its other end; ``padding`` as for ``ConstantPad1d``.

    >>> nn.CircularPad1d(1)(torch.tensor([[1.0, 2.0, 3.0]]))
    tensor([[3., 1., 2., 3., 1.]])
    """

    _dimensions = 1


class CircularPad2d(_CircularPadNd):
    """The last two dimensions continued from their other ends; ``padding`` as for ``ConstantPad2d``."""

    _dimensions = 2


class CircularPad3d(_CircularPadNd):
    """The last three dimensions continued from their other ends; ``padding`` as for ``ConstantPad3d``."""

    _dimensions = 3
