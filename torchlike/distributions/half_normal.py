"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .._core.tensor import Tensor
from ._folded import Folded
from .normal import Normal

if TYPE_CHECKING:
    from .._core.annotations import TensorOrNumber


__all__ = ["HalfNormal"]


class HalfNormal(Folded):
    """``|X|`` of a normal ``X`` of mean 0.

    Args:
        scale: the standard deviation of ``X``.

    >>> torch.distributions.HalfNormal(1.0).mean
    tensor(0.7979)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.half_normal.HalfNormal
    """

    def __init__(self, scale: TensorOrNumber, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
