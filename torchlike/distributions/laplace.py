"""The Laplace distribution."""

from __future__ import annotations

from collections.abc import Sequence

from .. import ops
from .._core.dtypes import finfo
from .._core.tensor import Tensor
from ._location_scale import LocationScale

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """The Laplace distribution, of density ``exp(-|x - loc| / scale) / (2 scale)``.

    Args:
        loc: the mean.
        scale: the mean distance from the mean.

    >>> torch.distributions.Laplace(0.0, 1.0).variance
    tensor(2.)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.laplace.Laplace
    """

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        u = self.loc.new_empty(self._extended_shape(sample_shape)).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * ops.log1p(-u.abs())

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -ops.log(2 * self.scale) - ops.abs(value - self.loc) / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * ops.expm1(-away.abs() / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        away = value - 0.5
        return self.loc - self.scale * away.sign() * ops.log1p(-2 * away.abs())

    def entropy(self) -> Tensor:
        return 1 + ops.log(2 * self.scale)
