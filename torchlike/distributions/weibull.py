"""The Weibull distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from .. import ops
from .._core.annotations import TensorOrNumber
from .._core.tensor import Tensor
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

if TYPE_CHECKING:
    from .distribution import Distribution


__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """The Weibull distribution: ``scale X**(1 / concentration)`` of an exponential ``X``.

    Args:
        scale: the scale.
        concentration: the shape parameter.

    >>> torch.distributions.Weibull(2.0, 1.0).mean
    tensor(2.)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.weibull.Weibull
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: TensorOrNumber, concentration: TensorOrNumber, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ops.ones_like(self.scale), validate_args=validate_args)
        transforms = [
            PowerTransform(exponent=self.concentration_reciprocal),
            AffineTransform(loc=0, scale=self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new.concentration_reciprocal = new.concentration.reciprocal()
        return new

    @property
    def mean(self) -> Tensor:
        return self.scale * ops.exp(ops.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self) -> Tensor:
        square = ops.exp(ops.lgamma(1 + 2 * self.concentration_reciprocal))
        return self.scale.pow(2) * (square - ops.exp(2 * ops.lgamma(1 + self.concentration_reciprocal)))

    def entropy(self) -> Tensor:
        return (
            euler_constant * (1 - self.concentration_reciprocal)
            + ops.log(self.scale * self.concentration_reciprocal)
            + 1
        )
