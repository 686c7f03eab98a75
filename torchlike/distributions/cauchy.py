"""The Cauchy distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import ops
from .._core.tensor import Tensor
from ._location_scale import LocationScale

__all__ = ["Cauchy"]


class Cauchy(LocationScale):
    """The Cauchy (Lorentz) distribution, which has neither mean nor variance.

    Args:
        loc: the median.
        scale: half the width at half the maximum.

    >>> torch.distributions.Cauchy(0.0, 1.0).cdf(torch.tensor(1.0))
    tensor(0.7500)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.cauchy.Cauchy
    """

    @property
    def mean(self) -> Tensor:
        return ops.full(self._extended_shape(), math.nan, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def variance(self) -> Tensor:
        return ops.full(self._extended_shape(), math.inf, dtype=self.loc.dtype, device=self.loc.device)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.loc + self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - ((value - self.loc) / self.scale).pow(2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ops.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return ops.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
