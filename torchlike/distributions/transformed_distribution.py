"""class TransformedDistribution: draws of a base distribution, passed through transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

if TYPE_CHECKING:
    from .constraints import Constraint


__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``f(X)``, for transforms ``f`` and a base distribution of ``X``.

    With ``Y = f(X)``: ``log p(y) = log p(x) - log |det dy/dx|``.

    Args:
        base_distribution: the distribution of ``X``.
        transforms: one transform, or a list that is applied in order.

    >>> D = torch.distributions
    >>> D.TransformedDistribution(D.Uniform(0.0, 1.0), [D.AffineTransform(1.0, 2.0)]).cdf(torch.tensor(2.0))
    tensor(0.5000)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.transformed_distribution.TransformedDistribution
    """

    arg_constraints: dict[str, Constraint] = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(transforms, Transform):
            self.transforms: list[Transform] = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(t, Transform) for t in transforms):
                raise ValueError("transforms must be a Transform or a list of Transforms")
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        # The base distribution gets the shape, and the number of event dimensions, that the transforms need.
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_depth = len(base_distribution.event_shape)
        composition = ComposeTransform(self.transforms)
        if len(base_shape) < composition.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {composition.domain.event_dim}, but got {base_shape}."
            )
        shape = composition.forward_shape(base_shape)
        new_base_shape = composition.inverse_shape(shape)
        if base_shape != new_base_shape:
            base_distribution = base_distribution.expand(new_base_shape[: len(new_base_shape) - base_depth])
        missing_dims = composition.domain.event_dim - base_depth
        self.base_dist: Any = Independent(base_distribution, missing_dims) if missing_dims > 0 else base_distribution
        depth = max(
            composition.codomain.event_dim, base_depth + composition.codomain.event_dim - composition.domain.event_dim
        )
        batch_ndims = len(shape) - depth
        super().__init__(shape[:batch_ndims], shape[batch_ndims:], validate_args=validate_args)

    def _expanded_part(self, part: Distribution, batch_shape: Sequence[int]) -> Distribution:
        shape = batch_shape + self.event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        return part.expand(shape[: len(shape) - len(part.event_shape)])

    if TYPE_CHECKING:  # subclasses may have plain attributes
        has_rsample: bool
        support: Constraint
    else:

        @property
        def has_rsample(self) -> bool:
            """Whether the base distribution has ``rsample``."""
            return self.base_dist.has_rsample

        @constraints.dependent_property(is_discrete=False)
        def support(self) -> Constraint:
            if not self.transforms:
                return self.base_dist.support
            codomain = self.transforms[-1].codomain
            missing_dims = len(self.event_shape) - codomain.event_dim
            return constraints.independent(codomain, missing_dims) if missing_dims > 0 else codomain

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._through(self.base_dist.rsample(sample_shape))

    def _through(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        depth = len(self.event_shape)
        log_prob: Tensor | float = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            depth += transform.domain.event_dim - transform.codomain.event_dim
            log_prob = log_prob - _sum_rightmost(
                transform.log_abs_det_jacobian(x, y), depth - transform.domain.event_dim
            )
            y = x
        return log_prob + _sum_rightmost(self.base_dist.log_prob(y), depth - len(self.base_dist.event_shape))

    def _complement_if_decreasing(self, value: Tensor) -> Tensor:
        """The probability for the base distribution: ``1 - value`` where the composed transform is decreasing."""
        sign = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in self.transforms[::-1]:
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._complement_if_decreasing(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._through(self.base_dist.icdf(self._complement_if_decreasing(value)))
