"""The kernels of sparse tensors: sums into places, gathered rows, groups of elements. Indices are ordinary tensors here.

The last argument of most is the name that the node has in the graph, since one kernel serves several of PyTorch's operations.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ...dispatch.register import Category, Form, Indices, Number, Promote, op


def _operation_name(*args: Any) -> str:
    return args[-1]


@op(
    name="_sparse_product",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward=_operation_name,
    samples=[],
)
def product(rows: Indices, columns: Indices, values: Array, dense: Array, count: int, name: str) -> Array:
    """A sparse matrix of ``count`` rows times a dense matrix or vector: row ``r`` sums ``value * dense[column]``."""
    factors = dense[columns] * values.reshape(-1, *(1,) * (dense.ndim - 1))
    return jnp.zeros((count, *dense.shape[1:]), values.dtype).at[rows].add(factors)


@op(
    name="_sparse_accumulated",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward=_operation_name,
    samples=[],
)
def accumulated(
    input: Array,
    rows: Indices,
    columns: Indices,
    values: Array,
    dense: Array,
    count: int,
    beta: Number,
    alpha: Number,
    name: str,
) -> Array:
    """``beta * input`` and ``alpha`` times what ``product`` gives."""
    start = jnp.broadcast_to(jnp.asarray(beta, input.dtype) * input, (count, dense.shape[1]))
    factors = dense[columns] * (jnp.asarray(alpha, values.dtype) * values)[:, None]
    return start.at[rows].add(factors)


@op(
    name="_sparse_scattered",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward=_operation_name,
    samples=[],
)
def scattered(index: Indices, values: Array, shape: object, name: str) -> Array:
    """The dense tensor of this shape with the values at the places of ``index``; those of one place are added."""
    whole, where = _subscripted(jnp.zeros(shape, values.dtype), index)  # pyright: ignore[reportArgumentType]
    places = whole.at[where]
    return (places.max(values) if values.dtype == bool else places.add(values)).reshape(shape)  # pyright: ignore[reportArgumentType]


def _subscripted(dense: Array, index: Array) -> tuple[Array, tuple[Array, ...]]:
    """An array and the subscript of the places that an index names. Without sparse dimensions all are the one place that there is."""
    if index.shape[0]:
        return dense, tuple(index)
    return dense[None], (jnp.zeros(index.shape[1], np.int64),)


@op(
    name="_sparse_added",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward=_operation_name,
    samples=[],
)
def added(dense: Array, index: Indices, values: Array, name: str) -> Array:
    """The dense tensor with the values added at the places of ``index``."""
    whole, where = _subscripted(dense, index)
    return whole.at[where].add(values.astype(dense.dtype)).reshape(dense.shape)


@op(
    name="_sparse_gathered",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward=_operation_name,
    samples=[],
)
def gathered(dense: Array, index: Indices, name: str) -> Array:
    """The elements of a dense tensor at the places of ``index``."""
    whole, where = _subscripted(dense, index)
    return whole[where]


@op(
    name="_sparse_looked_up",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward=_operation_name,
    samples=[],
)
def looked_up(keys: Indices, values: Array, query: Indices, name: str) -> Array:
    """For each wanted key the value that has it, zero where none has. The keys are in order, and none comes twice."""
    further_dims = (1,) * (values.ndim - 1)
    if not keys.shape[0]:
        return jnp.zeros((query.shape[0], *values.shape[1:]), values.dtype)
    # A key that is greater than all others would be looked for behind the last one.
    place = jnp.minimum(jnp.searchsorted(keys, query), keys.shape[0] - 1)
    has_key = (keys[place] == query).reshape(-1, *further_dims)
    return jnp.where(has_key, values[place], jnp.zeros((), values.dtype))


@op(
    name="_sparse_softmax",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward=_operation_name,
    samples=[],
)
def softmax(values: Array, group: Indices, count: int, logarithm: bool, name: str) -> Array:
    """``softmax``, or its logarithm, among the values of each group. ``count``: how many groups there are."""
    largest = jax.lax.stop_gradient(jax.ops.segment_max(values, group, count))
    away = values - largest[group]
    exponentials = jnp.exp(away)
    total = jax.ops.segment_sum(exponentials, group, count)
    return away - jnp.log(total)[group] if logarithm else exponentials / total[group]


@op(
    name="_sparse_rows",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    differentiable=False,
    samples=[],
)
def rows_of(crow: Indices, count: int) -> Array:
    """The row of each of ``count`` elements, given where each row begins."""
    return (jnp.searchsorted(crow, jnp.arange(count, dtype=crow.dtype), side="right") - 1).astype(np.int64)
