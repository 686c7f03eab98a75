"""Transforms of single numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Number
from typing import TYPE_CHECKING

from ... import ops
from ..._core.dtypes import finfo
from ..._core.tensor import Tensor
from ...nn import functional as F
from .. import constraints
from ..utils import _sum_rightmost, broadcast_all, lazy_property
from ._base import ParameterlessTransform, Transform

if TYPE_CHECKING:
    from ..constraints import Constraint
    from ..distribution import Distribution


__all__ = [
    "AbsTransform", "AffineTransform", "CumulativeDistributionTransform", "ExpTransform", "PowerTransform", "SigmoidTransform",
    "SoftplusTransform", "TanhTransform",
]  # fmt: skip


class ExpTransform(ParameterlessTransform):
    """``y = exp(x)``."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1  # pyright: ignore[reportAssignmentType]

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """``x``."""
        return x


class PowerTransform(Transform):
    """``y = x ** exponent``, for positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform, with a cache of this size."""
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self) -> Tensor | int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The exponent's sign: a negative power falls."""
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """``log |exponent y / x|``."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of the result for an argument of this shape."""
        return ops.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    inverse_shape = forward_shape


class SigmoidTransform(ParameterlessTransform):
    """``y = 1 / (1 + exp(-x))``, kept away from 0 and 1 by the dtype's precision."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1  # pyright: ignore[reportAssignmentType]

    def _call(self, x: Tensor) -> Tensor:
        limits = finfo(x.dtype)
        return x.sigmoid().clamp(min=limits.tiny, max=1.0 - limits.eps)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """``log y (1 - y)``."""
        return -F.softplus(-x) - F.softplus(x)


class SoftplusTransform(ParameterlessTransform):
    """``y = log(1 + exp(x))``, which is ``x`` above 20."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1  # pyright: ignore[reportAssignmentType]

    def _call(self, x: Tensor) -> Tensor:
        return F.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """``log sigmoid(x)``."""
        return -F.softplus(-x)


class TanhTransform(ParameterlessTransform):
    """``y = tanh(x)``. Its inverse is inexact near -1 and 1, where a cache helps."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1  # pyright: ignore[reportAssignmentType]

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return ops.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """``log(1 - tanh(x)**2)``, in a form without cancellation."""
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class AbsTransform(ParameterlessTransform):
    """``y = |x|``. The inverse returns ``y``, the positive of the two numbers that have this absolute value."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """``y = loc + scale x``.

    Args:
        loc: a number or tensor to add.
        scale: a number or tensor to multiply by.
        event_dim: the number of dimensions that one event takes.
    """

    bijective = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        """The number of dimensions that one event takes."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform, with a cache of this size."""
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs = ((self.loc, other.loc), (self.scale, other.scale))
        return all(
            a == b if isinstance(a, Number) and isinstance(b, Number) else (a == b).all().item()  # pyright: ignore[reportAttributeAccessIssue]
            for a, b in pairs
        )

    __hash__ = object.__hash__

    @property
    def sign(self) -> Tensor | int:
        """The sign of ``scale``."""
        if isinstance(self.scale, (int, float)):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """``log |scale|``, summed over the event."""
        if isinstance(self.scale, (int, float)):
            log_scale = ops.full_like(x, math.log(abs(self.scale)))
        else:
            log_scale = ops.abs(self.scale).log()
        if self.event_dim:
            log_scale = _sum_rightmost(log_scale.expand(x.shape), self.event_dim)
        return log_scale.expand(x.shape[: x.dim() - self.event_dim])

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of the result for an argument of this shape."""
        return ops.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """``y = F(x)``, with ``F`` the distribution function of a distribution.

    >>> torch.distributions.CumulativeDistributionTransform(torch.distributions.Normal(0.0, 1.0))(torch.zeros(1))
    tensor([0.5000])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1  # pyright: ignore[reportAssignmentType]

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Constraint:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The distribution's support."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of the density."""
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform, with a cache of this size."""
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
