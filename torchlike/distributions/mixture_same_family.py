"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..nn import functional as F
from . import constraints
from .categorical import Categorical
from .constraints import Constraint, MixtureSameFamilyConstraint
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A draw from one of several components, chosen at random.

    Args:
        mixture_distribution: a ``Categorical`` over the components.
        component_distribution: a distribution whose last batch dimension counts the components.

    >>> D = torch.distributions
    >>> D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.tensor([0.0, 2.0]), 1.0)).mean
    tensor(1.)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.mixture_same_family.MixtureSameFamily
    """

    arg_constraints: dict[str, Constraint] = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: object, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        mixed, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for a, b in zip(reversed(mixed), reversed(batch), strict=False):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with `component_distribution.batch_shape`({batch})"
                )
        categories, components = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if categories != components:
            raise ValueError(
                f"`mixture_distribution component` ({categories}) does not equal `component_distribution.batch_shape[-1]` ({components})"
            )
        self._num_component = components
        event = component_distribution.event_shape
        self._event_ndims = len(event)
        super().__init__(batch, event, validate_args=validate_args)

    def _expanded_part(self, part: Distribution | Tensor, batch_shape: Sequence[int]) -> Any:
        return part.expand((*batch_shape, self._num_component) if part is self._component_distribution else batch_shape)

    @constraints.dependent_property
    def support(self) -> Constraint:
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Any:
        """The distribution over the components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def _weights(self) -> Tensor:
        probs = self.mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    def _pad(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self.component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        weights, dim = self._weights(), -1 - self._event_ndims
        within = (weights * self.component_distribution.variance).sum(dim)
        between = (weights * (self.component_distribution.mean - self._pad(self.mean)).pow(2.0)).sum(dim)
        return within + between

    def cdf(self, value: Tensor) -> Tensor:
        return (self.component_distribution.cdf(self._pad(value)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logs = self.component_distribution.log_prob(self._pad(value))
        weights = F.log_softmax(self.mixture_distribution.logits, dim=-1)
        return ops.logsumexp(logs + weights, dim=-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            component = self.mixture_distribution.sample(sample_shape)
            samples = self.component_distribution.sample(sample_shape)
            index = component.reshape(component.shape + (1,) * (self._event_ndims + 1))
            dim = samples.dim() - 1 - self._event_ndims
            index = index.expand((*samples.shape[:dim], 1, *self.event_shape))
            return samples.gather(dim, index).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
