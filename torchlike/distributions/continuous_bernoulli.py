"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import ops
from .._core.annotations import TensorOrNumber
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..nn import functional as F
from ..ops.creation.drawing import of_all_examples
from . import constraints
from .exp_family import ExponentialFamily
from .utils import ProbsOrLogits, broadcast_all, clamp_probs, uniform_numbers

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """The distribution on ``[0, 1]`` of density proportional to ``probs**x (1 - probs)**(1 - x)``.

    Args:
        probs: its parameter.
        logits: the parameter's log-odds; to be passed instead of ``probs``.
        lims: an interval around 1/2 in which series replace the formulas, which would divide by almost 0.

    >>> torch.distributions.ContinuousBernoulli(0.5).mean
    tensor(0.5000)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.continuous_bernoulli.ContinuousBernoulli;
    Loaiza-Ganem, Cunningham, "The continuous Bernoulli" (2019).
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0  # pyright: ignore[reportAssignmentType]

    def __init__(
        self,
        probs: TensorOrNumber | None = None,
        logits: TensorOrNumber | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        name = self.set_param_name(probs, logits)
        (parameter,) = broadcast_all(logits if probs is None else probs)
        if validate_args is not None and name == "probs":
            if not of_all_examples(self.arg_constraints["probs"].check(parameter)).all():
                raise ValueError("The parameter probs has invalid values")
        self.__dict__[name] = clamp_probs(parameter) if name == "probs" else parameter
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    def _is_far_from_half(self) -> Tensor:
        """Whether the parameter is far enough from 1/2 for the formulas."""
        return ops.logical_or(ops.le(self.probs, self._lims[0]), ops.gt(self.probs, self._lims[1]))

    def _cut(self) -> Tensor:
        return ops.where(self._is_far_from_half(), self.probs, self._lims[0] * ops.ones_like(self.probs))

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of the constant factor of the density."""
        cut = self._cut()
        below = ops.where(ops.le(cut, 0.5), cut, ops.zeros_like(cut))
        above = ops.where(ops.ge(cut, 0.5), cut, ops.ones_like(cut))
        distance = ops.where(ops.le(cut, 0.5), ops.log1p(-2.0 * below), ops.log(2.0 * above - 1.0))
        formula = ops.log(ops.abs(ops.log1p(-cut) - ops.log(cut))) - distance
        x = ops.pow(self.probs - 0.5, 2)
        return ops.where(self._is_far_from_half(), formula, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        cut = self._cut()
        formula = cut / (2.0 * cut - 1.0) + 1.0 / (ops.log1p(-cut) - ops.log(cut))
        x = self.probs - 0.5
        return ops.where(self._is_far_from_half(), formula, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * ops.pow(x, 2)) * x)

    @property
    def stddev(self) -> Tensor:
        return ops.sqrt(self.variance)

    @property
    def variance(self) -> Tensor:
        cut = self._cut()
        formula = cut * (cut - 1.0) / ops.pow(1.0 - 2.0 * cut, 2) + 1.0 / ops.pow(ops.log1p(-cut) - ops.log(cut), 2)
        x = ops.pow(self.probs - 0.5, 2)
        return ops.where(self._is_far_from_half(), formula, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(uniform_numbers(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        cut = self._cut()
        formula = (ops.pow(cut, value) * ops.pow(1.0 - cut, 1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        inside = ops.where(self._is_far_from_half(), formula, value)
        return ops.where(ops.le(value, 0.0), 0.0, ops.where(ops.ge(value, 1.0), 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut()
        formula = (ops.log1p(-cut + value * (2.0 * cut - 1.0)) - ops.log1p(-cut)) / (ops.log(cut) - ops.log1p(-cut))
        return ops.where(self._is_far_from_half(), formula, value)

    def entropy(self) -> Tensor:
        log0, log1 = ops.log1p(-self.probs), ops.log(self.probs)
        return self.mean * (log0 - log1) - self._cont_bern_log_norm() - log0

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        is_far = ops.logical_or(ops.le(x, self._lims[0] - 0.5), ops.gt(x, self._lims[1] - 0.5))
        cut = ops.where(is_far, x, (self._lims[0] - 0.5) * ops.ones_like(x))
        formula = ops.log(ops.abs(ops.expm1(cut))) - ops.log(ops.abs(cut))
        return ops.where(is_far, formula, 0.5 * x + ops.pow(x, 2) / 24.0 - ops.pow(x, 4) / 2880.0)
