"""The gamma distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import ops
from .._core.annotations import IntOrInts, TensorOrNumber
from .._core.dtypes import finfo
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..ops.creation.sampled import standard_gamma
from . import constraints
from .exp_family import ExponentialFamily
from .utils import broadcast_all

if TYPE_CHECKING:
    from .constraints import Constraint


__all__ = ["Gamma"]


def positive_gamma(concentration: Tensor, rate: Tensor, shape: IntOrInts) -> Tensor:
    """Gamma numbers, clamped to the dtype's smallest normal number. Their gradients are those without the clamp."""
    value = standard_gamma(concentration.expand(shape)) / rate.expand(shape)
    with no_grad():
        value.detach().clamp_(min=finfo(value.dtype).tiny)
    return value


class Gamma(ExponentialFamily):
    """The gamma distribution, of density ``rate**concentration x**(concentration - 1) exp(-rate x) / gamma(concentration)``.

    Args:
        concentration: the shape parameter.
        rate: one divided by the scale.

    >>> torch.distributions.Gamma(3.0, 2.0).mean
    tensor(1.5000)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.gamma.Gamma; the gradient of draws by the
    concentration: Figurnov, Mohamed, Mnih, "Implicit reparameterization gradients" (2018).
    """

    arg_constraints: dict[str, Constraint] = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0  # pyright: ignore[reportAssignmentType]

    def __init__(self, concentration: TensorOrNumber, rate: TensorOrNumber, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return positive_gamma(self.concentration, self.rate, self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        value = ops.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (
            ops.xlogy(self.concentration, self.rate)
            + ops.xlogy(self.concentration - 1, value)
            - self.rate * value
            - ops.lgamma(self.concentration)
        )

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return ops.igamma(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        return (
            self.concentration
            - ops.log(self.rate)
            + ops.lgamma(self.concentration)
            + (1.0 - self.concentration) * ops.digamma(self.concentration)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ops.lgamma(x + 1) + (x + 1) * ops.log(-y.reciprocal())
