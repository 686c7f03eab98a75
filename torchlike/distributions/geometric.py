"""The geometric distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import ops
from .._core.dtypes import finfo
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..nn import functional as F
from ..ops.creation.drawing import of_all_examples
from . import constraints
from .distribution import Distribution
from .utils import ProbsOrLogits, broadcast_all

if TYPE_CHECKING:
    from .._core.annotations import TensorOrNumber


__all__ = ["Geometric"]


class Geometric(ProbsOrLogits, Distribution):
    """The number of failures before the first success, in trials of probability ``probs``: ``P(k) = (1 - probs)**k probs``.

    Args:
        probs: the probability of success, above 0.
        logits: its log-odds; to be passed instead of ``probs``.

    Raises:
        ValueError: a probability of 0.

    >>> torch.distributions.Geometric(0.25).mean
    tensor(3.)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.geometric.Geometric
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: TensorOrNumber | None = None,
        logits: TensorOrNumber | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name = self.set_param_name(probs, logits)
        (self.__dict__[name],) = broadcast_all(logits if probs is None else probs)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            value = self.probs
            if not of_all_examples(value > 0).all():
                raise ValueError(
                    f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} to be "
                    f"positive but found invalid values:\n{value[value <= 0]}"
                )

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return ops.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            shape = self._extended_shape(sample_shape)
            u = self.probs.new_empty(shape).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        # For probs = 1 and value = 0, 0 * log 0 is taken as 0.
        missed = ops.where((probs == 1) & (value == 0), 0.0, probs)
        return value * (-missed).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
