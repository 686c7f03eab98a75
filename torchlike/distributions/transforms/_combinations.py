"""Transforms made of other transforms: one after the other, side by side, over more dimensions."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from ... import ops
from ..._core.tensor import Tensor
from .. import constraints
from ..utils import _sum_rightmost, lazy_property
from ._base import Transform

if TYPE_CHECKING:
    from ..constraints import Constraint


__all__ = ["CatTransform", "ComposeTransform", "IndependentTransform", "StackTransform", "identity_transform"]


class ComposeTransform(Transform):
    """Several transforms, one after the other.

    >>> t = torch.distributions.ComposeTransform([torch.distributions.ExpTransform(), torch.distributions.AffineTransform(1.0, 2.0)])
    >>> t(torch.zeros(1))
    tensor([3.])
    """

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [transform.with_cache(cache_size) for transform in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:  # pyright: ignore[reportIncompatibleVariableOverride]
        if not self.parts:
            return constraints.real
        # The argument has as many event dimensions as the part with the most event dimensions needs.
        depth = self.parts[-1].codomain.event_dim
        for transform in reversed(self.parts):
            depth = max(depth + transform.domain.event_dim - transform.codomain.event_dim, transform.domain.event_dim)
        return _with_event_dim(self.parts[0].domain, depth)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:  # pyright: ignore[reportIncompatibleVariableOverride]
        if not self.parts:
            return constraints.real
        depth = self.parts[0].domain.event_dim
        for transform in self.parts:
            depth = max(depth + transform.codomain.event_dim - transform.domain.event_dim, transform.codomain.event_dim)
        return _with_event_dim(self.parts[-1].codomain, depth)

    @lazy_property
    def bijective(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether all parts are bijective."""
        return all(transform.bijective for transform in self.parts)

    @lazy_property
    def sign(self) -> Tensor | int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The product of the parts' signs."""
        result: Tensor | int = 1
        for transform in self.parts:
            result = result * transform.sign
        return result

    @property
    def inv(self) -> Transform:
        """The inverses in reverse order."""
        inverse = self._inv() if self._inv is not None else None
        if inverse is None:
            inverse = ComposeTransform([transform.inv for transform in reversed(self.parts)])
            self._inv, inverse._inv = weakref.ref(inverse), weakref.ref(self)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transforms, with caches of this size."""
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        """The result for ``x``."""
        for transform in self.parts:
            x = transform(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum of the parts' ``log |det dy/dx|``."""
        if not self.parts:
            return ops.zeros_like(x)
        steps = [x]
        for transform in self.parts[:-1]:
            steps.append(transform(steps[-1]))
        steps.append(y)
        terms, depth = [], self.domain.event_dim
        for transform, before, after in zip(self.parts, steps, steps[1:], strict=False):
            terms.append(
                _sum_rightmost(transform.log_abs_det_jacobian(before, after), depth - transform.domain.event_dim)
            )
            depth += transform.codomain.event_dim - transform.domain.event_dim
        return reduce(operator.add, terms)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of the result for an argument of this shape."""
        for transform in self.parts:
            shape = transform.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of the argument for a result of this shape."""
        for transform in reversed(self.parts):
            shape = transform.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        text = ",\n    ".join(repr(transform) for transform in self.parts)
        return f"{self.__class__.__name__}(\n    {text}\n)"


def _with_event_dim(constraint: Constraint, depth: int) -> Constraint:
    """The constraint for events of at least ``depth`` dimensions."""
    missing_dims = depth - constraint.event_dim
    return constraints.independent(constraint, missing_dims) if missing_dims > 0 else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch dimensions count as one event: the volume changes are summed over them."""

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform, with a cache of this size."""
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Constraint:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Constraint:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the base transform is bijective."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Tensor | int:
        """The base transform's sign."""
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The base transform's ``log |det dy/dx|``, summed over the event."""
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of the result for an argument of this shape."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of the argument for a result of this shape."""
        return self.base_transform.inverse_shape(shape)


class _PartwiseTransform(Transform):
    """A transform that applies other transforms to the parts of a dimension."""

    transforms: list[Transform]
    dim: int

    def __init__(self, transforms: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in transforms):
            raise AssertionError("All elements in tseq must be Transform instances")
        if cache_size:
            transforms = [t.with_cache(cache_size) for t in transforms]
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = list(transforms), dim

    def _check_dim(self, value: Tensor) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {value.dim()} dimensions")

    @property
    def bijective(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether all parts are bijective."""
        return all(t.bijective for t in self.transforms)


class CatTransform(_PartwiseTransform):
    """Splits a dimension into pieces, and applies one transform to each piece.

    Args:
        tseq: the transforms.
        dim: the dimension.
        lengths: the lengths of the pieces. Default: each has length 1.
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths and tseq must have the same length, got {len(self.lengths)} and {len(self.transforms)}"
            )

    @lazy_property
    def event_dim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The largest ``event_dim`` of the parts."""
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The length of all pieces together."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform, with a cache of this size."""
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _pieces(self, value: Tensor) -> tuple[Tensor, ...]:
        self._check_dim(value)
        if value.size(self.dim) != self.length:
            raise AssertionError(f"dimension {self.dim} must have size {self.length}, got {value.size(self.dim)}")
        return value.split(self.lengths, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return ops.cat([t(p) for t, p in zip(self.transforms, self._pieces(x), strict=True)], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return ops.cat([t.inv(p) for t, p in zip(self.transforms, self._pieces(y), strict=True)], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The pieces' ``log |det dy/dx|``, concatenated if ``dim`` is a batch dimension, added if it is part of the event."""
        terms = []
        for t, before, after in zip(self.transforms, self._pieces(x), self._pieces(y), strict=True):
            terms.append(_sum_rightmost(t.log_abs_det_jacobian(before, after), self.event_dim - t.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return ops.cat(terms, dim=dim) if dim < 0 else reduce(operator.add, terms)

    @constraints.dependent_property
    def domain(self) -> Constraint:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Constraint:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_PartwiseTransform):
    """Applies one transform to each slice along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform, with a cache of this size."""
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, value: Tensor) -> tuple[Tensor, ...]:
        self._check_dim(value)
        if value.size(self.dim) != len(self.transforms):
            raise AssertionError(
                f"dimension {self.dim} must have size {len(self.transforms)}, got {value.size(self.dim)}"
            )
        return value.unbind(self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return ops.stack([t(s) for t, s in zip(self.transforms, self._slices(x), strict=True)], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return ops.stack([t.inv(s) for t, s in zip(self.transforms, self._slices(y), strict=True)], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """``log |det dy/dx|`` of each slice."""
        parts = zip(self.transforms, self._slices(x), self._slices(y), strict=True)
        return ops.stack([t.log_abs_det_jacobian(before, after) for t, before, after in parts], dim=self.dim)

    @constraints.dependent_property
    def domain(self) -> Constraint:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Constraint:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
