"""Bags of rows looked up by number, each made one row: their sum, mean or maximum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core import dtypes
from ..._core.modes import modes
from ..._core.sparse import FORMS
from ..._core.tensor import Tensor, from_host
from ...dispatch.register import Category, Form, Indices, Promote, ValueCheck, composite, op
from ...engine.aval import Aval
from ...numerics.picking import first_where, summed_at
from ..elementwise.pointwise import mul
from .embedding import frequency_scaled, rows_at

SUM, MEAN, MAX = 0, 1, 2
_KINDS = {"int64": "Long", "int32": "Int"}


# ---- wrong numbers are found in the program; which kind of error it was, and where, is packed into one integer


def _wrong(
    weight: Array | Tensor, indices: Array | np.ndarray, offsets: Array | np.ndarray | None, *others: object
) -> tuple[object, object]:
    flat, count = indices.reshape(-1), weight.shape[0]
    bad, code = np.bool_(False), np.int64(0)
    if flat.size:
        outside = (flat < 0) | (flat >= count)
        where, number = outside.argmax(), first_where(flat, outside).astype(np.int64)
        bad, code = outside.any(), ((where << 32) | (number & 0xFFFFFFFF)) * 3
    if offsets is not None and offsets.size:
        first, last = offsets[0].astype(np.int64), offsets[-1].astype(np.int64)
        beyond, late = last > flat.size, first != 0
        # The last one that applies wins, which is the one that PyTorch checks first.
        for wrong, instead in ((beyond, last * 3 + 1), (late, first * 3 + 2)):
            code = code + (instead - code) * wrong.astype(np.int64)
        bad = bad | beyond | late
    return bad, code


def _error(code: int, *args: object, avals: Sequence[Aval]) -> Exception:
    value, kind = divmod(code, 3)
    if kind == 2:
        return RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got "
            f"{value}"
        )
    if kind == 1:
        return RuntimeError(
            f"offsets[-1] can not be greater than input's length {avals[1].shape[0]} but got offsets[-1] of {value}"
        )
    number = value & 0xFFFFFFFF
    # The index was packed as 32 bits without a sign, which it gets back here.
    number -= (number >> 31) << 32
    mode, padding_idx = args[4], args[7]
    if mode == MAX or padding_idx != -1 or avals[0].dtype.itemsize == 8:  # PyTorch's slower kernels have other words
        return RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {number}")
    return RuntimeError(
        f"Index {value >> 32} of input takes value {number} which is not in the valid range [0, {avals[0].shape[0]})"
    )


def _check_kinds(weight: Array, indices: Array, offsets: Array | None) -> None:
    for name, array in (("indices", indices), ("offsets", offsets)):
        if array is not None and array.dtype.name not in _KINDS:
            kind = dtypes.from_numpy_dtype(array.dtype).scalar_name
            raise RuntimeError(
                f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: Long, Int; but got "
                f"torch.{kind}Tensor instead (while checking arguments for embedding_bag)"
            )
    if weight.dtype.kind in "iubc":
        kind = dtypes.from_numpy_dtype(weight.dtype).scalar_name
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, Double; "
            f"but got torch.{kind}Tensor instead (while checking arguments for embedding_bag)"
        )


class _Bags(NamedTuple):
    """Which bag each index is in, which indices count, which of these are summed, and how many bags there are."""

    of: Array
    counted: Array
    summed: Array
    count: int

    def total(self, values: Array) -> Array:
        lead = (-1,) + (1,) * (values.ndim - 1)
        counted_values = jnp.where(self.summed.reshape(lead), values, jnp.zeros((), values.dtype))
        return summed_at(counted_values, self.of, self.count, in_order=True)


def _bags(indices: Array, offsets: Array | None, include_last: bool, padding_idx: int, to_end: bool) -> _Bags:
    """The bags. ``to_end``: the last one reaches to the end of the indices, even if ``include_last`` says that it ends before."""
    flat = indices.reshape(-1)
    position = lax.iota(np.int64, flat.shape[0])
    counted = flat != padding_idx
    if offsets is None:  # a row each
        rows = lax.broadcasted_iota(np.int64, indices.shape, 0)
        return _Bags(rows.reshape(-1), counted, counted, indices.shape[0])
    starts = offsets.astype(np.int64)
    count = starts.shape[0]
    summed = counted
    if include_last:
        count -= 1
        summed = counted if to_end else counted & (position < starts[-1])
        starts = starts[:-1]
    # An index is in the bag before which as many bags begin as up to it.
    of = jnp.cumsum(summed_at(lax.full_like(starts, 1), starts, flat.shape[0], in_order=True)) - 1
    return _Bags(jnp.maximum(of, 0), counted, summed, count)


def reaches_end(mode: int, padding_idx: int, itemsize: int) -> bool:
    """Whether the last bag has all indices that are left, also where ``include_last_offset`` says that it ends before.

    PyTorch's faster sums heed the last offset; its other sums and the sizes of the bags do not.
    """
    return mode == MAX or padding_idx != -1 or itemsize == 8


@op(
    name="_embedding_bag",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="EmbeddingBagBackward0",
    check=ValueCheck(_wrong, _error),
    samples=[],
)
def looked_up(
    weight: Array,
    indices: Indices,
    offsets: Indices | None,
    by_frequency: bool,
    mode: int,
    per_sample_weights: Array | None,
    include_last: bool,
    padding_idx: int,
) -> tuple[Array, Array, Array, Array]:
    """The bags, which bag each index is in, the bags' sizes, and for ``MAX`` which rows the elements come from.

    ``offsets``: where each bag begins; None: each row of two-dimensional indices is one. Rows ``padding_idx`` do not count
    (-1: all count).
    """
    if include_last and offsets is not None and not offsets.shape[0]:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    _check_kinds(weight, indices, offsets)
    if per_sample_weights is not None and per_sample_weights.dtype != weight.dtype:
        kinds = [dtypes.from_numpy_dtype(a.dtype).scalar_name for a in (weight, per_sample_weights)]
        raise RuntimeError(
            f"Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; but "
            f"type torch.{kinds[0]}Tensor does not equal torch.{kinds[1]}Tensor (while checking arguments for embedding_bag)"
        )
    flat = indices.reshape(-1)
    if offsets is not None and offsets.shape[0] == int(include_last):  # there are no bags
        none = jnp.zeros((0,), np.int64)
        return jnp.zeros((0, weight.shape[1]), weight.dtype), none, none, none
    to_end = reaches_end(mode, padding_idx, weight.dtype.itemsize)
    bags = _bags(indices, offsets, include_last, padding_idx, to_end)
    rows = rows_at(weight, flat)
    if by_frequency:
        rows = frequency_scaled(rows, weight, flat)
    half = weight.dtype.itemsize < 4
    rows = rows.astype(jnp.float32) if half else rows
    sizes = summed_at(bags.counted.astype(np.int64), bags.of, bags.count, in_order=True)
    of = bags.of.astype(np.int64)
    if mode == MAX:
        result, largest = _largest(rows, flat.astype(np.int64), bags)
        return result.astype(weight.dtype), of, sizes, largest
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1).astype(rows.dtype)
    total = bags.total(rows)
    if mode == MEAN:
        # The mean of an empty bag is 0, as its sum.
        total = total / jnp.maximum(sizes, 1).astype(total.dtype)[:, None]
    return total.astype(weight.dtype), of, sizes, sizes


def _largest(rows: Array, flat: Array, bags: _Bags) -> tuple[Array, Array]:
    """The first of the largest in each bag, and the number of its row; NaN is largest only where it comes first."""
    count = rows.shape[0]
    if not count:
        empty = (bags.count, rows.shape[1])
        return jnp.zeros(empty, rows.dtype), jnp.zeros(empty, np.int64)
    low = jnp.asarray(-np.inf, rows.dtype)
    position = np.arange(count)[:, None]
    counted = bags.counted[:, None]
    fixed = jax.lax.stop_gradient(jnp.where(counted & ~jnp.isnan(rows), rows, low))
    best = jax.ops.segment_max(fixed, bags.of, bags.count, indices_are_sorted=True)
    candidates = jnp.where(counted & (fixed == best[bags.of]), position, count)
    where = jax.ops.segment_min(candidates, bags.of, bags.count, indices_are_sorted=True)
    first = jax.ops.segment_min(
        jnp.where(bags.counted, position[:, 0], count), bags.of, bags.count, indices_are_sorted=True
    )
    first = jnp.broadcast_to(first[:, None], where.shape)
    begins_nan = jnp.isnan(jnp.take_along_axis(rows, jnp.minimum(first, count - 1), axis=0, mode="clip"))
    where = jnp.where(begins_nan, first, where)
    empty, where = where >= count, jnp.minimum(where, count - 1)
    picked = jnp.take_along_axis(rows, where, axis=0, mode="clip")
    zero = jnp.zeros((), rows.dtype)
    return jnp.where(empty, zero, picked), jnp.where(empty, 0, flat[where])


def _check_offsets(offsets: Tensor, indices: Tensor) -> None:
    """Raises at once for a first bag that begins late and a last one beyond the indices, as PyTorch does on CPUs.

    Offsets usually come from a loader, so that nothing has to run for it. A transform's are looked at in its program.
    """
    value = offsets._value()
    if value.traced or value.aval.placement.platform != "cpu" or offsets.numel() == 0:
        return
    places, count = offsets._array().reshape(-1), indices.numel()
    if places[0] != 0:
        raise _error(int(places[0]) * 3 + 2, avals=())
    if places[-1] > count:
        raise _error(int(places[-1]) * 3 + 1, avals=(offsets._aval, indices._aval))


def bag_of(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor | None,
    by_frequency: bool,
    mode: int,
    per_sample_weights: Tensor | None,
    include_last: bool,
    padding_idx: int | None,
    sparse: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """``looked_up`` with PyTorch's check of ``padding_idx``, which may count from the end. ``sparse``: so is the gradient."""
    count = weight.shape[0]
    if padding_idx is not None:
        if not -count <= padding_idx < count:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, {-count} through {count - 1}, but got {padding_idx}"
            )
        padding_idx %= count
    if offsets is not None:
        _check_offsets(offsets, indices)
    if sparse and mode != MAX and modes.grad_enabled and weight.requires_grad:
        options = by_frequency, mode, per_sample_weights, include_last, padding_idx
        return FORMS["_sparse_embedding_bag"](weight, indices, offsets, *options)
    number = -1 if padding_idx is None else padding_idx
    return looked_up(weight, indices, offsets, bool(by_frequency), mode, per_sample_weights, bool(include_last), number)


@composite(forms=Form.FUNCTION)
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Bags of the rows of ``weight``: their sum (mode 0), mean (1) or maximum (2).

    Args:
        indices: shape (n): the rows' numbers, all bags one after the other.
        offsets: shape (bags): where each bag begins.
        padding_idx: a row that does not count.

    Returns:
        The bags, shape (bags, embedding_dim); which bag each index is in; the bags' sizes; which rows the maxima come from.

    >>> table = torch.tensor([[1.0], [2.0], [4.0]])
    >>> torch.embedding_bag(table, torch.tensor([0, 2, 1]), torch.tensor([0, 2]))[0]
    tensor([[5.],
            [2.]])
    """
    results = bag_of(
        weight, indices, offsets, scale_grad_by_freq, mode, per_sample_weights, include_last_offset, padding_idx, sparse
    )
    if mode != SUM:
        return results
    # PyTorch's sum needs none of these outputs and leaves them at 0.
    none = mul(results[2], 0)
    fast = padding_idx is None and weight.dtype is dtypes.float32
    return results[0], from_host(np.empty(0, np.int64)) if fast else results[1], none, none
