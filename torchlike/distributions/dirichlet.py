"""The Dirichlet distribution."""

from __future__ import annotations

from collections.abc import Sequence

from .. import ops
from .._core.tensor import Tensor
from ..ops.creation.sampled import sample_dirichlet
from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution on the simplex, of density proportional to the product of ``x_i ** (concentration_i - 1)``.

    Args:
        concentration: of shape ``(..., K)``.

    >>> torch.distributions.Dirichlet(torch.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.dirichlet.Dirichlet; the gradient of draws:
    Figurnov, Mohamed, Mnih, "Implicit reparameterization gradients" (2018).
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return (
            ops.xlogy(self.concentration - 1.0, value).sum(-1)
            + ops.lgamma(self.concentration.sum(-1))
            - ops.lgamma(self.concentration).sum(-1)
        )

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        inner_mode = above / above.sum(-1, True)
        # If all concentrations are below 1, the density has no maximum inside. PyTorch returns the corner of the largest one.
        corner = ops.zeros_like(inner_mode).scatter(-1, above.argmax(-1, True), 1.0)
        return ops.where((self.concentration < 1).all(dim=-1, keepdim=True), corner, inner_mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        k, total = self.concentration.size(-1), self.concentration.sum(-1)
        return (
            ops.lgamma(self.concentration).sum(-1)
            - ops.lgamma(total)
            - (k - total) * ops.digamma(total)
            - ((self.concentration - 1.0) * ops.digamma(self.concentration)).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return x.lgamma().sum(-1) - ops.lgamma(x.sum(-1))
