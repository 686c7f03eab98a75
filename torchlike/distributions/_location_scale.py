"""Distributions of real numbers that are given by a location and a scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

if TYPE_CHECKING:
    from .._core.annotations import TensorOrNumber


__all__ = ["LocationScale"]


class LocationScale(Distribution):
    """A distribution that is symmetric around ``loc``, which is its mode, and its mean if it has one."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: TensorOrNumber, scale: TensorOrNumber, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc
