"""Transforms: invertible functions with the logarithm of their volume change, to make new distributions of."""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Sequence
from functools import reduce
from numbers import Number
from typing import Any

from .. import ops
from .._core.annotations import TensorOrNumber
from .._core.dtypes import finfo
from .._core.size import Size
from .._core.tensor import Tensor
from ..nn import functional as F
from . import constraints
from .utils import broadcast_all, lazy_property, sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform", "CumulativeDistributionTransform",
    "ExpTransform", "IndependentTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform",
    "identity_transform",
]  # fmt: skip


class Transform:
    """A function from ``domain`` to ``codomain``, with an inverse and the logarithm of its derivative's absolute determinant.

    Subclasses define ``_call``, ``_inverse`` and ``log_abs_det_jacobian``.

    Args:
        cache_size: 1 remembers the last value and its result, so that the inverse of a result is exact and free.

    >>> torch.distributions.ExpTransform().inv(torch.ones(2))
    tensor([0., 0.])

    Source: https://docs.pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    cached: tuple[Any, Any] = (None, None)

    def __init__(self, cache_size: int = 0) -> None:
        self._cache_size = cache_size
        self._inv: Any = None
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}  # a weak reference cannot be pickled

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions one event takes, the same before and after."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self) -> Any:
        """The inverse transform; its inverse is this one."""
        found = self._inv() if self._inv is not None else None
        if found is None:
            found = _InverseTransform(self)
            self._inv = weakref.ref(found)
        return found

    @property
    def sign(self) -> Any:
        """1 where the function rises, -1 where it falls."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform, with a cache of that size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        """The transform of ``x``."""
        if self._cache_size == 0:
            return self._call(x)
        known, result = self.cached
        if x is known:
            return result
        y = self._call(x)
        self.cached = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        result, known = self.cached
        if y is known:
            return result
        x = self._inverse(y)
        self.cached = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """``log |det dy/dx|`` for each event, given both."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__ + "()"

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """The shape of what comes out, from that of what goes in."""
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """The shape of what goes in, from that of what comes out."""
        return shape


class _SameOfClass(Transform):
    """Transforms without parameters: two of one class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = object.__hash__


class _InverseTransform(Transform):
    """The inverse of a transform; it keeps no cache of its own."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv: Any = transform

    @property
    def domain(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._inv.codomain

    @property
    def codomain(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._inv.domain

    @property
    def bijective(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Any:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """Several transforms, one after the other.

    >>> t = torch.distributions.ComposeTransform([torch.distributions.ExpTransform(), torch.distributions.AffineTransform(1.0, 2.0)])
    >>> t(torch.zeros(1))
    tensor([3.])
    """

    def __init__(self, parts: list[Any], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        if not self.parts:
            return constraints.real
        # What goes in has as many event dimensions as the deepest part needs there.
        depth = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            depth = max(depth + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return _deepened(self.parts[0].domain, depth)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        if not self.parts:
            return constraints.real
        depth = self.parts[0].domain.event_dim
        for part in self.parts:
            depth = max(depth + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return _deepened(self.parts[-1].codomain, depth)

    @lazy_property
    def bijective(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether all parts are."""
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The product of the parts' signs."""
        return reduce(operator.mul, (part.sign for part in self.parts), 1)

    @property
    def inv(self) -> Any:
        """The inverses in reverse order."""
        found = self._inv() if self._inv is not None else None
        if found is None:
            found = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv, found._inv = weakref.ref(found), weakref.ref(self)
        return found

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transforms, with caches of that size."""
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: object) -> Any:
        """The transform of ``x``."""
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: object) -> Any:
        """The sum of the parts' ``log |det dy/dx|``."""
        if not self.parts:
            return ops.zeros_like(x)
        steps = [x]
        for part in self.parts[:-1]:
            steps.append(part(steps[-1]))
        steps.append(y)
        terms, depth = [], self.domain.event_dim
        for part, before, after in zip(self.parts, steps, steps[1:], strict=False):
            terms.append(sum_rightmost(part.log_abs_det_jacobian(before, after), depth - part.domain.event_dim))
            depth += part.codomain.event_dim - part.domain.event_dim
        return reduce(operator.add, terms)

    def forward_shape(self, shape: Size) -> Any:
        """The shape of what comes out."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Size) -> Any:
        """The shape of what goes in."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        shown = ",\n    ".join(repr(part) for part in self.parts)
        return f"{self.__class__.__name__}(\n    {shown}\n)"


def _deepened(constraint: Any, depth: int) -> Any:
    more = depth - constraint.event_dim
    return constraints.independent(constraint, more) if more > 0 else constraint


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last batch dimensions count as one event: the volume changes are summed over them."""

    def __init__(self, base_transform: Any, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform, with a cache of that size."""
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the base transform is."""
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        """The base transform's."""
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """The base transform's, summed over the event."""
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of what comes out."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of what goes in."""
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """Gives the last dimensions, of shape ``in_shape``, the shape ``out_shape``."""

    bijective = True

    def __init__(self, in_shape: object, out_shape: object, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform, with a cache of that size."""
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """0: nothing is stretched."""
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of what comes out."""
        return _replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of what goes in."""
        return _replaced(shape, self.out_shape, self.in_shape)


def _replaced(shape: Sequence[int], old: Size, new: Size) -> Any:
    if len(shape) < len(old):
        raise ValueError("Too few dimensions on input")
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


class ExpTransform(_SameOfClass):
    """``y = exp(x)``."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1  # pyright: ignore[reportAssignmentType]

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """``x``."""
        return x


class PowerTransform(Transform):
    """``y = x ** exponent``, for positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform, with a cache of that size."""
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The exponent's."""
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """``log |exponent y / x|``."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of what comes out."""
        return ops.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    inverse_shape = forward_shape


class SigmoidTransform(_SameOfClass):
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

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """``log y (1 - y)``."""
        return -F.softplus(-x) - F.softplus(x)


class SoftplusTransform(_SameOfClass):
    """``y = log(1 + exp(x))``, which is ``x`` above 20."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1  # pyright: ignore[reportAssignmentType]

    def _call(self, x: Tensor) -> Tensor:
        return F.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """``log sigmoid(x)``."""
        return -F.softplus(-x)


class TanhTransform(_SameOfClass):
    """``y = tanh(x)``. Its inverse is inexact near -1 and 1, where a cache helps."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1  # pyright: ignore[reportAssignmentType]

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return ops.atanh(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """``log(1 - tanh(x)**2)``, in a form without cancellation."""
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class AbsTransform(_SameOfClass):
    """``y = |x|``; as its inverse the positive one is given."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """``y = loc + scale x``.

    Args:
        loc: what is added.
        scale: what is multiplied by.
        event_dim: how many dimensions one event takes.
    """

    bijective = True

    def __init__(self, loc: TensorOrNumber, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        """How many dimensions one event takes."""
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform, with a cache of that size."""
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        pairs: list[tuple[Any, Any]] = [(self.loc, other.loc), (self.scale, other.scale)]
        return all(
            a == b if isinstance(a, Number) and isinstance(b, Number) else (a == b).all().item() for a, b in pairs
        )

    __hash__ = object.__hash__

    @property
    def sign(self) -> Any:
        """The sign of ``scale``."""
        if isinstance(self.scale, (int, float)):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """``log |scale|``, summed over the event."""
        if isinstance(self.scale, (int, float)):
            found = ops.full_like(x, math.log(abs(self.scale)))
        else:
            found = ops.abs(self.scale).log()
        return sum_rightmost(found.expand(x.shape) if self.event_dim else found, self.event_dim).expand(
            x.shape[: x.dim() - self.event_dim]
        )

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of what comes out."""
        return ops.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CorrCholeskyTransform(Transform):
    """A vector of ``d (d - 1) / 2`` numbers to the Cholesky factor of a ``d`` by ``d`` correlation matrix.

    tanh of the numbers are partial correlations; row by row, each takes its part of what the squares before it have left of 1.

    Source: Lewandowski, Kurowicka, Joe, "Generating random correlation matrices based on vines and extended onion method" (2009).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = ops.tanh(x)
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)
        r = r + ops.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * F.pad(left[..., :-1], [1, 0], value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        left = 1 - ops.cumsum(y * y, dim=-1)
        before = F.pad(left[..., :-1], [1, 0], value=1.0)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(before, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: object = None) -> Any:
        """Of the stretches by tanh and by what was left of 1."""
        left = 1 - (y * y).cumsum(dim=-1)
        stick = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        tanh = -2 * (x + F.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return stick + tanh

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of what comes out."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        n = shape[-1]
        d = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], d, d)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of what goes in."""
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        d = shape[-1]
        return (*shape[:-2], d * (d - 1) // 2)


class SoftmaxTransform(_SameOfClass):
    """``y = exp(x)`` made to sum to 1. Not invertible: as its inverse log is given, which suits optimisation."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return F.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The same shape."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(_SameOfClass):
    """``n`` numbers to a point of the simplex with ``n + 1`` coordinates: each breaks its part off what is left of a stick."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _offset(self, x: Tensor) -> Any:
        """With it, zeros go to the middle of the simplex."""
        return x.shape[-1] - x.new_ones(x.shape[-1]).cumsum(-1) + 1

    def _call(self, x: Tensor) -> Tensor:
        z = ops.sigmoid(x - self._offset(x).log())
        left = (1 - z).cumprod(-1)
        return F.pad(z, [0, 1], value=1) * F.pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        cut = y[..., :-1]
        left = (1 - cut.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return cut.log() - left.log() + self._offset(cut).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """Of the sigmoids, and of the length each part is taken of."""
        x = x - self._offset(x).log()
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """One coordinate more."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """One coordinate less."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(_SameOfClass):
    """Any matrix to a lower triangular one with a positive diagonal: what is above is dropped, exp is taken of the diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(_SameOfClass):
    """Any matrix to a positive definite one, by way of its Cholesky factor."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        x = LowerCholeskyTransform()(x)
        return x @ x.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(ops.cholesky(y))


class _Parts(Transform):
    """One transform for each part of a dimension."""

    transforms: list[Any]
    dim: int

    def _checked(self, *values: Any) -> None:
        for value in values:
            if not -value.dim() <= self.dim < value.dim():
                raise AssertionError(f"dim {self.dim} out of range for tensor with {value.dim()} dimensions")

    @property
    def bijective(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether all parts are."""
        return all(t.bijective for t in self.transforms)


class CatTransform(_Parts):
    """Cuts a dimension into pieces of these lengths, and gives each to its transform.

    Args:
        tseq: the transforms.
        dim: the dimension.
        lengths: of the pieces. Default: 1 each.
    """

    def __init__(
        self, tseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements in tseq must be Transform instances")
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = list(tseq), dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths and tseq must have the same length, got {len(self.lengths)} and {len(self.transforms)}"
            )

    @lazy_property
    def event_dim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The deepest part's."""
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        """How long all pieces are together."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform, with a cache of that size."""
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _pieces(self, value: Any) -> Any:
        self._checked(value)
        if value.size(self.dim) != self.length:
            raise AssertionError(f"dimension {self.dim} must have size {self.length}, got {value.size(self.dim)}")
        return value.split(self.lengths, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return ops.cat([t(p) for t, p in zip(self.transforms, self._pieces(x), strict=True)], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return ops.cat([t.inv(p) for t, p in zip(self.transforms, self._pieces(y), strict=True)], dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: object) -> Any:
        """Of all pieces, side by side where the dimension is no event's, else their sum."""
        terms = []
        for t, before, after in zip(self.transforms, self._pieces(x), self._pieces(y), strict=True):
            terms.append(sum_rightmost(t.log_abs_det_jacobian(before, after), self.event_dim - t.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return ops.cat(terms, dim=dim) if dim < 0 else sum(terms)

    @constraints.dependent_property
    def domain(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Parts):
    """Gives each slice along a dimension to its transform."""

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements in tseq must be Transform instances")
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms, self.dim = list(tseq), dim

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform, with a cache of that size."""
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, value: Tensor) -> Any:
        self._checked(value)
        if value.size(self.dim) != len(self.transforms):
            raise AssertionError(
                f"dimension {self.dim} must have size {len(self.transforms)}, got {value.size(self.dim)}"
            )
        return value.unbind(self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return ops.stack([t(s) for t, s in zip(self.transforms, self._slices(x), strict=True)], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return ops.stack([t.inv(s) for t, s in zip(self.transforms, self._slices(y), strict=True)], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        """Of each slice."""
        parts = zip(self.transforms, self._slices(x), self._slices(y), strict=True)
        return ops.stack([t.log_abs_det_jacobian(before, after) for t, before, after in parts], dim=self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """``y = F(x)``, with ``F`` the distribution function of a distribution.

    >>> torch.distributions.CumulativeDistributionTransform(torch.distributions.Normal(0.0, 1.0))(torch.zeros(1))
    tensor([0.5000])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1  # pyright: ignore[reportAssignmentType]

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The distribution's support."""
        return self.distribution.support

    def _call(self, x: Any) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Tensor) -> Any:
        """The logarithm of the density."""
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform, with a cache of that size."""
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)
