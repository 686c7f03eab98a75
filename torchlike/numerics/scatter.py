"""Elements of an array replaced where indices say, with PyTorch's derivative."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array


def _subscript(where: Any) -> tuple[object, ...]:
    return tuple(slice(None) if index is None else index for index in where)


# If several elements are written to one place, JAX's derivative finds out which of them is there at the end, by three more scatters.
# PyTorch's derivative reads the gradient at every place that was written to, and so does this one.
@jax.custom_vjp
def set_at(target: Array, where: tuple[Array, ...], values: Array) -> Array:
    """``target`` with ``values`` at the subscript ``where``: an integer array for each dimension, None for all of it.

    ``values`` has the shape that the subscript selects. Where a place is named several times, it gets the last of the values.
    """
    return target.at[_subscript(where)].set(values)


def add_at(target: Array, where: object, values: Array) -> Array:
    """``target`` with ``values`` added at the subscript ``where``; of bool the sum is "or"."""
    places = target.at[where]
    # The larger of two bools is their "or".
    return places.max(values) if target.dtype == bool else places.add(values)


def _forward(target: Array, where: object, values: Array) -> tuple[Array, object]:
    return set_at(target, where, values), where


def _backward(where: object, grad: Array) -> tuple[Array, None, Array]:
    at = grad.at[_subscript(where)]
    return at.set(jnp.zeros((), grad.dtype)), None, at.get(mode="promise_in_bounds")


set_at.defvjp(_forward, _backward)
