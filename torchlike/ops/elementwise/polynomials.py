"""Orthogonal polynomials of a degree given for each element, by their three-term recurrences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...dispatch.register import Category, Form, Operand, Promote, Sample, Validation, op
from .pointwise import one_tensor

DEGREES = Sample(
    values=([-1.5, -1.0, -0.5, 0.0, 0.3, 0.9, 1.0, 2.0], [0.0, 1.0, 2.0, 3.0, 4.0, 9.0, 12.0, -1.0]),
    dtypes=("float32", "float64"),
    gradient=False,
)
# The degree above which PyTorch gives NaN for Hermite's polynomials, by the size of an element.
_MAX_HERMITE_DEGREE = {4: 128, 8: 512}


def by_recurrence(
    x: Array, n: Array, first: Array, step: Callable[[Array, Array, Array], Array], is_settled: Array
) -> Array:
    """``p[n](x)`` from ``p[0] = 1``, ``p[1] = first`` and ``p[k + 1] = step(k, p[k], p[k - 1])``; 0 for negative degrees.

    Args:
        is_settled: the elements whose value is known without the recurrence. They add no steps to the loop.
    """
    # One loop serves all elements: it runs up to the highest degree, and each element keeps its value from its own degree on.
    last = jnp.max(jnp.where(is_settled, 0, n), initial=0)

    def body(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        before, now = state
        after = step(k.astype(x.dtype), now, before)
        return jnp.where(k < n, now, before), jnp.where(k < n, after, now)

    one = jnp.ones_like(x)
    _, result = lax.fori_loop(jnp.ones((), n.dtype), last, body, (one, first))
    result = jnp.where(n == 0, one, result)
    return jnp.where(n < 0, jnp.zeros((), x.dtype), result)


def _degree(n: Array) -> Array:
    return jnp.where(jnp.isnan(n), jnp.asarray(-1, n.dtype), n).astype(np.int64)


def _chebyshev(
    first: Callable[[Array], Array], edges: Callable[..., tuple[Array, Array]], angle: Any, most: int
) -> Any:
    """Chebyshev's polynomials, whose recurrence is the same and whose start differs.

    Args:
        first: the polynomial of degree 1.
        edges: of the degree and its sign of parity: the values at 1 and at -1.
        angle: (n, theta) -> the value by trigonometry, for degrees above ``most``.
    """

    def compute(x: Array, n: Array) -> Array:
        x, n = jnp.broadcast_arrays(x, _degree(n))
        degree = n.astype(x.dtype)
        parity = jnp.where(n % 2 == 0, jnp.ones((), x.dtype), -jnp.ones((), x.dtype))
        right, left = edges(degree, parity)
        border, inside = jnp.abs(x) == 1, (n > most) & (jnp.abs(x) < 1)
        theta = jnp.arccos(jnp.where(inside, x, jnp.zeros((), x.dtype)))
        result = by_recurrence(x, n, first(x), lambda k, now, before: 2 * x * now - before, border | inside)
        result = jnp.where(inside, angle(degree, theta), result)
        result = jnp.where(border, jnp.where(x > 0, right, left), result)
        return jnp.where(n < 0, jnp.zeros((), x.dtype), result)

    return compute


# The last arguments are PyTorch's: above these degrees its kernels use trigonometry too.
_T = _chebyshev(lambda x: x, lambda n, even: (jnp.ones_like(n), even), lambda n, a: jnp.cos(n * a), 6)
_U = _chebyshev(
    lambda x: 2 * x, lambda n, even: (n + 1, even * (n + 1)), lambda n, a: jnp.sin((n + 1) * a) / jnp.sin(a), 8
)
_V = _chebyshev(
    lambda x: 2 * x - 1,
    lambda n, even: (jnp.ones_like(n), even * (2 * n + 1)),
    lambda n, a: jnp.cos((n + 0.5) * a) / jnp.cos(a / 2),
    8,
)
_W = _chebyshev(
    lambda x: 2 * x + 1,
    lambda n, even: (2 * n + 1, even),
    lambda n, a: jnp.sin((n + 0.5) * a) / jnp.sin(a / 2),
    8,
)


def _hermite(first: float) -> Any:
    """Hermite's polynomials; ``first``: the factor of x in the one of degree 1, 2 for physicists, 1 for statisticians."""

    def compute(x: Array, n: Array) -> Array:
        x, n = jnp.broadcast_arrays(x, _degree(n))
        beyond = n > _MAX_HERMITE_DEGREE[x.dtype.itemsize]
        step = lambda k, now, before: first * (x * now - k * before)  # noqa: E731
        result = by_recurrence(x, n, first * x, step, beyond)
        return jnp.where(beyond, jnp.asarray(math.nan, x.dtype), result)

    return compute


def _laguerre(x: Array, n: Array) -> Array:
    x, n = jnp.broadcast_arrays(x, _degree(n))
    step = lambda k, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1)  # noqa: E731
    return by_recurrence(x, n, 1 - x, step, jnp.zeros(x.shape, np.bool_))


def _legendre(x: Array, n: Array) -> Array:
    x, n = jnp.broadcast_arrays(x, _degree(n))
    step = lambda k, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1)  # noqa: E731
    border = jnp.abs(x) == 1
    result = by_recurrence(x, n, x, step, border)
    edge = jnp.where((x > 0) | (n % 2 == 0), jnp.ones((), x.dtype), -jnp.ones((), x.dtype))
    return jnp.where(border & (n >= 0), edge, result)


def _shifted_polynomial(compute: Callable[..., object]) -> Any:
    return lambda x, n: compute(2 * x - 1, n)


def _declare(name: str, compute: Callable[[Array, Array], Array], kind: str) -> Any:
    def polynomial(x: Operand, n: Operand) -> Array:
        return compute(*jnp.broadcast_arrays(x, n))

    polynomial.__doc__ = f"{kind} polynomial of degree ``n`` at ``x``, element by element; 0 for negative degrees."
    return op(
        name=f"special_{name}",
        promote=Promote.INT_TO_FLOAT,
        accepts=Category.REAL,
        forms=Form.OUT,
        differentiable=False,  # PyTorch has no derivatives for them
        validation=Validation(call=one_tensor(f"special_{name}")),
        refuse=f"{name}_cpu",
        samples=[DEGREES],
    )(polynomial)


special_chebyshev_polynomial_t = _declare("chebyshev_polynomial_t", _T, "Chebyshev's (first kind)")
special_chebyshev_polynomial_u = _declare("chebyshev_polynomial_u", _U, "Chebyshev's (second kind)")
special_chebyshev_polynomial_v = _declare("chebyshev_polynomial_v", _V, "Chebyshev's (third kind)")
special_chebyshev_polynomial_w = _declare("chebyshev_polynomial_w", _W, "Chebyshev's (fourth kind)")
special_shifted_chebyshev_polynomial_t = _declare(
    "shifted_chebyshev_polynomial_t", _shifted_polynomial(_T), "Chebyshev's (first kind, on the interval from 0 to 1)"
)
special_shifted_chebyshev_polynomial_u = _declare(
    "shifted_chebyshev_polynomial_u", _shifted_polynomial(_U), "Chebyshev's (second kind, on the interval from 0 to 1)"
)
special_shifted_chebyshev_polynomial_v = _declare(
    "shifted_chebyshev_polynomial_v", _shifted_polynomial(_V), "Chebyshev's (third kind, on the interval from 0 to 1)"
)
special_shifted_chebyshev_polynomial_w = _declare(
    "shifted_chebyshev_polynomial_w", _shifted_polynomial(_W), "Chebyshev's (fourth kind, on the interval from 0 to 1)"
)
special_hermite_polynomial_h = _declare("hermite_polynomial_h", _hermite(2.0), "Hermite's (physicists')")
special_hermite_polynomial_he = _declare("hermite_polynomial_he", _hermite(1.0), "Hermite's (statisticians')")
special_laguerre_polynomial_l = _declare("laguerre_polynomial_l", _laguerre, "Laguerre's")
special_legendre_polynomial_p = _declare("legendre_polynomial_p", _legendre, "Legendre's")
