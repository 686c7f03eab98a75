"""The log-normal distribution."""

from __future__ import annotations

from .._core.annotations import TensorOrNumber
from .._core.tensor import Tensor
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """``exp(X)`` of a normal ``X``.

    Args:
        loc: the mean of ``X``.
        scale: the standard deviation of ``X``.

    >>> torch.distributions.LogNormal(0.0, 1.0).mean
    tensor(1.6487)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.log_normal.LogNormal
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, loc: TensorOrNumber, scale: TensorOrNumber, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The mean of ``X``."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of ``X``."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
