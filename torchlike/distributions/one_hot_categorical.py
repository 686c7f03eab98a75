"""One-hot categorical distributions."""

from __future__ import annotations

from collections.abc import Sequence

from .. import ops
from .._core.annotations import IntOrInts
from .._core.size import Size
from .._core.tensor import Tensor
from ..nn import functional as F
from . import constraints
from .categorical import Categorical, FromCategorical
from .distribution import Distribution

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(FromCategorical, Distribution):
    """A categorical draw as a vector of zeros with a 1 at its number.

    Args:
        probs: of shape ``(..., K)``: weights, which are divided by their sum.
        logits: logarithms of weights; to be passed instead of ``probs``.

    >>> torch.distributions.OneHotCategorical(torch.tensor([0.0, 1.0])).sample()
    tensor([0., 1.])

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.one_hot_categorical.OneHotCategorical
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return F.one_hot(self.probs.argmax(-1), self.probs.shape[-1]).to(self.probs)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: IntOrInts = ()) -> Tensor:
        categories = self._categorical.sample(Size(sample_shape))
        return F.one_hot(categories, self._categorical._num_events).to(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1).indices)

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        values = ops.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A one-hot draw whose gradient goes to the probabilities unchanged.

    >>> torch.distributions.OneHotCategoricalStraightThrough(torch.tensor([0.0, 1.0])).rsample()
    tensor([0., 1.])

    Source: Bengio, Leonard, Courville, "Estimating or propagating gradients through stochastic neurons" (2013).
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
