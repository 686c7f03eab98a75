"""The logistic-normal distribution."""

from __future__ import annotations

from .._core.annotations import TensorOrNumber
from .._core.tensor import Tensor
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Points of the simplex, made from normal numbers by stick breaking. They have one coordinate more than there are numbers.

    Args:
        loc: means, of shape ``(..., K)``.
        scale: standard deviations.

    >>> torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2)).event_shape
    torch.Size([3])

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.logistic_normal.LogisticNormal
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: TensorOrNumber, scale: TensorOrNumber, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        base = base if base.batch_shape else base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The means."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations."""
        return self.base_dist.base_dist.scale
