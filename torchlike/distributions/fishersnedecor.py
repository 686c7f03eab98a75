"""The F-distribution."""

from __future__ import annotations

from collections.abc import Sequence

from .. import ops
from .._core.annotations import TensorOrNumber
from .._core.dtypes import finfo
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The F-distribution: the ratio of two chi-squared numbers, each divided by its degrees of freedom.

    Args:
        df1: degrees of freedom of the numerator.
        df2: degrees of freedom of the denominator.

    >>> torch.distributions.FisherSnedecor(1.0, 4.0).mean
    tensor(2.)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.fishersnedecor.FisherSnedecor
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: TensorOrNumber, df2: TensorOrNumber, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return ops.where(self.df2 > 2, self.df2 / (self.df2 - 2), float("nan"))

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return ops.where(self.df1 > 2, mode, float("nan"))

    @property
    def variance(self) -> Tensor:
        above = 2 * self.df2.pow(2) * (self.df1 + self.df2 - 2)
        variance = above / (self.df1 * (self.df2 - 2).pow(2) * (self.df2 - 4))
        return ops.where(self.df2 > 4, variance, float("nan"))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        above = self._gamma1.rsample(sample_shape).reshape(shape)
        below = self._gamma2.rsample(sample_shape).reshape(shape)
        tiny = finfo(below.dtype).tiny
        with no_grad():
            below.detach().clamp_(min=tiny)
        ratio = above / below
        with no_grad():
            ratio.detach().clamp_(min=tiny)
        return ratio

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        constant = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        power = half1 * ratio.log() + (half1 - 1) * ops.log(value)
        return constant + power - (half1 + half2) * ops.log1p(ratio * value)
