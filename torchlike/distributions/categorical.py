"""The categorical distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import ops
from .._core.dtypes import finfo
from .._core.size import Size
from .._core.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import ProbsOrLogits

if TYPE_CHECKING:
    from .constraints import Constraint


__all__ = ["Categorical"]


class Categorical(ProbsOrLogits, Distribution):
    """One of the numbers ``0 ... K - 1``, each with its own probability.

    Args:
        probs: of shape ``(..., K)``: weights, which are divided by their sum.
        logits: logarithms of weights; to be passed instead of ``probs``.

    >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).log_prob(torch.tensor(1)).exp()
    tensor(0.7500)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.categorical.Categorical
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    is_binary = False

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name = self.set_param_name(probs, logits)
        parameter: Tensor = logits if probs is None else probs  # pyright: ignore[reportAssignmentType]
        if parameter.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        self.__dict__[name] = (
            parameter - parameter.logsumexp(dim=-1, keepdim=True)
            if probs is None
            else parameter / parameter.sum(-1, keepdim=True)
        )
        super().__init__(parameter.shape[:-1], validate_args=validate_args)

    @property
    def _num_events(self) -> int:
        return self._param.shape[-1]

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return ops.full(self._extended_shape(), float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self.mean

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        rows = self.probs.detach().reshape(-1, self._num_events)
        sample = ops.multinomial(rows, sample_shape.numel(), True)
        return sample.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, logs = ops.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logs.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        # The term of a probability of 0 is 0, where 0 * -inf would be NaN.
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(ops.arange(self._num_events, device=self._param.device), expand)


class FromCategorical:
    """The parameters of a distribution that is made from a ``Categorical``."""

    _categorical: Categorical

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._categorical.param_shape
