"""The Pareto distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._core.annotations import TensorOrNumber
from .._core.tensor import Tensor
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .utils import broadcast_all

if TYPE_CHECKING:
    from .constraints import Constraint


__all__ = ["Pareto"]


class Pareto(TransformedDistribution):
    """The Pareto distribution, of density ``alpha scale**alpha / x**(alpha + 1)`` from ``scale`` on.

    Args:
        scale: the smallest value.
        alpha: how fast the tail falls.

    >>> torch.distributions.Pareto(1.0, 2.0).mean
    tensor(2.)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.pareto.Pareto
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: TensorOrNumber, alpha: TensorOrNumber, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, [ExpTransform(), AffineTransform(loc=0, scale=self.scale)], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        above = self.alpha.clamp(min=1)
        return above * self.scale / (above - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        above = self.alpha.clamp(min=2)
        return self.scale.pow(2) * above / ((above - 1).pow(2) * (above - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Constraint:
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
