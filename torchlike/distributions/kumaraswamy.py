"""The Kumaraswamy distribution."""

from __future__ import annotations

from .. import ops
from .._core.annotations import TensorOrNumber
from .._core.tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


def _moment(a: Tensor, b: Tensor, n: int) -> Tensor:
    """The mean of the ``n``-th power."""
    arg = 1 + n / a
    return ops.exp(b.log() + ops.lgamma(arg) + ops.lgamma(b) - ops.lgamma(arg + b))


class Kumaraswamy(TransformedDistribution):
    """The Kumaraswamy distribution on ``[0, 1]``, with distribution function ``1 - (1 - x**concentration1)**concentration0``.

    Args:
        concentration1: often called alpha.
        concentration0: often called beta.

    >>> torch.distributions.Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.kumaraswamy.Kumaraswamy
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: TensorOrNumber, concentration0: TensorOrNumber, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zeros, ones = ops.zeros_like(self.concentration0), ops.ones_like(self.concentration0)
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(Uniform(zeros, ones, validate_args=validate_args), transforms, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return _moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Tensor:
        # Computed from logarithms, since the factors may overflow or underflow.
        log_mode = (
            self.concentration0.reciprocal() * (-self.concentration0).log1p()
            - (-self.concentration0 * self.concentration1).log1p()
        )
        outside = (self.concentration0 < 1) | (self.concentration1 < 1)
        return log_mode.exp().masked_fill(outside, float("nan"))

    @property
    def variance(self) -> Tensor:
        return _moment(self.concentration1, self.concentration0, 2) - ops.pow(self.mean, 2)

    def entropy(self) -> Tensor:
        t1, t0 = 1 - self.concentration1.reciprocal(), 1 - self.concentration0.reciprocal()
        harmonic = ops.digamma(self.concentration0 + 1) + euler_constant
        return t0 + t1 * harmonic - ops.log(self.concentration1) - ops.log(self.concentration0)
