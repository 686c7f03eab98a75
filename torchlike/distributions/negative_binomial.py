"""The negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence

from .. import ops
from .._core.annotations import TensorOrNumber
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..nn import functional as F
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import ProbsOrLogits, broadcast_all

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits, Distribution):
    """The number of successes before ``total_count`` failures, in trials of probability ``probs``.

    Args:
        total_count: the number of failures; it need not be whole.
        probs: the probability of success, below 1.
        logits: its log-odds; to be passed instead of ``probs``.

    >>> torch.distributions.NegativeBinomial(3.0, torch.tensor(0.5)).mean
    tensor(3.)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.negative_binomial.NegativeBinomial
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: TensorOrNumber,
        probs: TensorOrNumber | None = None,
        logits: TensorOrNumber | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name = self.set_param_name(probs, logits)
        count, self.__dict__[name] = broadcast_all(total_count, logits if probs is None else probs)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * ops.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / ops.sigmoid(-self.logits)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            rates = Gamma(self.total_count, ops.exp(-self.logits), validate_args=False)
            return ops.poisson(rates.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        likelihood = self.total_count * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        ways = -ops.lgamma(self.total_count + value) + ops.lgamma(1.0 + value) + ops.lgamma(self.total_count)
        # If total_count is 0, the value is 0 with probability 1.
        ways = ways.masked_fill(self.total_count + value == 0.0, 0.0)
        return likelihood - ways
