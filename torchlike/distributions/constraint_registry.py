"""biject_to and transform_to: from a constraint to a transform of unconstrained numbers into its region."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .._core.tensor import Tensor
from . import constraints, transforms

if TYPE_CHECKING:
    from .constraints import Constraint
    from .transforms._base import Transform
    from .transforms._combinations import ComposeTransform
    from .transforms._vectors import (
        CorrCholeskyTransform,
        LowerCholeskyTransform,
        PositiveDefiniteTransform,
        SoftmaxTransform,
        StickBreakingTransform,
    )


__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Creates the transform for a constraint, by the function that is registered for the constraint's class.

    >>> torch.distributions.transform_to(torch.distributions.constraints.simplex)
    SoftmaxTransform()

    Source: https://docs.pytorch.org/docs/stable/distributions.html#module-torch.distributions.constraint_registry
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable[..., Transform]] = {}
        super().__init__()

    def register(self, constraint: Constraint | type, factory: Callable[..., Transform] | None = None) -> Any:
        """Registers a function that creates the transform for a class of constraints. It can be used as a decorator.

        Raises:
            TypeError: ``constraint`` is neither a constraint nor a class of constraints.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> Transform:
        """The transform whose values lie in the region.

        Raises:
            NotImplementedError: none is registered for the constraint.
        """
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


@biject_to.register(constraints.real)
@transform_to.register(constraints.real)
def _to_real(constraint: constraints.Constraint) -> ComposeTransform:
    return transforms.identity_transform


def _independent(registry: ConstraintRegistry) -> Callable[..., Transform]:
    def make(constraint: Any) -> Transform:
        inner = registry(constraint.base_constraint)
        return transforms.IndependentTransform(inner, constraint.reinterpreted_batch_ndims)

    return make


# ``positive`` and ``nonnegative`` are of these two classes too, with the bound 0.
@biject_to.register(constraints.greater_than)
@biject_to.register(constraints.greater_than_eq)
@transform_to.register(constraints.greater_than)
@transform_to.register(constraints.greater_than_eq)
def _to_above(constraint: Any) -> ComposeTransform:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@biject_to.register(constraints.less_than)
@transform_to.register(constraints.less_than)
def _to_below(constraint: Any) -> ComposeTransform:
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@biject_to.register(constraints.interval)
@biject_to.register(constraints.half_open_interval)
@transform_to.register(constraints.interval)
@transform_to.register(constraints.half_open_interval)
def _to_interval(constraint: Any) -> Transform:
    low: Tensor | float = constraint.lower_bound
    high: Tensor | float = constraint.upper_bound
    if all(isinstance(v, numbers.Number) for v in (low, high)) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@biject_to.register(constraints.simplex)
def _stick_breaking(constraint: constraints.Constraint) -> StickBreakingTransform:
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _softmax(constraint: constraints.Constraint) -> SoftmaxTransform:
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _to_lower_cholesky(constraint: constraints.Constraint) -> LowerCholeskyTransform:
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_definite)
@transform_to.register(constraints.positive_semidefinite)
def _to_positive_definite(constraint: constraints.Constraint) -> PositiveDefiniteTransform:
    return transforms.PositiveDefiniteTransform()


@biject_to.register(constraints.corr_cholesky)
@transform_to.register(constraints.corr_cholesky)
def _to_corr_cholesky(constraint: constraints.Constraint) -> CorrCholeskyTransform:
    return transforms.CorrCholeskyTransform()


def _transform_of_parts(
    registry: ConstraintRegistry, make: Callable[..., Transform], *names: str
) -> Callable[..., Transform]:
    return lambda c: make([registry(part) for part in c.cseq], *(getattr(c, name) for name in names))


for _registry in (biject_to, transform_to):
    _registry.register(constraints.independent, _independent(_registry))
    _registry.register(constraints.cat, _transform_of_parts(_registry, transforms.CatTransform, "dim", "lengths"))
    _registry.register(constraints.stack, _transform_of_parts(_registry, transforms.StackTransform, "dim"))
