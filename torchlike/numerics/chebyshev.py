"""Functions of one variable as Chebyshev series, fitted in float64 when they are first needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array


@cache
def reference() -> Any:
    """SciPy's special functions, loaded when the first series is fitted: an import of the package does not wait for them."""
    import scipy.special

    return scipy.special


class Series:
    """A smooth function on an interval, to the last digits of float64.

    Args:
        function: the function, on NumPy arrays of float64.
        low, high: the interval.
        degree: of the polynomial.
    """

    def __init__(self, function: Callable[[Any], Any], low: float, high: float, degree: int) -> None:
        self.function, self.low, self.high, self.degree = function, low, high, degree
        self.coefficients = cache(self._coefficients)

    def _coefficients(self) -> np.ndarray:
        half, middle = (self.high - self.low) / 2, (self.high + self.low) / 2
        return np.polynomial.chebyshev.chebinterpolate(lambda t: self.function(middle + half * t), self.degree)

    def __call__(self, x: Array) -> Array:
        """The values, by Clenshaw's recurrence; outside the interval they mean nothing."""
        half, middle = (self.high - self.low) / 2, (self.high + self.low) / 2
        t = (x - jnp.asarray(middle, x.dtype)) / jnp.asarray(half, x.dtype)
        later = last = jnp.zeros_like(x)
        first, *others = self.coefficients()
        for c in reversed(others):
            last, later = jnp.asarray(c, x.dtype) + 2 * t * last - later, last
        return jnp.asarray(first, x.dtype) + t * last - later
