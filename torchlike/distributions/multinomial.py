"""The multinomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops
from .._core.annotations import TensorOrNumber
from .._core.size import Size
from .._core.tensor import Tensor
from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each of ``K`` categories comes up in ``total_count`` draws.

    Args:
        total_count: the number of draws, one for the whole batch.
        probs: of shape ``(..., K)``: weights, which are divided by their sum.
        logits: logarithms of weights, in their place.

    >>> torch.distributions.Multinomial(4, torch.ones(2)).mean
    tensor([2., 2.])

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.multinomial.Multinomial
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: TensorOrNumber | None = None,
        logits: TensorOrNumber | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self.probs.shape[-1:], validate_args=validate_args)

    def _expanded_part(self, part: Any, batch_shape: Size) -> Any:
        return part.expand(batch_shape + self.event_shape if part is self._binomial else batch_shape)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def logits(self) -> Any:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def probs(self) -> Any:
        """The probabilities."""
        return self._categorical.probs

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._categorical.param_shape

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count,)) + sample_shape)
        drawn = drawn.movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, ops.ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Tensor:
        n = ops.tensor(self.total_count)
        categories = self._categorical.entropy()
        support = self._binomial.enumerate_support(expand=False)[1:]
        weights = ops.exp(self._binomial.log_prob(support))
        ways = (weights * ops.lgamma(support + 1)).sum([0, -1])
        return n * categories - ops.lgamma(n + 1) + ways

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        ways = ops.lgamma(value.sum(-1) + 1) - ops.lgamma(value + 1).sum(-1)
        # A category of probability 0 that does not come up counts 0, and not 0 * -inf.
        logits = logits.masked_fill((value == 0) & (logits == -float("inf")), 0)
        return ways + (logits * value).sum(-1)
