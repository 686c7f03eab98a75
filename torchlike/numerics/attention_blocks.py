"""Attention in blocks of queries and keys, which never makes the square of all scores: forward, and its gradients.

A block of queries meets one block of keys after the other. For each query the largest score so far and the sum of the exponentials are
kept, and what has been added up is scaled anew when a larger score comes (Milakov and Gimelshein, 2018, https://arxiv.org/abs/1805.02867;
Dao et al., 2022, https://arxiv.org/abs/2205.14135). Derivatives compute the scores again, block by block, from the logarithms of the sums.

Arrays are (B, N, T, E) for queries, (B, M, S, E) for keys and (B, M, S, F) for values. N is a multiple of M: neighbouring heads of queries
share a head of keys. A mask is (B or 1, N or 1, T or 1, S or 1), of booleans that are True where a query may look, or of numbers to add.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from . import philox

Number: TypeAlias = "Array | int"
# Factors for the weights of a block, as of dropout: a function of the numbers of its queries, (rows, 1), and of its keys, (1, columns),
# whose result broadcasts to (B, M, N / M, rows, columns).
Keep: TypeAlias = "Callable[[Array, Array], Array] | None"


class Attention(NamedTuple):
    """What is to be computed.

    Attributes:
        scale: of the products of queries and keys.
        causal: whether a query sees only the keys up to its own number.
        precision: of products of float32, as JAX names it.
        sizes: the numbers of queries and of keys in a block; None for what is fastest.
        below: a weight is kept if its 16 random bits are below this (``philox.halves``); 0: all are, and there are no such bits.
        batch: the weights of so many have bits of their own, and those of the next have the same ones; 0: all have their own.
        change: makes other scores of scores (B, N, rows, columns), the numbers of batch, head, query and key, and captured arrays.
        seen: says of these numbers and arrays where a query may look. A block where none may is left out.
        moving: which captured arrays get a gradient.
    """

    scale: float
    causal: bool
    precision: Any
    sizes: tuple[int, int] | None = None
    below: int = 0
    batch: int = 0
    change: Any = None
    seen: Any = None
    moving: tuple[int, ...] = ()


# Queries and keys in a block. With fewer, the loops' own work shows; with more, a block's scores do not fit into a processor's caches.
# Measured on two cores with 8 heads of 64 features, forward and backward take a tenth longer at 2,048 tokens with blocks of 128 or 512
# queries.
QUERIES, KEYS = 256, 512
# So many scores of one head are one block. With 512 queries and keys, loops take up to two thirds longer than the formula in halves
# (``ops/nn/attention.py``); with 1,024 they take a sixth less, and with 2,048 a third less.
WHOLE = 2**19


def block_sizes(of: Attention, queries: int, keys: int) -> tuple[int, int]:
    """The sizes of blocks: about equal ones, so that little of the last is empty."""
    if of.sizes is None and queries * keys <= WHOLE:
        return max(queries, 1), max(keys, 1)
    rows, columns = of.sizes or (QUERIES, KEYS)
    return _share(queries, rows), _share(keys, columns)


def _share(length: int, most: int) -> int:
    return -(-length // -(-length // most))


def sums_of(dtype: Any) -> Any:
    """The dtype of scores and sums."""
    return jnp.float32 if dtype.itemsize < 4 else dtype


def with_moving(of: Attention, captured: Sequence[Array], moving: Sequence[Array]) -> list[Array]:
    """The captured arrays with others."""
    found = dict(zip(of.moving, moving, strict=False))
    return [found.get(n, array) for n, array in enumerate(captured)]


def dropout(of: Attention, state: Array, query: Array, key: Array) -> Callable[[Array, Array], Array]:
    """The factors of dropout for a block of weights: the same ones whenever they are asked for, and however attention is cut."""
    batch, heads = query.shape[:2]
    one = lax.iota(np.uint32, batch)[:, None] % np.uint32(of.batch or batch) * np.uint32(heads)
    matrix = (one + lax.iota(np.uint32, heads)).reshape(batch, key.shape[1], heads // key.shape[1], 1, 1)

    def keep(rows: Array, columns: Array) -> Array:
        return philox.factors(philox.halves(state, matrix, rows, columns, key.shape[2]), of.below)

    return keep


class _Blocks:
    """The inputs, cut into blocks, with what is the same for forward and derivatives."""

    def __init__(
        self,
        of: Attention,
        query: Array,
        key: Array,
        value: Array,
        mask: Array | None,
        keep: Keep,
        captured: Sequence[Array] = (),
    ) -> None:
        self.of, self.keep, self.captured = of, keep, captured
        batch, heads, self.queries, _ = query.shape
        shared, self.keys = key.shape[1:3]
        self.lead = batch, shared, heads // shared
        self.rows, self.columns = block_sizes(of, self.queries, self.keys)
        if of.below and self.columns < self.keys:
            self.columns = -(-self.columns // philox.SHARED) * philox.SHARED
        self.row_blocks, self.column_blocks = -(-self.queries // self.rows), -(-self.keys // self.columns)
        self.dtype = query.dtype
        self.sums = sums_of(query.dtype)
        self.query, self.key, self.value = self.by_query(query), self.by_key(key), self.by_key(value)
        self.mask = mask if mask is None else self._of_mask(mask)

    # ---- shapes

    def by_query(self, x: Array) -> Array:
        """(B, N, T, ...) as (B, M, N / M, T, ...), with as many rows as all blocks have."""
        x = _padded(x, 2, self.row_blocks * self.rows)
        return x.reshape(*self.lead, *x.shape[2:])

    def by_key(self, x: Array) -> Array:
        return _padded(x, 2, self.column_blocks * self.columns)

    def _of_mask(self, mask: Array) -> Array:
        batch, heads, rows, columns = mask.shape
        lead = (batch, 1, 1) if heads == 1 else (batch, *self.lead[1:])
        mask = mask if rows == 1 else _padded(mask, 2, self.row_blocks * self.rows)
        mask = mask if columns == 1 else _padded(mask, 3, self.column_blocks * self.columns)
        return mask.reshape(*lead, *mask.shape[2:])

    def from_query(self, x: Array, dtype: Any) -> Array:
        batch, shared, group = self.lead
        return x.reshape(batch, shared * group, *x.shape[3:])[:, :, : self.queries].astype(dtype)

    def from_key(self, x: Array, dtype: Any) -> Array:
        return x[:, :, : self.keys].astype(dtype)

    # ---- blocks

    def row(self, x: Array, i: Number) -> Array:
        """Block i of what has a row for each query."""
        return x if self.row_blocks == 1 else lax.dynamic_slice_in_dim(x, i * self.rows, self.rows, 3)

    def column(self, x: Array, j: Number) -> Array:
        return x if self.column_blocks == 1 else lax.dynamic_slice_in_dim(x, j * self.columns, self.columns, 2)

    def put(self, x: Array, block: Array, at: Number, dim: int) -> Array:
        """``x`` with a block of queries (dimension 3) or of keys (2) in its place."""
        blocks, size = (self.row_blocks, self.rows) if dim == 3 else (self.column_blocks, self.columns)
        return block if blocks == 1 else lax.dynamic_update_slice_in_dim(x, block, at * size, dim)

    def of_mask(self, i: Number, j: Number) -> Array:
        """The block of the mask for these queries and keys."""
        block: Any = self.mask
        if block.shape[3] != 1:
            block = self.row(block, i)
        if block.shape[4] != 1 and self.column_blocks != 1:
            block = lax.dynamic_slice_in_dim(block, j * self.columns, self.columns, 4)
        return block

    def numbers(self, i: Number, j: Number) -> tuple[Array, Array]:
        """The numbers of the block's queries, as a column, and of its keys, as a row."""
        rows = i * self.rows + jnp.arange(self.rows)[:, None]
        return rows, j * self.columns + jnp.arange(self.columns)[None, :]

    # ---- computation

    def dot(self, a: Array, b: Array, sums: Any) -> Array:
        """Products of matrices of each head; half types are added up in float32."""
        return lax.dot_general(
            a, b, (sums, ((0, 1), (0, 1))), precision=self.of.precision, preferred_element_type=self.sums
        )

    def onto_keys(self, weights: Array, rows: Array) -> Array:
        """(..., rows, columns) and (..., rows, E): for each key the sum over all queries, of all heads that share it."""
        return self.dot(weights.astype(self.dtype), rows, ((2, 3), (2, 3)))

    def onto_queries(self, weights: Array, columns: Array) -> Array:
        return self.dot(weights.astype(self.dtype), columns, ((4,), (2,)))

    def products(self, rows: Array, columns: Array) -> Array:
        """The product of each row with each column's vector."""
        return self.dot(rows, columns, ((4,), (3,)))

    def places(self, i: Number, j: Number) -> list[Array]:
        """The numbers of batch, head, query and key, each along its own dimension; in padding the last ones."""
        rows, columns = self.numbers(i, j)
        numbers = [jnp.arange(self.lead[0])[:, None, None, None], jnp.arange(math.prod(self.lead[1:]))[:, None, None]]
        return [
            *numbers,
            jnp.minimum(rows, self.queries - 1)[None, None],
            jnp.minimum(columns, self.keys - 1)[None, None],
        ]

    def changed(self, scores: Array, i: Number, j: Number, *moving: Array) -> Array:
        """The scores of a block as functions change them."""
        captured = with_moving(self.of, self.captured, moving)
        whole = scores.reshape(self.lead[0], -1, *scores.shape[3:])
        whole = self.of.change(whole, *self.places(i, j), *captured).astype(self.sums)
        if self.of.seen is not None:
            whole = jnp.where(self.of.seen(*self.places(i, j), *captured), whole, -jnp.inf)
        return whole.reshape(scores.shape)

    def scores(self, query: Array, key: Array, i: Number, j: Number) -> Array:
        """(B, M, N / M, rows, columns): -inf where a query may not look."""
        scores = self.products(query, key) * jnp.asarray(self.of.scale, self.sums)
        return self.allowed(scores if self.of.change is None else self.changed(scores, i, j), i, j)

    def scores_and_pull(self, query: Array, key: Array, i: Number, j: Number) -> tuple[Array, Callable[[Array], Any]]:
        """The scores, and what makes gradients of the products and captured arrays of theirs."""
        if self.of.change is None:
            return self.scores(query, key, i, j), lambda d_scores: (d_scores,)
        scores = self.products(query, key) * jnp.asarray(self.of.scale, self.sums)
        change = lambda scores, *moving: self.changed(scores, i, j, *moving)  # noqa: E731
        scores, pull = jax.vjp(change, scores, *(self.captured[n] for n in self.of.moving))
        return self.allowed(scores, i, j), pull

    def allowed(self, scores: Array, i: Number, j: Number) -> Array:
        """The scores with the mask."""
        nowhere = jnp.asarray(-jnp.inf, self.sums)
        if self.mask is not None:
            mask = self.of_mask(i, j)
            scores = jnp.where(mask, scores, nowhere) if mask.dtype == bool else scores + mask.astype(self.sums)
        rows, columns = self.numbers(i, j)
        if self.of.causal:
            scores = jnp.where(columns <= rows, scores, nowhere)
        if self.column_blocks * self.columns != self.keys:
            scores = jnp.where(columns < self.keys, scores, nowhere)
        if self.of.change is not None and self.row_blocks * self.rows != self.queries:
            scores = jnp.where(rows < self.queries, scores, nowhere)  # changed ones of padding may be of any size
        return scores

    def kept(self, x: Array, i: Number, j: Number) -> Array:
        """The weights of a block, or their gradients, with the factors for them."""
        return x if self.keep is None else x * self.keep(*self.numbers(i, j)).astype(x.dtype)

    def over_rows(self, body: Callable[[Number, Any], Any], carried: Any) -> Any:
        return body(0, carried) if self.row_blocks == 1 else lax.fori_loop(0, self.row_blocks, body, carried)

    def over_columns(self, i: Number, body: Callable[[Number, Any], Any], carried: Any) -> Any:
        """``body`` for the blocks of keys that any query of block i may see."""
        if self.of.seen is not None:
            every = body
            body = lambda j, carried: lax.cond(  # noqa: E731
                jnp.any(self.of.seen(*self.places(i, j), *self.captured)), every, lambda j, carried: carried, j, carried
            )
        if self.column_blocks == 1:
            return body(0, carried)
        last: Number = self.column_blocks
        if self.of.causal:
            last = jnp.minimum(((i + 1) * self.rows - 1) // self.columns + 1, last)
        return lax.fori_loop(0, last, body, carried)

    def zeros_by_query(self, *further: int) -> Array:
        return jnp.zeros((*self.lead, self.row_blocks * self.rows, *further), self.sums)


def _padded(x: Array, dim: int, size: int) -> Array:
    more = size - x.shape[dim]
    if not more:
        return x
    widths = [(0, 0, 0)] * x.ndim
    widths[dim] = (0, more, 0)
    return lax.pad(x, jnp.zeros((), x.dtype), widths)


def forward(
    of: Attention,
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None = None,
    keep: Keep = None,
    captured: Sequence[Array] = (),
) -> tuple[Array, Array]:
    """What attention gives, (B, N, T, F), and the logarithm of each query's sum of exponentials, (B, N, T).

    A query that may look nowhere gets zeros, and +inf as its logarithm: so its weights, computed again, are 0.
    """
    at = _Blocks(of, query, key, value, mask, keep, captured)
    width = value.shape[-1]

    def of_rows(i: Number, found: tuple[Array, Array]) -> tuple[Array, Array]:
        rows = at.row(at.query, i)

        def meet(j: Number, carried: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            out, top, total = carried
            scores = at.scores(rows, at.column(at.key, j), i, j)
            # What is given does not depend on it, so JAX need not differentiate it.
            higher = lax.stop_gradient(jnp.maximum(top, jnp.max(scores, -1)))
            finite = jnp.where(jnp.isneginf(higher), jnp.zeros((), at.sums), higher)
            weights = jnp.exp(scores - finite[..., None])
            shrink = jnp.exp(top - finite)
            total = total * shrink + jnp.sum(weights, -1)
            more = at.onto_queries(at.kept(weights, i, j), at.column(at.value, j))
            return out * shrink[..., None] + more, higher, total

        shape = (*at.lead, at.rows)
        start = jnp.zeros((*shape, width), at.sums), jnp.full(shape, -jnp.inf, at.sums), jnp.zeros(shape, at.sums)
        out, top, total = at.over_columns(i, meet, start)
        looks = total != 0  # a NaN among the scores is handed on
        total = jnp.where(looks, total, jnp.ones((), at.sums))
        sums = jnp.where(looks, top + jnp.log(total), jnp.asarray(jnp.inf, at.sums))
        out = (out / total[..., None]).astype(at.dtype)
        return at.put(found[0], out, i, 3), at.put(found[1], sums, i, 3)

    out, sums = at.over_rows(of_rows, (at.zeros_by_query(width).astype(at.dtype), at.zeros_by_query()))
    return at.from_query(out, at.dtype), at.from_query(sums, at.sums)


def gradients(
    of: Attention,
    inputs: Sequence[Array],
    out: Array,
    sums: Array,
    cotangent: Array,
    of_mask: bool,
    keep: Keep = None,
    captured: Sequence[Array] = (),
    of_sums: Array | float = 0.0,
) -> tuple[Array, ...]:
    """The gradients of query, key and value, of the mask if ``of_mask``, and of the captured arrays that get one.

    Args:
        inputs: query, key, value, and the mask if there is one.
        out, sums: what ``forward`` has given.
        cotangent: the gradient of ``out``. of_sums: that of ``sums``.
    """
    query, key, value, *masks = inputs
    at = _Blocks(of, query, key, value, masks[0] if masks else None, keep, captured)
    means = at.by_query(jnp.sum(out.astype(at.sums) * cotangent.astype(at.sums), -1) - of_sums)
    cotangent, sums = at.by_query(cotangent), at.by_query(sums)

    def of_rows(i: Number, found: tuple[Any, ...]) -> tuple[Any, ...]:
        d_query, d_key, d_value, *more = found
        rows, arrived = at.row(at.query, i), at.row(cotangent, i)
        logarithms, mean = at.row(sums, i)[..., None], at.row(means, i)[..., None]

        def meet(j: Number, carried: tuple[Any, ...]) -> tuple[Any, ...]:
            d_rows, d_key, d_value, *more = carried
            columns = at.column(at.key, j)
            scores, pull = at.scores_and_pull(rows, columns, i, j)
            weights = jnp.exp(scores - logarithms)
            d_values = at.onto_keys(at.kept(weights, i, j), arrived)
            d_weights = at.kept(at.products(arrived, at.column(at.value, j)), i, j)
            d_scores = weights * (d_weights - mean)
            if of_mask:
                more = [_added(at, more[0], d_scores, i, j)]
            d_scores, *of_block = pull(d_scores)
            if of.moving:
                more = [total + block.astype(total.dtype) for total, block in zip(more, of_block, strict=True)]
            d_scores = d_scores * jnp.asarray(of.scale, at.sums)
            d_columns = at.onto_keys(d_scores, rows)
            d_key = at.put(d_key, at.column(d_key, j) + d_columns, j, 2)
            d_value = at.put(d_value, at.column(d_value, j) + d_values, j, 2)
            return (d_rows + at.onto_queries(d_scores, columns), d_key, d_value, *more)

        start = jnp.zeros((*at.lead, at.rows, query.shape[-1]), at.sums)
        d_rows, *rest = at.over_columns(i, meet, (start, d_key, d_value, *more))
        return (at.put(d_query, d_rows.astype(at.dtype), i, 3), *rest)

    start = [at.zeros_by_query(query.shape[-1]).astype(at.dtype)]
    start += [jnp.zeros(x.shape, at.sums) for x in (at.key, at.value)]
    start += [jnp.zeros(at.mask.shape, at.sums)] if of_mask and at.mask is not None else []
    start += [jnp.zeros(captured[n].shape, sums_of(captured[n].dtype)) for n in of.moving]
    d_query, d_key, d_value, *more = at.over_rows(of_rows, tuple(start))
    found = at.from_query(d_query, at.dtype), at.from_key(d_key, at.dtype), at.from_key(d_value, at.dtype)
    if of_mask:
        return (*found, _of_whole_mask(more[0], masks[0]))
    return (*found, *(d.astype(captured[n].dtype) for n, d in zip(of.moving, more, strict=True)))


def _added(at: _Blocks, total: Array, block: Array, i: Number, j: Number) -> Array:
    """The mask's gradient with that of a block, summed over the dimensions along which the mask is the same."""
    dims = tuple(d for d in range(5) if total.shape[d] == 1 != block.shape[d])
    block = jnp.sum(block, dims, keepdims=True)
    starts = [0, 0, 0, i * at.rows if total.shape[3] != 1 else 0, j * at.columns if total.shape[4] != 1 else 0]
    if math.prod(total.shape) == math.prod(block.shape):
        return total + block
    before = lax.dynamic_slice(total, starts, block.shape)
    return lax.dynamic_update_slice(total, before + block, starts)


def _of_whole_mask(gradient: Array, mask: Array) -> Array:
    batch, heads, rows, columns = mask.shape
    gradient = gradient.reshape(batch, heads, *gradient.shape[3:])
    return gradient[:, :, :rows, :columns].astype(mask.dtype)
