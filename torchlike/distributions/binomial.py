"""The binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import ops
from .._core.annotations import TensorOrNumber
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from . import constraints
from .distribution import Distribution
from .utils import ProbsOrLogits, broadcast_all

if TYPE_CHECKING:
    from .constraints import Constraint


__all__ = ["Binomial"]


class Binomial(ProbsOrLogits, Distribution):
    """The number of successes in ``total_count`` trials of probability ``probs``.

    Args:
        total_count: the number of trials.
        probs: the probability of success.
        logits: its log-odds; to be passed instead of ``probs``.

    >>> torch.distributions.Binomial(4, torch.tensor(0.5)).mean
    tensor(2.)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.binomial.Binomial
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: TensorOrNumber = 1,
        probs: TensorOrNumber | None = None,
        logits: TensorOrNumber | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name = self.set_param_name(probs, logits)
        count, self.__dict__[name] = broadcast_all(total_count, logits if probs is None else probs)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return ops.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        ways = ops.lgamma(self.total_count + 1) - ops.lgamma(value + 1) - ops.lgamma(self.total_count - value + 1)
        # -log(1 - p) from the logits, which does not overflow if they are large. At 0 each of the two terms has half of the slope.
        above = (self.logits + ops.abs(self.logits)) / 2
        log_normalizer = self.total_count * (above + ops.log1p(ops.exp(-ops.abs(self.logits))))
        return value * self.logits + ways - log_normalizer

    def entropy(self) -> Tensor:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        logs = self.log_prob(self.enumerate_support(False))
        return -(ops.exp(logs) * logs).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        return self._enumerated(ops.arange(1 + count, dtype=self._param.dtype, device=self._param.device), expand)
