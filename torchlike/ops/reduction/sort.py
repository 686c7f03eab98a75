"""Order: sorting, the largest and smallest, medians and modes. NaN counts as greater than every number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import ShapedArray
from jax.extend.core import Primitive

from ..._core.tensor import Tensor, wrap_dim
from ...dispatch import return_types
from ...dispatch.out_dtypes import exactly, words
from ...dispatch.overlap import Reading
from ...dispatch.register import Category, Form, Promote, Sample, Validation, composite, op
from ...engine.interpreter import runs_undifferentiated
from ...numerics.denormals import not_equal, order

TIES = Sample(values=([[2.0, 1.0, 2.0, 1.0], [0.0, -0.0, float("nan"), float("inf")]],))


def _ordered(input: Array, dim: int, descending: bool = False) -> tuple[Array, ...]:
    """Values in order along a dimension, and where they stood. Stable, so that equal elements keep their order."""
    places = lax.broadcasted_iota(np.int64, input.shape, dim)
    if not descending:
        return _sorted(input, places, dim)
    # Reverse the elements before and after sorting, so that equal elements keep their order and NaN comes first.
    values, indices = _sorted(lax.rev(input, (dim,)), lax.rev(places, (dim,)), dim)
    return lax.rev(values, (dim,)), lax.rev(indices, (dim,))


def _sorted(input: Array, places: Array, dim: int) -> tuple[Array, Array]:
    key = order(input)
    if key is input:
        values, indices = lax.sort((input, places), dimension=dim, num_keys=1, is_stable=True)
    else:
        _, values, indices = lax.sort((key, input, places), dimension=dim, num_keys=1, is_stable=True)
    return values, indices


# The first results of ``_ordered``. Only NumPy computes it, which finds them without putting all other elements in order.
first_p = Primitive("torchlike_first")
first_p.multiple_results = True


@first_p.def_abstract_eval
def _first(input: ShapedArray, *, dim: int, count: int, descending: bool) -> list[ShapedArray]:
    shape = (*input.shape[:dim], count, *input.shape[dim + 1 :])
    return [ShapedArray(shape, input.dtype), ShapedArray(shape, np.dtype(np.int64))]


# The element at a place of ``_ordered`` along a dimension, and where it stood; of as many dimensions. Here too NumPy orders no others.
at_p = Primitive("torchlike_at")
at_p.multiple_results = True


@at_p.def_abstract_eval
def _at_place(input: ShapedArray, place: ShapedArray, *, dim: int) -> list[ShapedArray]:
    return _first(input, dim=dim, count=1, descending=False)


def _scalar(input: Array) -> tuple[Array, Array]:
    return input, jnp.zeros((), np.int64)


@op(
    name="_sort",
    promote=Promote.NONE,
    accepts=Category.REAL,
    forms=Form.NONE,
    backward=lambda input, dim, descending, stable: "SortBackward0" if stable is None else "SortBackward1",
    refuse=lambda name, dtype: " Sort does not support complex dtypes on CPU",
    saves=(1,),
    samples=[Sample(shapes=((3, 4),), args=(-1, False)), Sample(shapes=((3, 4),), args=(0, True))],
)
def order_along(input: Array, dim: int, descending: bool, stable: bool | None = None) -> Array:
    """``sort``; ``stable`` says only how PyTorch names the step."""
    dim = wrap_dim(dim, input.ndim)
    return return_types.sort(*(_ordered(input, dim, descending) if input.ndim else _scalar(input)))


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT, overlap=Reading.SAME_PLACES)
def sort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> tuple[Array, Array]:
    """The elements along a dimension in order, and the places they had. The order of equal elements is kept in any case.

    >>> values, indices = torch.sort(torch.tensor([3, 1, 2]))
    >>> values, indices
    (tensor([1, 2, 3]), tensor([1, 2, 0]))
    """
    return order_along(input, dim, bool(descending), stable)


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Tensor:
    """The places that ``sort`` gives.

    >>> torch.argsort(torch.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    return order_along(input, dim, bool(descending), stable).indices


@composite(
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    validation=Validation(out=exactly),
)
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dimension."""
    return order_along(input, 0, False).values


@op(
    refuse=lambda name, dtype: (
        f"{' ' * dtype.is_complex}topk does not support {'complex' if dtype.is_complex else 'bool'} dtypes on CPU"
    ),
    promote=Promote.NONE,
    accepts=Category.INTEGER | Category.FLOAT,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=(1,),
    samples=[
        Sample(shapes=((3, 4),), args=(2,)),
        Sample(shapes=((3, 4),), args=(2, 0, False)),
        Sample(shapes=((),), args=(1,)),
    ],
    overlap=Reading.SAME_PLACES,
)
def topk(input: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Array, Array]:
    """The ``k`` largest (or smallest) elements along a dimension, in order, and their places.

    >>> torch.topk(torch.tensor([3, 1, 2]), 2).values
    tensor([3, 2])
    """
    dim = wrap_dim(dim, input.ndim)
    if k < 0 or k > (input.shape[dim] if input.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if input.ndim == 0:
        return return_types.topk(*(a if k else jnp.zeros((0,), a.dtype) for a in _scalar(input)))
    if runs_undifferentiated() and order(input) is input:
        return return_types.topk(*first_p.bind(input, dim=dim, count=k, descending=bool(largest)))
    values, indices = _ordered(input, dim, descending=largest)
    return return_types.topk(*(lax.slice_in_dim(a, 0, k, axis=dim) for a in (values, indices)))


def _element_at(kind: type, input: Array, place: Array, dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The element that comes at a place when they are put in order along a dimension, and where it stood."""
    if runs_undifferentiated() and order(input) is input:
        parts = at_p.bind(input, place, dim=dim)
    else:
        parts = [jnp.take_along_axis(a, place, dim) for a in _ordered(input, dim)]
    return _kept(kind, parts, dim, keepdim)


def _kept(kind: type, parts: Sequence[Array], dim: int, keepdim: bool) -> tuple[Array, Array]:
    """The result, whose parts have one element along a dimension, with that dimension or without it."""
    return kind(*(a if keepdim else lax.squeeze(a, (dim,)) for a in parts))


def _at(place: int, values: Array, dim: int) -> Array:
    return jnp.full([1 if d == dim else n for d, n in enumerate(values.shape)], place, np.int64)


def _needs_elements(name: str, input: Array, dim: int) -> None:
    if input.ndim and input.shape[dim] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")


@op(
    refuse="kthvalue_cpu",
    promote=Promote.NONE,
    accepts=Category.INTEGER | Category.FLOAT,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=(1,),
    overlap=Reading.ELSEWHERE,
    samples=[Sample(shapes=((3, 4),), args=(2,)), Sample(shapes=((3, 4),), args=(1, 0, True))],
    validation=Validation(outs=words("output values must be of same type as input")),
)
def kthvalue(input: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The ``k``-th smallest element along a dimension, counted from 1, and its place.

    >>> torch.kthvalue(torch.tensor([3, 1, 2]), 2).values
    tensor(2)
    """
    dim = wrap_dim(dim, input.ndim)
    _needs_elements("kthvalue", input, dim)
    if not 1 <= k <= (input.shape[dim] if input.ndim else 1):
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(dim))
    if input.ndim == 0:
        return return_types.kthvalue(*_scalar(input))
    return _element_at(return_types.kthvalue, input, _at(k - 1, input, dim), dim, keepdim)


def _median_place(values: Array, dim: int, skip_nan: bool) -> Array:
    """The position of the lower median among the values in order, in which NaNs come last."""
    count = values.shape[dim]
    if not jnp.issubdtype(values.dtype, np.floating):
        return _at((count - 1) // 2, values, dim)
    nan_count = jnp.sum(jnp.isnan(values), axis=dim, keepdims=True).astype(np.int64)
    if skip_nan:
        return jnp.maximum((count - nan_count - 1) // 2, 0)
    return jnp.where(nan_count > 0, count - nan_count, (count - 1) // 2)  # the first NaN, if there is one


def _median_along(kind: type, input: Array, dim: int, keepdim: bool, skip_nan: bool) -> tuple[Array, Array]:
    dim = wrap_dim(dim, input.ndim)
    _needs_elements("median", input, dim)
    if input.ndim == 0:
        return kind(*_scalar(input))
    return _element_at(kind, input, _median_place(input, dim, skip_nan), dim, keepdim)


# PyTorch shares the gradient of the median of everything evenly among the elements equal to it.
def _median_of(input: Array, skip_nan: bool) -> Array:
    flat = input.reshape(-1)
    if flat.size == 0:
        return jnp.full(
            (), jnp.nan if jnp.issubdtype(input.dtype, np.floating) else jnp.iinfo(input.dtype).min, input.dtype
        )
    return _element_at(return_types.median, flat, _median_place(flat, 0, skip_nan), 0, False)[0]


_median_of = jax.custom_vjp(_median_of, nondiff_argnums=(1,))


def _median_forward(input: Array, skip_nan: bool) -> tuple[Array, object]:
    result = _median_of(input, skip_nan)
    return result, (input, result)


def _median_backward(skip_nan: bool, saved: tuple[Array, Array], grad: Array) -> tuple[Array]:
    input, result = saved
    equal = (input == result) | (jnp.isnan(input) & jnp.isnan(result))
    share = grad / jnp.sum(equal).astype(grad.dtype)
    return (jnp.where(equal, share, jnp.zeros((), grad.dtype)),)


_median_of.defvjp(_median_forward, _median_backward)

WHOLE = [Sample(shapes=((3, 4),)), Sample(shapes=((3, 4),), args=(1,)), Sample(shapes=((3, 4),), args=(0, True))]


@op(
    refuse="median_cpu",
    promote=Promote.NONE,
    accepts=Category.INTEGER | Category.FLOAT,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    backward=lambda input, dim, keepdim: "MedianBackward0" if dim is None else "MedianBackward1",
    saves=("input", 1),
    overlap=Reading.ELSEWHERE,
    samples=WHOLE,
)
def median(input: Array, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median of all elements, or along a dimension with its place. NaN if there is one.

    >>> torch.median(torch.tensor([3, 1, 2, 4]))
    tensor(2)
    """
    if dim is None:
        return _median_of(input, False)
    return _median_along(return_types.median, input, dim, keepdim, skip_nan=False)


@op(
    refuse="median_cpu",
    promote=Promote.NONE,
    accepts=Category.INTEGER | Category.FLOAT,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    backward=lambda input, dim, keepdim: "NanmedianBackward0" if dim is None else "NanmedianBackward1",
    saves=("input", 1),
    overlap=Reading.ELSEWHERE,
    samples=WHOLE,
)
def nanmedian(input: Array, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median of the elements that are not NaN, of all or along a dimension with its place."""
    if dim is None:
        return _median_of(input, True)
    return _median_along(return_types.nanmedian, input, dim, keepdim, skip_nan=True)


@op(
    refuse="mode_cpu",
    promote=Promote.NONE,
    accepts=Category.REAL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=(1,),
    overlap=Reading.ELSEWHERE,
    samples=[Sample(shapes=((3, 4),)), Sample(shapes=((3, 4),), args=(0, True)), TIES],
)
def mode(input: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The most frequent element along a dimension, the smallest of several, and its last place.

    >>> torch.mode(torch.tensor([1, 2, 2, 3])).values
    tensor(2)
    """
    dim = wrap_dim(dim, input.ndim)
    _needs_elements("mode", input, dim)
    if input.ndim == 0:
        return return_types.mode(*_scalar(input))
    values, indices = _ordered(input, dim)
    count = input.shape[dim]
    place = lax.broadcasted_iota(np.int64, input.shape, dim)
    before = lax.slice_in_dim(values, 0, count - 1, axis=dim)
    after = lax.slice_in_dim(values, 1, count, axis=dim)
    first = lax.slice_in_dim(jnp.ones(input.shape, np.bool_), 0, 1, axis=dim)
    starts = jnp.concatenate([first, not_equal(before, after)], dim)  # where a run of equal elements begins
    length = place - lax.cummax(jnp.where(starts, place, 0), axis=dim)
    # The longest run of equal elements has the element that is farthest from the start of its run. ``argmax`` gives the first of
    # several, which is the smallest, since the elements are in order.
    longest = jnp.argmax(length, axis=dim, keepdims=True).astype(np.int64)
    parts = [jnp.take_along_axis(a, longest, dim) for a in (values, indices)]
    return _kept(return_types.mode, parts, dim, keepdim)
