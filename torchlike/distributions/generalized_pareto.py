"""The generalised Pareto distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import ops
from .._core.annotations import TensorOrNumber
from .._core.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, uniform_numbers

if TYPE_CHECKING:
    from .constraints import Constraint


__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """The generalised Pareto distribution of excesses: ``P(X > x) = (1 + concentration (x - loc) / scale)**(-1 / concentration)``.

    Args:
        loc: the smallest value.
        scale: the scale.
        concentration: the shape parameter; 0 makes it exponential, below 0 it ends at ``loc - scale / concentration``.

    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#module-torch.distributions
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(
        self,
        loc: TensorOrNumber,
        scale: TensorOrNumber,
        concentration: TensorOrNumber,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _shape(self) -> tuple[Tensor, Tensor]:
        """Whether the distribution is exponential, and a concentration that is not 0, to divide by."""
        flat = ops.isclose(self.concentration, ops.zeros_like(self.concentration))
        return flat, ops.where(flat, ops.ones_like(self.concentration), self.concentration)

    def _z(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(uniform_numbers(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        flat, c = self._shape()
        return -ops.where(flat, z, (1 / c + 1) * ops.log1p(c * z)) - ops.log(self.scale)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """``log P(X > value)``."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        flat, c = self._shape()
        return ops.where(flat, -z, -ops.log1p(c * z) / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """``log P(X <= value)``."""
        return ops.log1p(-ops.exp(self.log_survival_function(value)))

    def cdf(self, value: Tensor) -> Tensor:
        return ops.exp(self.log_cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        flat, c = self._shape()
        log_left = ops.log1p(-value)
        return self.loc + self.scale * ops.where(flat, -log_left, ops.expm1(-c * log_left) / c)

    @property
    def mean(self) -> Tensor:
        finite = self.concentration < 1
        return ops.where(finite, self.loc + self.scale / (1 - ops.where(finite, self.concentration, 0.5)), math.nan)

    @property
    def variance(self) -> Tensor:
        finite = self.concentration < 0.5
        c = ops.where(finite, self.concentration, 0.25)
        return ops.where(finite, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    def entropy(self) -> Tensor:
        return ops.log(self.scale) + self.concentration + 1

    @property
    def mode(self) -> Tensor:
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Constraint:
        ends = self.concentration < 0
        last = self.loc - self.scale / ops.where(ends, self.concentration, -1.0)
        return constraints.interval(self.loc, ops.where(ends, last, math.inf))
