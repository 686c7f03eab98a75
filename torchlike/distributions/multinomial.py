"""The multinomial distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ops
from .._core.annotations import IntOrInts
from .._core.size import Size
from .._core.tensor import Tensor
from . import constraints
from .binomial import Binomial
from .categorical import Categorical, FromCategorical
from .distribution import Distribution
from .utils import broadcast_all

if TYPE_CHECKING:
    from .constraints import Constraint


__all__ = ["Multinomial"]


class Multinomial(FromCategorical, Distribution):
    """The count of each of ``K`` categories in ``total_count`` draws.

    Args:
        total_count: the number of draws, one for the whole batch.
        probs: of shape ``(..., K)``: weights, which are divided by their sum.
        logits: logarithms of weights; to be passed instead of ``probs``.

    >>> torch.distributions.Multinomial(4, torch.ones(2)).mean
    tensor([2., 2.])

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.multinomial.Multinomial
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self.probs.shape[-1:], validate_args=validate_args)

    def _expanded_part(self, part: Distribution, batch_shape: Size) -> Distribution:
        return part.expand(batch_shape + self.event_shape if part is self._binomial else batch_shape)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Constraint:
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape: IntOrInts = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        categories = self._categorical.sample(Size((self.total_count,)) + sample_shape)
        categories = categories.movedim(0, -1)
        counts = categories.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, categories, ops.ones_like(categories)).type_as(self.probs)

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
        # The term of a category with count 0 and probability 0 is 0, where 0 * -inf would be NaN.
        logits = logits.masked_fill((value == 0) & (logits == -float("inf")), 0)
        return ways + (logits * value).sum(-1)
