"""Operations whose result depends on values: masked elements, nonzero places, distinct values, counts and bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core import dtypes
from ..._core.meta import on_meta, refuse_meta
from ..._core.tensor import Tensor, from_value, wrap_dim
from ...dispatch.apply import without_derivative
from ...dispatch.out_dtypes import words
from ...dispatch.overlap import Reading
from ...dispatch.register import Category, Form, Indices, Promote, Sample, Saves, Validation, ValueCheck, composite, op
from ...dispatch.unsigned import refuse_wide_unsigned
from ...engine.aval import CPU, Aval, check_room
from ...engine.value import Unreadable, Value
from ...numerics.denormals import order
from ...numerics.exact_math import exact_quotient
from ...numerics.numbers import check_width
from ...numerics.picking import picked_once
from ...numerics.std_sort import std_sort
from ..elementwise.pointwise import select_by
from ..shape.reshape import broadcast_to, common_shape


def _host(array: object, like: Tensor) -> Tensor:
    """A tensor of a NumPy array, on the device of another tensor."""
    return from_value(Value.on_host(np.asarray(array, order="C"), like._aval.placement))


# ---- masks


@op(
    name="_masked_select",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="MaskedSelectBackward0",
    saves=Saves.INPUTS,
    samples=[],
)
def pick(input: Array, places: Indices) -> Array:
    """The elements that a mask has read, by their places in the flattened array."""
    return picked_once(input, places, input.ndim)


@composite(
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    overlap=Reading.ELSEWHERE,
    validation=Validation(out=words("masked_select(): self and result must have the same scalar type")),
)
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where ``mask`` is true, in one dimension. The mask is read.

    >>> torch.masked_select(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]))
    tensor([1, 3])
    """
    if mask.dtype is not dtypes.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = common_shape([input.shape, mask.shape])
    refuse_meta(mask if on_meta(mask) else input, "masked_select")
    try:
        mask_array = np.broadcast_to(mask._array().astype(np.bool_), shape)
    except Unreadable:
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each batch this "
            "would return a differently shaped Tensor. Please file an issue at https://github.com/pytorch/pytorch/issues if you need "
            "this feature."
        ) from None
    return pick(broadcast_to(input, shape), _host(np.flatnonzero(mask_array), input))


def _too_few(input: Any, mask: Array, source: Array) -> tuple[object, object]:
    shape = np.broadcast_shapes(tuple(input.shape), mask.shape)
    repeats = int(np.prod(shape, dtype=np.int64)) // max(mask.size, 1)
    size = int(np.prod(source.shape, dtype=np.int64))
    return mask.sum() * repeats > size, 0


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.INPLACE,
    saves=Saves.INPUTS,
    check=ValueCheck(
        _too_few, lambda value, *args, avals: RuntimeError("Number of elements of source < number of ones in mask")
    ),
    samples=[],
)
def masked_scatter(input: Array, mask: Indices, source: Array) -> Array:
    """The elements of ``source``, in order, where ``mask`` is true, ``input`` elsewhere."""
    if mask.dtype != np.bool_:
        raise RuntimeError(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            + dtypes.from_numpy_dtype(np.dtype(mask.dtype)).scalar_name
        )
    if source.dtype != input.dtype:
        dtype_names = [dtypes.from_numpy_dtype(np.dtype(a.dtype)).scalar_name for a in (input, source)]
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{dtype_names[0]} and {dtype_names[1]}"
        )
    shape = common_shape([input.shape, mask.shape])
    input, mask = jnp.broadcast_to(input, shape), jnp.broadcast_to(mask, shape)
    if source.size == 0 or input.size == 0:
        return input
    numbers = jnp.cumsum(mask.reshape(-1).astype(np.int64)) - 1
    values = source.reshape(-1).at[jnp.clip(numbers, 0, source.size - 1)].get(mode="promise_in_bounds")
    return jnp.where(mask, values.reshape(shape), input)


def _read(input: Tensor, operator: str) -> np.ndarray:
    """The elements of a tensor on which the size of a result depends."""
    try:
        return input._array()
    except Unreadable:
        raise RuntimeError(
            "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
            f"aten::{operator}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
        ) from None


def _out_of_nonzero(expected: dtypes.dtype, actual: dtypes.dtype) -> Exception:
    return RuntimeError(
        f"nonzero: Expected out tensor to have scalar type Long but got scalar type{actual.scalar_name}"
    )


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT, validation=Validation(out=_out_of_nonzero))
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Where the elements are not zero: one row of indices each, or a tuple with a vector of indices for each dimension.

    Reads the tensor, since the result's size depends on it.

    >>> torch.nonzero(torch.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    refuse_meta(input, "nonzero")
    refuse_wide_unsigned("nonzero_count_cpu", input.dtype)
    array = _read(input, "nonzero")
    if as_tuple:
        return tuple(_host(column, input) for column in np.nonzero(np.atleast_1d(array)))
    if array.ndim == 0:
        return _host(np.zeros((int(array != 0), 0), np.int64), input)
    return _host(np.stack(np.nonzero(array), axis=1), input)


@composite(forms=Form.FUNCTION | Form.METHOD)
def argwhere(input: Tensor) -> Tensor:
    """Where the elements are not zero, one row of indices each."""
    return nonzero(input)


# ---- distinct values


@composite(forms=Form.FUNCTION | Form.METHOD)
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements in order, or distinct slices of a dimension. Reads the tensor.

    Args:
        return_inverse: return as well where in the result each element stands.
        return_counts: return as well how often each occurs.

    >>> torch.unique(torch.tensor([3, 1, 3]))
    tensor([1, 3])
    """
    refuse_meta(input, "_unique2" if dim is None else "unique_dim")
    array = _read(input, "_unique2" if dim is None else "unique_dim")
    axis = None if dim is None else wrap_dim(dim, input.dim())
    if axis is not None and array.dtype.kind not in "biu" and array.size and np.isnan(array).any():
        values, inverse, counts = _slices_with_nan(array, axis)
        return _result_tuple("unique_dim", input, values, (inverse, return_inverse), (counts, return_counts))
    values, inverse, counts = np.unique(array, return_inverse=True, return_counts=True, axis=axis, equal_nan=False)
    inverse = inverse.reshape(array.shape if axis is None else -1)
    operator = "_unique2" if dim is None else "unique_dim"
    return _result_tuple(operator, input, values, (inverse, return_inverse), (counts, return_counts))


def _slices_with_nan(array: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct slices, where each one's are in the result, and how many are equal, in the order in which PyTorch's sort leaves NaN."""
    rows = np.moveaxis(array, axis, 0)
    flat = rows.reshape(rows.shape[0], -1).tolist()

    def less(a: int, b: int) -> bool:
        return next((x < y for x, y in zip(flat[a], flat[b], strict=True) if x < y or x > y), False)

    order = np.asarray(std_sort(len(flat), less))
    ordered = rows[order]
    starts = np.ones(len(order), np.bool_)
    starts[1:] = (ordered[1:] != ordered[:-1]).reshape(len(order) - 1, -1).any(axis=1)
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.cumsum(starts) - 1
    first = np.flatnonzero(starts)
    return np.moveaxis(ordered[first], 0, axis), inverse, np.diff(np.append(first, len(order)))


def _result_tuple(operator: str, input: Tensor, values: np.ndarray, *optional: tuple[np.ndarray, bool]) -> Any:
    name = "".join(word.capitalize() for word in operator.split("_")) + "Backward0"
    results = [without_derivative(_host(values, input), [input], operator, name)] + [
        _host(array.astype(np.int64), input) for array, is_returned in optional if is_returned
    ]
    return results[0] if len(results) == 1 else tuple(results)


@composite(forms=Form.FUNCTION | Form.METHOD)
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]:
    """The first of each run of equal elements, or of equal slices along a dimension. Reads the tensor.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    refuse_meta(input, "unique_consecutive")
    array = input._array()
    axis = 0 if dim is None else wrap_dim(dim, input.dim())
    rows = array.reshape(-1) if dim is None else np.moveaxis(array, axis, 0)
    flat = rows.reshape(rows.shape[0], int(np.prod(rows.shape[1:])))
    starts = np.ones(len(flat), np.bool_)
    starts[1:] = (flat[1:] != flat[:-1]).any(axis=1)
    first = np.flatnonzero(starts)
    values = rows[first] if dim is None else np.moveaxis(rows[first], 0, axis)
    inverse = np.cumsum(starts) - 1
    counts = np.diff(np.append(first, len(flat)))
    if dim is None:
        inverse = inverse.reshape(array.shape)
    return _result_tuple("unique_consecutive", input, values, (inverse, return_inverse), (counts, return_counts))


# ---- counts and bins


@composite(forms=Form.FUNCTION | Form.METHOD)
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each non-negative integer occurs in a vector, or the sum of its weights. Reads the tensor.

    >>> torch.bincount(torch.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    if input.dtype.category != dtypes.INTEGER:
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{input.dtype.scalar_name}'")
    refuse_wide_unsigned("bincount_cpu", input.dtype)
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    refuse_meta(input, "bincount")
    array = input._array()
    if array.ndim != 1 or (array.size and array.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    check_room((max(int(array.max()) + 1 if array.size else 0, minlength),), np.dtype(np.int64), CPU)
    if weights is None:
        return _host(np.bincount(array.astype(np.int64), minlength=minlength).astype(np.int64), input)
    if weights.dim() != 1 or weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    dtype = weights.dtype.numpy if weights.dtype is dtypes.float32 else np.dtype(np.float64)
    totals = np.zeros(max(int(array.max()) + 1 if array.size else 0, minlength), dtype)
    np.add.at(totals, array.astype(np.int64), weights._array().astype(dtype))
    return without_derivative(_host(totals, input), [weights], "aten::bincount")


def _not_finite(input: Array, bins: int, min: float, max: float) -> tuple[Any, Any]:
    if min != max or not input.size:
        return np.bool_(False), 0
    ends = jnp.stack([jnp.min(input), jnp.max(input)]).astype(np.float32)
    # Both ends in one number, for the message.
    low, high = lax.bitcast_convert_type(ends, np.int32).astype(np.int64)
    return ~jnp.isfinite(ends).all(), low * (1 << 32) + (high & 0xFFFFFFFF)


def _not_finite_error(value: int, *args: object, avals: Sequence[Aval]) -> Exception:
    ends = np.array([value >> 32, value & 0xFFFFFFFF], np.int64).astype(np.uint32).view(np.float32)
    return _no_range(*ends.tolist())


def _no_range(low: float, high: float) -> Exception:
    return RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")


@op(
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    differentiable=False,
    check=ValueCheck(_not_finite, _not_finite_error),
    validation=Validation(
        out=words(
            "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {c_result} and hist {c_out}"
        )
    ),
    refuse=lambda name, dtype: NotImplementedError(
        f'"{"linspace" if dtype.category == dtypes.BOOL else "aminmax" if dtype.is_complex else "histogram"}_cpu" not '
        f"implemented for '{dtype.scalar_name}'"
    ),
    samples=[Sample(shapes=((12,),), args=(4,)), Sample(shapes=((12,),), args=(4, -1.0, 1.0))],
)
def histc(input: Array, bins: int = 100, min: float = 0, max: float = 0) -> Array:
    """How many elements lie in each of ``bins`` equal intervals from ``min`` to ``max``, both included.

    If these two are equal, the intervals reach from the smallest element to the largest.

    >>> torch.histc(torch.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    if not (math.isfinite(min) and math.isfinite(max)):
        raise _no_range(min, max)
    flat = input.reshape(-1)
    if flat.size == 0:
        return jnp.zeros((bins,), input.dtype)
    if min == max:
        low, high = jnp.min(flat), jnp.max(flat)
        low, high = jnp.where(low == high, low - 1, low), jnp.where(low == high, high + 1, high)
    else:
        low, high = jnp.asarray(min, input.dtype), jnp.asarray(max, input.dtype)
    inside = (flat >= low) & (flat <= high)
    place = jnp.where(inside, exact_quotient(flat - low, high - low) * bins, 0).astype(np.int64)
    counts = jnp.zeros((bins,), np.int64).at[jnp.minimum(place, bins - 1)].add(inside.astype(np.int64))
    return counts.astype(input.dtype)


def _common(*arrays: Array) -> list[Array]:
    tensor_dtypes = [dtypes.from_numpy_dtype(np.dtype(a.dtype)) for a in arrays]
    common = dtypes.promote_types(*tensor_dtypes).numpy
    return [a.astype(common) for a in arrays]


@op(
    name="_in_order_of",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    differentiable=False,
    check=ValueCheck(
        lambda input, sorter: (((sorter < 0) | (sorter >= (*input.shape, 1)[max(input.ndim - 1, 0)])).any(), 0),
        lambda value, *args, avals: RuntimeError("torch.searchsorted(): sorter index out of range"),
    ),
    samples=[],
)
def in_order_of(input: Array, sorter: Indices) -> Array:
    """The elements along the last dimension in the order that ``sorter`` names."""
    return jnp.take_along_axis(input, sorter, -1) if input.ndim else input


def _search(edges: Array, values: Array, right: bool, out_int32: bool) -> Array:
    """Places of values among edges in order, the leading dimensions of both being the same."""
    edges, values = _common(edges, values)
    if edges.size == 0 or values.size == 0:
        return jnp.zeros(values.shape, np.int32 if out_int32 else np.int64)

    def one(line: Array, numbers: Array) -> Array:
        return jnp.searchsorted(order(line), order(numbers), side="right" if right else "left")

    if edges.ndim > 1:
        rows = jax.vmap(one)(edges.reshape(-1, edges.shape[-1]), values.reshape(-1, values.shape[-1]))
        places = rows.reshape(values.shape)
    else:
        places = one(edges, values.reshape(-1)).reshape(values.shape)
    return places.astype(np.int32 if out_int32 else np.int64)


def _search_out(result: dtypes.dtype, out: dtypes.dtype) -> Exception:
    return RuntimeError(
        "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether "
        f"out_int32 flag is True, but we got output tensor's dtype {out.scalar_name} and out_int32 flag is {result is dtypes.int32}"
    )


@op(
    name="_bucketize",
    promote=Promote.NONE,
    accepts=Category.REAL,
    forms=Form.NONE,
    differentiable=False,
    samples=[],
)
def search(edges: Array, values: Array, right: bool, out_int32: bool) -> Array:
    """Places of values among edges in order."""
    return _search(edges, values, right, out_int32)


def _as_tensor(value: object, like: Tensor) -> Tensor:
    if isinstance(value, Tensor):
        return value
    check_width(value)
    if isinstance(value, int) and value >= 2**63:  # PyTorch casts it: among integers it wraps around
        value = np.uint64(value).astype(like.dtype.numpy)
        return _host(np.asarray(value), like)
    return _host(np.asarray(value, dtypes.of_number(value).numpy), like)


@composite(
    forms=Form.FUNCTION | Form.OUT,
    validation=Validation(out=_search_out),
)
def bucketize(input: object, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """In which interval between boundaries each element lies: intervals hold their upper boundary, or with ``right`` their lower.

    >>> torch.bucketize(torch.tensor([1, 4]), torch.tensor([1, 3, 5]))
    tensor([0, 2])
    """
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    refuse_wide_unsigned("searchsorted_out_cpu", boundaries.dtype)
    return search(boundaries, _as_tensor(input, boundaries), right, out_int32)


@composite(
    forms=Form.FUNCTION | Form.OUT,
    validation=Validation(out=_search_out),
)
def searchsorted(
    sorted_sequence: Tensor,
    input: object,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where elements would have to be put into a sequence in order, along the last dimension; before equal ones, or with ``right``
    after them.

    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
    tensor([1, 3])
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if right and side == "left":
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    values = _as_tensor(input, sorted_sequence)
    if sorted_sequence.dim() == 0:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries "
            f"tensor dim(0) and input value's dim({values.dim()}) numel({values.numel()})"
        )
    if sorted_sequence.dim() != 1 and sorted_sequence.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
            f"value tensor must match, but we got boundaries tensor {list(sorted_sequence.shape)} and input value tensor "
            f"{list(values.shape)}"
        )
    if sorter is not None:
        if sorter.dtype is not dtypes.int64:
            raise RuntimeError(
                f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype.scalar_name}"
            )
        if sorter.shape != sorted_sequence.shape:
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(sorted_sequence.shape)}and got sorter tensor {list(sorter.shape)}"
            )
        sorted_sequence = in_order_of(sorted_sequence, sorter)
    if values.numel() and (not isinstance(input, Tensor) or input.dtype is sorted_sequence.dtype):
        refuse_wide_unsigned("searchsorted_out_cpu", sorted_sequence.dtype)
    return search(sorted_sequence, values, right or side == "right", out_int32)


# ---- where a condition holds


def _where_method(self: Tensor, condition: Tensor, other: object) -> Tensor:
    """The tensor's elements where the condition holds, else those of ``other``."""
    return where(condition, self, other)


@composite(
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    method=_where_method,
    overlap=Reading.SAME_PLACES,
    validation=Validation(out=words("Expected out type to be {result} but got {out}")),
)
def where(condition: Tensor, input: object = None, other: object = None) -> Any:
    """``input`` where ``condition`` holds, else ``other``, element by element; with the condition alone, where it holds.

    Args:
        condition: bool tensor; the three are broadcast against each other.
        input, other: tensors or numbers; of the common dtype in the result.

    >>> torch.where(torch.tensor([True, False]), torch.tensor([1.0, 2.0]), 0.0)
    tensor([1., 0.])
    """
    if not isinstance(condition, Tensor):
        raise TypeError(f"where(): argument 'condition' (position 1) must be Tensor, not {type(condition).__name__}")
    if input is None and other is None:
        from ..indexing.selecting import nonzero

        return nonzero(condition, as_tuple=True)
    return select_by(condition, input, other)
