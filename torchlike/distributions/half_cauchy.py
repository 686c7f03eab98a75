"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import ops
from .._core.tensor import Tensor
from ._folded import Folded
from .cauchy import Cauchy

if TYPE_CHECKING:
    from .._core.annotations import TensorOrNumber


__all__ = ["HalfCauchy"]


class HalfCauchy(Folded):
    """``|X|`` of a Cauchy distributed ``X`` around 0.

    Args:
        scale: the median.

    >>> torch.distributions.HalfCauchy(1.0).cdf(torch.tensor(1.0))
    tensor(0.5000)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.half_cauchy.HalfCauchy
    """

    def __init__(self, scale: TensorOrNumber, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    @property
    def mean(self) -> Tensor:
        return ops.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def _converted(self, value: Tensor) -> Tensor:
        return ops.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
