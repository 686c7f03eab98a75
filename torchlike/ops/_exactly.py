"""Division and roots rounded once, as PyTorch's CPU kernels round them: XLA would rather multiply by an approximate reciprocal."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax


class _Traced(threading.local):
    platform = "cpu"


_traced = _Traced()


@contextlib.contextmanager
def computed_on(platform: str) -> Iterator[None]:
    """What is traced meanwhile is for this platform: elsewhere than on a CPU PyTorch multiplies by reciprocals too."""
    before, _traced.platform = _traced.platform, platform
    try:
        yield
    finally:
        _traced.platform = before


@jax.custom_jvp
def exact_quotient(a: Array, b: Any) -> Array:
    """``a / b``, where XLA makes ``a * (1 / b)`` of a divisor that is constant or broadcast: 21 / 7 would be 3.0000002."""
    if _traced.platform != "cpu" or not jnp.issubdtype(jnp.result_type(a, b), np.floating):
        return jnp.true_divide(a, b)
    return a / lax.optimization_barrier(jnp.broadcast_to(b, jnp.broadcast_shapes(jnp.shape(a), jnp.shape(b))))


@exact_quotient.defjvp
def _(primals: Any, tangents: Any) -> Any:
    # Twice by the divisor, not once by its square: PyTorch's steps, which half-precision numbers can tell apart.
    result = exact_quotient(*primals)
    return result, exact_quotient(tangents[0], primals[1]) - tangents[1] * exact_quotient(result, primals[1])


def exact_rsqrt(x: Array) -> Array:
    """``1 / sqrt(x)``, each of the two rounded."""
    return lax.rsqrt(x) if _traced.platform != "cpu" else 1 / lax.optimization_barrier(jnp.sqrt(x))
