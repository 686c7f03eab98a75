"""Elements of an array replaced where indices say, with PyTorch's derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from ..engine.interpreter import for_numpy
from .picking import in_corner, picked_along


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


def along(scatter: Callable[..., Array], target: Array, index: Array, dim: int, values: Array) -> Array:
    """``target`` with ``values`` written, or added, at the indices in the place of dimension ``dim``; all indices must be in bounds.

    Args:
        scatter: ``lax.scatter``, ``lax.scatter_add`` and so on.
        values: as many as indices.
    """
    part, own, others, columns = target, tuple(range(target.ndim)), (), [index]
    if for_numpy():
        part, own, others = in_corner(target, index.shape, dim), (dim,), own[:dim] + own[dim + 1 :]
    else:  # what exports a program may not know batches of a scatter
        columns = [index if d == dim else lax.broadcasted_iota(index.dtype, index.shape, d) for d in own]
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(), inserted_window_dims=own, scatter_dims_to_operand_dims=own, operand_batching_dims=others,
        scatter_indices_batching_dims=others,
    )  # fmt: skip
    places = lax.concatenate([lax.expand_dims(each, [index.ndim]) for each in columns], index.ndim)
    result = scatter(part, places, values, numbers, mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)
    return result if part is target else lax.dynamic_update_slice(target, result, [0] * target.ndim)


def add_along(target: Array, index: Array, dim: int, values: Array) -> Array:
    """``target`` with ``values`` added as ``along`` says; of bool the sum is "or"."""
    return along(lax.scatter_max if target.dtype == bool else lax.scatter_add, target, index, dim, values)


def _written_along(target: Array, index: Array, dim: int, values: Array) -> Array:
    """``target`` with ``values`` written as ``along`` says. Where a place is named several times, it gets the last of them."""
    return along(lax.scatter, target, index, dim, values)


set_along: Any = jax.custom_vjp(_written_along, nondiff_argnums=(2,))


def _along_backward(dim: int, index: Array, grad: Array) -> tuple[Array, None, Array]:
    nothing = lax.full(index.shape, 0, grad.dtype)
    return along(lax.scatter, grad, index, dim, nothing), None, picked_along(grad, index, dim)


set_along.defvjp(lambda target, index, dim, values: (set_along(target, index, dim, values), index), _along_backward)


def products_of_others(target: Array, where: tuple[Array, ...], values: Array) -> tuple[Array, Array]:
    """What a product of ``target`` and the values that go to its places is without one of its factors: for each of both.

    Nothing is divided, so derivatives of every order are those of the product, also where factors are zero. It costs a sort.
    """
    ids = jnp.broadcast_to(jnp.ravel_multi_index(where, target.shape, mode="clip"), values.shape).reshape(-1)
    order = jnp.argsort(ids)
    places, factors = ids[order], values.reshape(-1)[order]
    changes = places[1:] != places[:-1]
    border = jnp.ones(1, bool)
    begins, ends = jnp.concatenate([border, changes]), jnp.concatenate([changes, border])
    before, after = _running_products(factors, begins), _running_products(factors[::-1], ends[::-1])[::-1]
    one = jnp.ones((), values.dtype)
    others = jnp.where(begins, one, jnp.roll(before, 1)) * jnp.where(ends, one, jnp.roll(after, -1))
    flat = target.reshape(-1)
    last = jnp.where(ends, places, flat.size)
    for_target = jnp.ones(flat.shape, target.dtype).at[last].set(before, mode="drop")
    for_values = (others * flat[places])[jnp.argsort(order)]
    return for_target.reshape(target.shape), for_values.reshape(values.shape)


def _running_products(factors: Array, begins: Array) -> Array:
    """The products of the factors up to each, begun anew where ``begins`` says."""

    def joined(left: tuple[Array, Array], right: tuple[Array, Array]) -> tuple[Array, Array]:
        return jnp.where(right[1], right[0], left[0] * right[0]), left[1] | right[1]

    return jax.lax.associative_scan(joined, (factors, begins))[0]
