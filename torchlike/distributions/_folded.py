"""Distributions of ``|X|``, where ``X`` is symmetric around 0."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import ops
from .._core.tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform

if TYPE_CHECKING:
    from .distribution import Distribution


__all__ = ["Folded"]


class Folded(TransformedDistribution):
    """The distribution of ``|X|``. Both ``x`` and ``-x`` lead to ``x``, so that the density is twice that of ``X``."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, symmetric: Distribution, validate_args: bool | None) -> None:
        super().__init__(symmetric, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Tensor:
        """The scale of ``X``."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return ops.zeros_like(self.scale)

    def _converted(self, value: Tensor) -> Tensor:
        """The argument of ``log_prob``, after its validation."""
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value = self._converted(value)
        return ops.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
