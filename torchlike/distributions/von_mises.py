"""The von Mises distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import ops, special
from .._core import dtypes
from .._core.annotations import TensorOrNumber
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["VonMises"]


class VonMises(Distribution):
    """The von Mises distribution of angles, of density proportional to ``exp(concentration cos(x - loc))``.

    Args:
        loc: an angle in radians.
        concentration: how close the draws are to it.

    >>> torch.distributions.VonMises(torch.tensor(1.0), torch.tensor(2.0)).mean
    tensor(1.)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.von_mises.VonMises; draws: Best, Fisher,
    "Efficient simulation of the von Mises distribution" (1979).
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: TensorOrNumber, concentration: TensorOrNumber, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        log_density = self.concentration * ops.cos(value - self.loc)
        log_bessel = special.i0e(self.concentration).log() + self.concentration
        return log_density - math.log(2 * math.pi) - log_bessel

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            loc, kappa = (p.to(dtypes.float64).expand(shape) for p in (self.loc, self.concentration))
            # Rejection sampling with wrapped Cauchy proposals. For tiny concentrations their parameter comes from its series.
            tau = 1 + (1 + 4 * kappa**2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
            r = ops.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
            x = ops.zeros_like(loc)
            is_accepted = ops.zeros(shape, dtype=dtypes.bool_, device=loc.device)
            while not is_accepted.all():
                u1, u2, u3 = ops.rand((3, *shape), dtype=loc.dtype, device=loc.device).unbind()
                z = ops.cos(math.pi * u1)
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accepted = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                x = ops.where(accepted, (u3 - 0.5).sign() * f.acos(), x)
                is_accepted = is_accepted | accepted
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        """The circular mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance, between 0 and 1."""
        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)
