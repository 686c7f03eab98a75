"""Continuous relaxations of the Bernoulli distribution."""

from __future__ import annotations

from collections.abc import Sequence

from .._core.annotations import TensorOrNumber
from .._core.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import ProbsOrLogits, broadcast_all, clamp_probs, uniform_numbers

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsOrLogits, Distribution):
    """The log-odds of a relaxed Bernoulli draw: logistic numbers around ``logits``, divided by the temperature.

    Args:
        temperature: how soft the draws are.
        probs: the probability of 1.
        logits: its log-odds; to be passed instead of ``probs``.

    Source: Maddison, Mnih, Teh, "The concrete distribution" (2017).
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(
        self,
        temperature: Tensor,
        probs: TensorOrNumber | None = None,
        logits: TensorOrNumber | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        name = self.set_param_name(probs, logits)
        (self.__dict__[name],) = broadcast_all(logits if probs is None else probs)
        super().__init__(self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(uniform_numbers(shape, probs))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        away = logits - value.mul(self.temperature)
        return self.temperature.log() + away - 2 * away.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in ``(0, 1)`` that become Bernoulli draws as the temperature falls to 0; gradients flow through them.

    Args:
        temperature: how soft the draws are, a tensor.
        probs: the probability of 1.
        logits: its log-odds; to be passed instead of ``probs``.

    >>> torch.distributions.RelaxedBernoulli(torch.tensor(0.5), 0.3).has_rsample
    True

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.relaxed_bernoulli.RelaxedBernoulli
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: TensorOrNumber | None = None,
        logits: TensorOrNumber | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(
            LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args=validate_args
        )

    @property
    def temperature(self) -> Tensor:
        """How soft the draws are."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The log-odds."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self.base_dist.probs
