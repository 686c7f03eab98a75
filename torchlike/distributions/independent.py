"""class Independent: batch dimensions as dimensions of the event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._core.size import Size
from .._core.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import _sum_rightmost

if TYPE_CHECKING:
    from .constraints import Constraint


__all__ = ["Independent"]


class Independent(Distribution):
    """A distribution whose last batch dimensions count as one event of independent parts.

    Args:
        base_distribution: the distribution.
        reinterpreted_batch_ndims: the number of dimensions.

    >>> d = torch.distributions.Independent(torch.distributions.Normal(torch.zeros(3), 1.0), 1)
    >>> d.log_prob(torch.zeros(3))
    tensor(-2.7568)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.independent.Independent
    """

    arg_constraints: dict[str, Constraint] = {}

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(batch)}"
            )
        shape = batch + base_distribution.event_shape
        cut = len(batch) - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def _expanded_part(self, part: Distribution, batch_shape: Size) -> Distribution:
        return part.expand(batch_shape + self.event_shape[: self.reinterpreted_batch_ndims])

    @property
    def has_rsample(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the base distribution has ``rsample``."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the support can be enumerated. It cannot if the event has several independent parts."""
        return False if self.reinterpreted_batch_ndims > 0 else self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Constraint:
        support = self.base_dist.support
        if self.reinterpreted_batch_ndims:
            support = constraints.independent(support, self.reinterpreted_batch_ndims)
        return support

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.sample(Size(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.base_dist.rsample(Size(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
