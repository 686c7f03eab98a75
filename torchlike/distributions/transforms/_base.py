"""class Transform and its inverse."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from ..._core.tensor import Tensor

if TYPE_CHECKING:
    from ..constraints import Constraint


__all__ = ["Transform"]


class Transform:
    """A function from ``domain`` to ``codomain``, with an inverse and the logarithm of its derivative's absolute determinant.

    Subclasses define ``_call``, ``_inverse`` and ``log_abs_det_jacobian``.

    Args:
        cache_size: 1 keeps the last argument and its result, so that the inverse of this result is exact and costs nothing.

    >>> torch.distributions.ExpTransform().inv(torch.ones(2))
    tensor([0., 0.])

    Source: https://docs.pytorch.org/docs/stable/distributions.html#module-torch.distributions.transforms
    """

    bijective: bool = False
    domain: Constraint
    codomain: Constraint
    cached: tuple[Tensor, Tensor] | None = None

    def __init__(self, cache_size: int = 0) -> None:
        self._cache_size = cache_size
        self._inv: Any = None
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        super().__init__()

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_inv": None}  # a weak reference cannot be pickled

    @property
    def event_dim(self) -> int:
        """The number of last dimensions that one event takes, if it is the same in domain and codomain."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self) -> Transform:
        """The inverse transform; its inverse is this one."""
        inverse = self._inv() if self._inv is not None else None
        if inverse is None:
            inverse = _InverseTransform(self)
            # The inverse refers to this one, and a cycle lives until the garbage collector runs.
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> Tensor | int:
        """1 where the function rises, -1 where it falls."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Self:
        """The same transform, with a cache of this size."""
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
        """The result for ``x``."""
        if self._cache_size == 0:
            return self._call(x)
        if self.cached is not None and x is self.cached[0]:
            return self.cached[1]
        y = self._call(x)
        self.cached = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        if self.cached is not None and y is self.cached[1]:
            return self.cached[0]
        x = self._inverse(y)
        self.cached = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """``log |det dy/dx|`` for each event, from ``x`` and its result ``y``."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__ + "()"

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of the result for an argument of this shape."""
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of the argument for a result of this shape."""
        return shape


class ParameterlessTransform(Transform):
    """A transform without parameters: all of one class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = object.__hash__


class _InverseTransform(Transform):
    """The inverse of a transform; it keeps no cache of its own."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv: Any = transform

    @property
    def domain(self) -> Constraint:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._inv.codomain

    @property
    def codomain(self) -> Constraint:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._inv.bijective

    @property
    def sign(self) -> Tensor | int:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __getstate__(self) -> dict[str, object]:
        return self.__dict__

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self._inv.forward_shape(shape)
