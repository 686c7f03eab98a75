"""Elements picked by tensors of indices along a dimension, and put back there: gather and scatter, index_select and related ops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core import dtypes
from ..._core.tensor import Tensor, wrap_dim
from ...dispatch.out_dtypes import exactly, words
from ...dispatch.overlap import Reading, warn_of_expanded
from ...dispatch.register import (
    CATALOG,
    Autocast,
    Category,
    Form,
    Indices,
    Number,
    Promote,
    Saves,
    Validation,
    ValueCheck,
    composite,
    op,
)
from ...dispatch.signature_lists import invalid_arguments
from ...dispatch.warned import alert
from ...engine.aval import Aval
from ...engine.interpreter import for_numpy
from ...numerics.numbers import number_for
from ...numerics.picking import counted_from_end, outside, picked, picked_along
from ...numerics.scatter import add_along, add_at, along, products_of_others, set_along, set_at
from ..elementwise.division import remainder
from ..shape.reshape import broadcast_to, common_shape, flatten
from .index import (
    check_mask,
    check_shape,
    expand_masks,
    fill_where,
    only_mask,
    put_at,
    refuse_byte_mask,
    refuse_dtypes,
    trailing,
)

TAKES_INTEGERS = ("int64", "int32")


# ---- checks


def _size_along(input: Any, dim: int) -> int:
    return input.shape[wrap_dim(dim, input.ndim)] if input.ndim else 1


def _outside_along(input: Array, dim: int, index: Array, *others: object, **keywords: object) -> tuple[Array, ...]:
    return outside(index, _size_along(input, dim))


def _error_along(value: int, input: object, dim: int, *others: object, avals: Sequence[Aval]) -> Exception:
    shape = avals[0].shape
    wrapped = wrap_dim(dim, len(shape))
    return RuntimeError(
        f"index {value} is out of bounds for dimension {wrapped} with size {shape[wrapped] if shape else 1}"
    )


def _error_adding(value: int, input: object, dim: int, *others: object, avals: Sequence[Aval]) -> Exception:
    """PyTorch adds along the first and the last dimension as ``scatter_add`` does, with its error, and along others in a loop."""
    rank = len(avals[0].shape)
    if rank > 1 and wrap_dim(dim, rank) in (0, rank - 1):
        return _error_along(value, input, dim, avals=avals)
    return IndexError("index out of range in self")


def _check_sizes(
    name: str, input: Array, dim: int, index: Array, src: Array | None = None, gather: bool = False
) -> int:
    """Raises PyTorch's errors for an index (and a source) that does not go with the input; returns the dimension."""
    dim = wrap_dim(dim, input.ndim)
    if index.size == 0 and not (gather and index.dtype.name in TAKES_INTEGERS):
        return dim
    if index.dtype.name not in TAKES_INTEGERS:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if max(index.ndim, 1) != max(input.ndim, 1):
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as {'input' if gather else 'self'} tensor"
        )
    if src is not None and max(index.ndim, 1) != max(src.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    for d in range(index.ndim):
        n, limit = index.shape[d], input.shape[d] if input.ndim else 1
        if gather and d != dim and n > limit:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                f"{list(input.shape)} apart from dimension {dim}"
            )
        if not gather and ((d != dim and n > limit) or (src is not None and n > (src.shape[d] if src.ndim else 1))):
            and_source = "" if src is None else f" and to be no larger size than src {list(src.shape)}"
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(input.shape)} apart from dimension {dim}"
                + and_source
            )
    return dim


def _at_least_1d(*arrays: Array) -> list[Array]:
    return [a.reshape((1,)) if a.ndim == 0 else a for a in arrays]


def _places(index: Array, dim: int) -> tuple[Any, ...]:
    """A subscript that says for each element of ``index`` where it points to."""
    return tuple(
        index if d == dim else np.arange(n, dtype=index.dtype).reshape([-1 if k == d else 1 for k in range(index.ndim)])
        for d, n in enumerate(index.shape)
    )


def _corner(src: Array, shape: tuple[int, ...]) -> Array:
    """The part of ``src`` that an index of this shape selects."""
    return src if src.shape == shape else src[tuple(slice(n) for n in shape)]


def _counted(places: Array, target: Array, dim: int) -> Array:
    """Indices of which negative ones count from the end where nothing checks them: in a function that JAX transforms for the user."""
    return places if for_numpy() else counted_from_end(places, target.shape[dim])


# ---- gather and scatter

# Fields of the ops whose index has a place for each element, all along one dimension.
_ALONG: dict[str, Any] = {
    "promote": Promote.NONE,
    "accepts": Category.ALL,
    "check": ValueCheck(_outside_along, _error_along),
    "samples": [],
}


@op(**_ALONG, forms=Form.FUNCTION | Form.METHOD | Form.OUT, saves=Saves.INPUTS)
def gather(input: Array, dim: int, index: Indices, *, sparse_grad: bool = False) -> Array:
    """``out[i][j] = input[index[i][j]][j]`` for ``dim=0``, and likewise for other dimensions and ranks.

    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    dim = _check_sizes("gather", input, dim, index, gather=True)
    if index.size == 0:
        return jnp.zeros(index.shape, input.dtype)
    source, places = _at_least_1d(input, index)
    return picked_along(source, _counted(places, source, dim), dim).reshape(index.shape)


def _scattered(way: Callable[..., Array], input: Array, dim: int, index: Array, src: Array) -> Array:
    """``input`` with the elements of ``src`` where ``index`` says. ``way(target, index, dim, values)`` puts them there."""
    if src.dtype != input.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    dim = _check_sizes("scatter", input, dim, index, src)
    if index.size == 0:
        return input
    target, places, values = _at_least_1d(input, index, src)
    return way(target, _counted(places, target, dim), dim, _corner(values, places.shape)).reshape(input.shape)


@op(name="_scatter_src", **_ALONG, forms=Form.NONE, backward="ScatterBackward0")
def scatter_source(input: Array, dim: int, index: Indices, src: Array) -> Array:
    """``input`` with the elements of ``src`` where ``index`` says."""
    return _scattered(set_along, input, dim, index, src)


@op(name="_scatter_value", **_ALONG, forms=Form.NONE, backward="ScatterBackward1")
def scatter_number(input: Array, dim: int, index: Indices, value: Number) -> Array:
    """``input`` with a number where ``index`` says."""
    _check_sizes("scatter", input, dim, index)
    return _scattered(
        set_along, input, dim, index, jnp.broadcast_to(jnp.asarray(value).astype(input.dtype), index.shape)
    )


@op(name="_scatter_times", **_ALONG, forms=Form.NONE, differentiable="aten::scatter")
def scatter_times(input: Array, dim: int, index: Indices, src: Array) -> Array:
    """``input`` multiplied by the elements of ``src`` where ``index`` says."""
    multiply = lax.scatter_min if input.dtype == np.bool_ else lax.scatter_mul  # of bools: "and"
    return _scattered(partial(along, multiply), input, dim, index, src)


@composite(forms=Form.ELEMENTWISE, overlap=Reading.OTHERS_ELSEWHERE)
def scatter(
    input: Tensor, dim: int, index: Tensor, src: object = None, *, value: object = None, reduce: str | None = None
) -> Tensor:
    """``input`` with ``out[index[i][j]][j] = src[i][j]`` for ``dim=0``; where places repeat, the last one counts.

    Args:
        src: a tensor, or a number for all places.
        reduce: "add" or "multiply" instead of replacing.

    >>> torch.scatter(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([5.0, 6.0]))
    tensor([6., 0., 5.])
    """
    values = src if value is None else value
    if not isinstance(values, (Tensor, int, float, complex, np.number, np.bool_)) or (
        src is not None and value is not None
    ):
        given = {"src": src, "value": value, "reduce": reduce}
        named = {key: each for key, each in given.items() if each is not None and (key != "src" or each is not values)}
        raise TypeError(
            invalid_arguments(
                "scatter", True, (dim, index, *([] if values is None or value is not None else [values])), named
            )
        )
    if reduce is None:
        if isinstance(values, Tensor):
            return scatter_source(input, dim, index, values)
        return scatter_number(input, dim, index, number_for(values, input.dtype))
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    if not isinstance(values, Tensor):
        values = number_for(values, input.dtype)
        values = broadcast_to(input.new_full((), values), tuple(index.shape))  # pyright: ignore[reportAttributeAccessIssue]
    return (scatter_add if reduce == "add" else scatter_times)(input, dim, index, values)


@op(**_ALONG, forms=Form.ELEMENTWISE, autocast={"cuda": Autocast.PROMOTE})
def scatter_add(input: Array, dim: int, index: Indices, src: Array) -> Array:
    """``input`` with ``out[index[i][j]][j] += src[i][j]`` for ``dim=0``.

    >>> torch.scatter_add(torch.zeros(2), 0, torch.tensor([1, 1]), torch.tensor([1.0, 2.0]))
    tensor([0., 3.])
    """
    return _scattered(add_along, input, dim, index, src)


REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


@op(**_ALONG, forms=Form.ELEMENTWISE, saves=Saves.INPUTS)
def scatter_reduce(
    input: Array, dim: int, index: Indices, src: Array, reduce: str, *, include_self: bool = True
) -> Array:
    """The elements of ``src`` that ``index`` sends to one place reduced there, by sum, prod, mean, amax or amin.

    Args:
        include_self: whether the element of ``input`` at that place takes part.
    """
    reduce = {"min": "amin", "max": "amax"}.get(reduce, reduce)
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")

    def way(target: Array, places: Array, dim: int, values: Array) -> Array:
        return _reduced_along(target, places, dim, values, reduce, include_self)

    return _scattered(way, input, dim, index, src)


def _reduced_along(target: Array, places: Array, dim: int, values: Array, reduce: str, include_self: bool) -> Array:
    if reduce == "mean" and target.dtype == np.bool_:
        raise NotImplementedError("\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'")
    if reduce in ("amax", "amin", "prod"):
        return _reduced(target, _places(places, dim), values, reduce, include_self)
    nothing = lax.full(places.shape, 0, target.dtype)
    start = target if include_self else set_along(target, places, dim, nothing)
    total = add_along(start, places, dim, values)
    if reduce == "mean":
        counts = lax.full(target.shape, 1, target.dtype)
        if not include_self:
            counts = along(lax.scatter, counts, places, dim, nothing)
        counts = add_along(counts, places, dim, lax.full(places.shape, 1, target.dtype))
        total = total / counts if jnp.issubdtype(target.dtype, np.inexact) else jnp.floor_divide(total, counts)
    return total


def _identity(reduce: str, dtype: np.dtype[np.generic]) -> Any:
    if reduce == "prod":
        return 1
    if dtype == np.bool_:
        return reduce == "amin"
    if jnp.issubdtype(dtype, np.integer):
        info = jnp.iinfo(dtype)
        return info.min if reduce == "amax" else info.max
    return -jnp.inf if reduce == "amax" else jnp.inf


def _reduce_at(target: Array, where: object, values: Array, reduce: str, include_self: bool) -> Array:
    if not include_self:
        target = target.at[where].set(jnp.asarray(_identity(reduce, target.dtype), target.dtype))
    at = jnp.asarray(target).at[where]  # JAX hands constants on as arrays of its own kind, which have no `at`
    product = at.min if target.dtype == np.bool_ else at.multiply
    return {"prod": product, "amax": at.max, "amin": at.min}[reduce](values)


# JAX has no derivative of these scatters; PyTorch's shares an extremum evenly among the elements that attain it, and divides
# a product by each factor, zeros apart.
_reduced = jax.custom_vjp(_reduce_at, nondiff_argnums=(3, 4))


def _reduced_forward(
    target: Array, where: object, values: Array, reduce: str, include_self: bool
) -> tuple[Array, object]:
    result = _reduced(target, where, values, reduce, include_self)
    return result, (target, where, values, result)


def _reduced_backward(reduce: str, include_self: bool, saved: Any, grad: Array) -> tuple[Array | None, ...]:
    target, where, values, result = saved
    zero = jnp.zeros((), target.dtype)
    if reduce == "prod":
        grad_target, grad_values = _product_gradients(target, where, values, grad, include_self)
    else:
        take = lambda array: array.at[where].get(mode="promise_in_bounds")  # noqa: E731
        own, theirs = (target == result).astype(target.dtype), (values == take(result)).astype(target.dtype)
        share = grad / own.at[where].add(theirs)
        grad_target, grad_values = jnp.where(own == 1, share, zero), jnp.where(theirs == 1, take(share), zero)
    if not include_self:
        grad_target = grad_target.at[where].set(zero)
    return grad_target, None, grad_values


def _divided_gradients(
    target: Array, where: object, values: Array, grad: Array, include_self: bool
) -> tuple[Array, Array]:
    take = lambda array: array.at[where].get(mode="promise_in_bounds")  # noqa: E731
    one = jnp.ones((), target.dtype)
    result = _reduce_at(target, where, values, "prod", include_self)
    nonzero_target = jnp.where(target == 0, one, target)
    without_self = _reduce_at(nonzero_target, where, values, "prod", include_self)
    is_zero = values == 0
    zeros = take(jnp.zeros(target.shape, np.int64).at[where].add(is_zero.astype(np.int64)))
    single = is_zero & (zeros == 1)
    others = _reduce_at(target, where, jnp.where(single, one, values), "prod", include_self)
    grad_values = jnp.where(single, take(grad * others), take(grad * result) / jnp.where(is_zero, one, values))
    return grad * without_self / nonzero_target, grad_values


# The gradients of a product, by division. JAX has no derivative of these either: theirs is that of the same gradients without division.
_product_gradients = jax.custom_vjp(_divided_gradients, nondiff_argnums=(4,))


def _product_gradients_forward(
    target: Array, where: object, values: Array, grad: Array, include_self: bool
) -> tuple[tuple[Array, Array], object]:
    return _product_gradients(target, where, values, grad, include_self), (target, where, values, grad)


def _product_gradients_backward(include_self: bool, saved: Any, cotangents: Any) -> tuple[Array | None, ...]:
    target, where, values, grad = saved

    def exact(target: Array, values: Array, grad: Array) -> tuple[Array, Array]:
        start = target if include_self else target.at[where].set(jnp.ones((), target.dtype))
        for_target, for_values = products_of_others(start, where, values)
        return grad * for_target, grad.at[where].get(mode="promise_in_bounds") * for_values

    of_target, of_values, of_grad = jax.vjp(exact, target, values, grad)[1](cotangents)
    return of_target, None, of_values, of_grad


_product_gradients.defvjp(_product_gradients_forward, _product_gradients_backward)
_reduced.defvjp(_reduced_forward, _reduced_backward)


# ---- whole slices by a vector of indices


def _check_vector(name: str, index: Array) -> None:
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    if index.dtype.name not in TAKES_INTEGERS:
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index")


def _slices(dim: int, index: Array) -> tuple[Any, ...]:
    """A subscript for the slices that a vector of indices names."""
    return (*[slice(None)] * dim, index)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=Saves.INPUTS,
    check=ValueCheck(_outside_along, lambda value, *args, avals: IndexError("index out of range in self")),
    samples=[],
)
def index_select(input: Array, dim: int, index: Indices) -> Array:
    """The slices of a dimension that a vector of indices names, as a copy.

    >>> torch.index_select(torch.tensor([[1, 2], [3, 4]]), 0, torch.tensor([1, 1]))
    tensor([[3, 4],
            [3, 4]])
    """
    dim = wrap_dim(dim, input.ndim)
    _check_vector("index_select", index)
    (source, places) = _at_least_1d(input, index)
    if source.shape[dim] == 0 and places.size:
        if source.ndim > 1:
            raise RuntimeError("index_select(): self indexing axis dim should be positive")
        raise IndexError("index out of range in self")
    places = _counted(places, source, dim)
    elements = picked(source, [places if d == dim else None for d in range(source.ndim)])
    return elements.reshape(()) if input.ndim == 0 and elements.size == 1 else elements


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.ELEMENTWISE,
    saves=Saves.INPUTS,
    check=ValueCheck(_outside_along, _error_adding),
    samples=[],
)
def index_add(input: Array, dim: int, index: Indices, source: Array, *, alpha: Number = 1) -> Array:
    """``input`` with ``alpha`` times the slices of ``source`` added to the slices that ``index`` names.

    >>> torch.index_add(torch.zeros(2), 0, torch.tensor([1, 1]), torch.tensor([1.0, 2.0]))
    tensor([0., 3.])
    """
    dim = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: {_dtype_name(index)}"
        )
    if index.dtype.name not in TAKES_INTEGERS:
        raise RuntimeError("index_add_(): Expected dtype int32/int64 for index but got: " + _dtype_name(index))
    if source.dtype != input.dtype:
        raise RuntimeError(
            f"index_add_(): self ({_dtype_name(input)}) and source ({_dtype_name(source)}) must have the same scalar type"
        )
    target, places, slices = _at_least_1d(input, index, source)
    if source.ndim and places.shape[0] != source.shape[dim]:
        raise RuntimeError(
            f"index_add_(): Number of indices ({places.shape[0]}) should be equal to source.size(dim): ({source.shape[dim]}), for "
            f"dim: {dim}"
        )
    if [n for d, n in enumerate(target.shape) if d != dim] != [n for d, n in enumerate(slices.shape) if d != dim]:
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(input.shape)} source.shape = {list(source.shape)}"
        )
    if not (isinstance(alpha, int) and alpha == 1):
        slices = slices * jnp.asarray(alpha).astype(input.dtype)
    at = target.at[_slices(dim, places)]
    return (at.max(slices) if input.dtype == np.bool_ else at.add(slices)).reshape(input.shape)


@op(
    promote=Promote.NONE,
    accepts=Category.INTEGER | Category.FLOAT,
    forms=Form.ELEMENTWISE,
    saves=Saves.INPUTS,
    check=ValueCheck(_outside_along, _error_along),
    samples=[],
)
def index_reduce(
    input: Array, dim: int, index: Indices, source: Array, reduce: str, *, include_self: bool = True
) -> Array:
    """``input`` with the slices of ``source`` that ``index`` sends to one place reduced there, by prod, mean, amax or amin.

    Args:
        include_self: whether the slice of ``input`` at that place takes part.
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    if index.ndim > 1:
        raise IndexError(f"index_reduce(): Index is supposed to be a vector, but got dim: {index.ndim}")
    if index.dtype.name not in TAKES_INTEGERS:
        raise RuntimeError("index_reduce(): Expected dtype int32/int64 for index")
    if source.dtype != input.dtype:
        raise RuntimeError("index_reduce(): self and source must have the same scalar type")
    dim = wrap_dim(dim, input.ndim)
    target, places, slices = _at_least_1d(input, index, source)
    if places.shape[0] != slices.shape[dim]:
        raise RuntimeError("index_reduce(): Number of indices should be equal to source.size(dim)")
    shape = [-1 if d == dim else 1 for d in range(slices.ndim)]
    everywhere = jnp.broadcast_to(places.reshape(shape), slices.shape)
    reduced = CATALOG["scatter_reduce"].compute(target, dim, everywhere, slices, reduce, include_self=include_self)
    return reduced.reshape(input.shape)


def _dtype_name(array: Array) -> str:
    return dtypes.from_numpy_dtype(np.dtype(array.dtype)).scalar_name


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.ELEMENTWISE,
    saves=Saves.INPUTS,
    check=ValueCheck(
        _outside_along,
        lambda value, input, dim, *rest, avals: IndexError(
            f"index_copy_(): {_error_along(value, input, dim, avals=avals)}"
        ),
    ),
    samples=[],
    autocast={"cpu": Autocast.PROMOTE},
)
def index_copy(input: Array, dim: int, index: Indices, source: Array) -> Array:
    """``input`` with the slices that ``index`` names replaced by those of ``source``."""
    dim = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if index.dtype.name != "int64":
        raise RuntimeError("index_copy_(): Expected a long tensor for index, but got " + _dtype_name(index))
    if source.dtype != input.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got "
            f"(self) {_dtype_name(input)} and (source) {_dtype_name(source)}"
        )
    if input.ndim != source.ndim and source.ndim and input.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source dimensionality "
            f"({source.ndim}), destination dimensionality ({input.ndim})"
        )
    target, places, slices = _at_least_1d(input, index, source)
    if source.ndim == 0 and places.shape[0] != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {places.shape[0]})")
    if source.ndim and places.shape[0] != source.shape[dim]:
        raise IndexError(
            f"index_copy_(): Number of indices ({places.shape[0]}) should be equal to source.size(dim) ({source.shape[dim]})"
        )
    target_sizes, slice_sizes = ([n for d, n in enumerate(a.shape) if d != dim] for a in (target, slices))
    if source.ndim and target_sizes != slice_sizes:
        raise RuntimeError(
            f"index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: {target_sizes} at dimension "
            f"{dim} and source slice shape: {slice_sizes} at dimension 0."
        )
    where = (None,) * dim + (places,)
    shape = jax.eval_shape(lambda a: a[_slices(dim, places)], target).shape
    return set_at(target, where, jnp.broadcast_to(slices, shape)).reshape(input.shape)


def _fill(input: Array, dim: int, index: Array, value: Array) -> Array:
    dim = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_fill_(): Index is supposed to be a vector, but got dim: {index.ndim}")
    if index.dtype.name not in TAKES_INTEGERS:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    target, places = _at_least_1d(input, index)
    # An index given twice counts once for the gradient.
    is_named = jnp.zeros((target.shape[dim],), np.bool_).at[places].set(True)
    mask = is_named.reshape([-1 if d == dim else 1 for d in range(target.ndim)])
    return jnp.where(mask, value, target).reshape(input.shape)


def _outside_fill(input: object, dim: int, index: object, *others: object) -> tuple[Any, Any]:
    size = _size_along(input, dim)
    return outside(index, size, -size)


def _error_fill(value: int, input: object, dim: int, *others: object, avals: Sequence[Aval]) -> Exception:
    return IndexError(str(_error_along(value, input, dim, avals=avals)))


@op(
    name="_index_fill_number",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="IndexFillBackward0",
    check=ValueCheck(_outside_fill, _error_fill),
    samples=[],
)
def fill_number(input: Array, dim: int, index: Indices, value: Number) -> Array:
    """``input`` with a number in the slices that ``index`` names."""
    return _fill(input, dim, index, jnp.asarray(value).astype(input.dtype))


@op(
    name="_index_fill_tensor",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="IndexFillBackward1",
    check=ValueCheck(_outside_fill, _error_fill),
    samples=[],
)
def fill_tensor(input: Array, dim: int, index: Indices, value: Array) -> Array:
    """``input`` with a 0-dim array in the slices that ``index`` names."""
    return _fill(input, dim, index, value.astype(input.dtype))


COMPLEX = (complex, np.complexfloating)


@composite(
    forms=Form.ELEMENTWISE,
    validation=Validation(
        expanded=True, inplace=lambda self, *_, **__: warn_of_expanded(self, "index_fill_", "tensor[mask] = scalar")
    ),
)
def index_fill(input: Tensor, dim: int, index: Tensor, value: object) -> Tensor:
    """``input`` with a number, or a 0-dim tensor, in the slices that ``index`` names.

    >>> torch.index_fill(torch.zeros(3), 0, torch.tensor([0, 2]), 5)
    tensor([5., 0., 5.])
    """
    if not input.is_complex() and (value.is_complex() if isinstance(value, Tensor) else isinstance(value, COMPLEX)):
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    if not isinstance(value, Tensor):
        return fill_number(input, dim, index, number_for(value, input.dtype))
    if value.dim():
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
        )
    return fill_tensor(input, dim, index, value)


# ---- by position


@composite(
    forms=Form.FUNCTION | Form.METHOD | Form.INPLACE,
    autocast={"cuda": Autocast.PROMOTE},
    overlap=Reading.NUMBERS_ASIDE,
    validation=Validation(
        expanded=True, inplace=lambda self, *_, **__: warn_of_expanded(self, "index_put_", "tensor[indices] = tensor")
    ),
)
def index_put(input: Tensor, indices: object, values: Tensor, accumulate: bool = False) -> Tensor:
    """``input`` with ``values`` where the tuple of indices says, or added there.

    >>> torch.index_put(torch.zeros(3), (torch.tensor([0, 0]),), torch.tensor([1.0, 2.0]), accumulate=True)
    tensor([3., 0., 0.])
    """
    if not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"index_put(): argument 'indices' (position 1) must be tuple of Tensors, not {type(indices).__name__}"
        )
    mask = None if accumulate or not indices else only_mask(indices)
    if mask is not None and values.numel() == 1:
        check_mask(mask.shape, input.shape, 0)
        refuse_byte_mask(mask)
        return fill_where(input, trailing(mask, input), values.reshape(()).to(input.dtype))
    if not indices:
        check_shape(values.shape, input.shape)
        values = values.expand(input.shape)  # pyright: ignore[reportAttributeAccessIssue]
        return input + values if accumulate else values.clone()  # pyright: ignore[reportOperatorIssue, reportAttributeAccessIssue]
    if values.dtype is not input.dtype:
        refuse_dtypes(input, list(indices), values)
    for index in indices:
        if index is not None and index.dtype.name not in ("int64", "int32", "uint8", "bool"):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    indexed_dims = 0
    for index in indices:
        indexed_dims += 1 if index is None or index.dtype.name not in ("bool", "uint8") else index.dim()
    if indexed_dims > input.dim():
        raise IndexError(f"too many indices for tensor of dimension {input.dim()} (got {indexed_dims})")
    return put_at(input, expand_masks(input.shape, list(indices)), values, accumulate)


def _outside_flat(input: Any, index: object, *others: object, **keywords: object) -> tuple[Any, Any]:
    size = math.prod(input.shape)
    return outside(index, size, -size)


def _error_flat(value: int, *args: object, avals: Sequence[Aval]) -> Exception:
    size = math.prod(avals[0].shape)
    return IndexError(f"out of range: tried to access index {value} on a tensor of {size} elements.")


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=Saves.INPUTS,
    check=ValueCheck(_outside_flat, _error_flat),
    samples=[],
    validation=Validation(
        out=words(
            "take(): self and out expected to have the same dtype, but got self.dtype = {result} and out.dtype = {out}"
        )
    ),
)
def take(input: Array, index: Indices) -> Array:
    """Elements by their place in the flattened tensor, in the shape of ``index``.

    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([3, 0]))
    tensor([4, 1])
    """
    if index.dtype.name != "int64":
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {_dtype_name(index)}")
    if input.size == 0:
        if index.size:
            raise IndexError("take(): tried to take from an empty tensor")
        return jnp.zeros(index.shape, input.dtype)
    return input.reshape(-1).at[index].get(mode="promise_in_bounds")


def _alert_of_put(self: Tensor, index: object, source: object, accumulate: bool = False) -> None:
    if not accumulate:
        alert("put_")


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.INPLACE,
    saves=Saves.INPUTS,
    check=ValueCheck(_outside_flat, _error_flat),
    validation=Validation(inplace=_alert_of_put),
    samples=[],
)
def put(input: Array, index: Indices, source: Array, accumulate: bool = False) -> Array:
    """``input`` with elements of ``source`` at places of the flattened tensor, or added there."""
    if index.dtype.name != "int64":
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {_dtype_name(index)}")
    if source.dtype != input.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {_dtype_name(input)} and source.dtype = "
            f"{_dtype_name(source)}"
        )
    if index.size != source.size:
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got source.numel() = {source.size}, "
            f"index.numel() = {index.size}"
        )
    flat, places, values = input.reshape(-1), index.reshape(-1), source.reshape(-1)
    if places.size == 0:
        return input
    result = add_at(flat, places, values) if accumulate else set_at(flat, (places,), values)
    return result.reshape(input.shape)


@composite(
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    overlap=Reading.ELSEWHERE,
    validation=Validation(out=exactly),
)
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """``gather`` with the other dimensions broadcast; without ``dim``, from the flattened tensor.

    >>> torch.take_along_dim(torch.tensor([[3, 1], [2, 4]]), torch.tensor([[1], [0]]), dim=1)
    tensor([[1],
            [2]])
    """
    if dim is None:
        return gather(flatten(input), 0, flatten(indices))
    if indices.dtype.name != "int64":
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got " + indices.dtype.scalar_name
        )
    if input.dim() != indices.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    dim = wrap_dim(dim, input.dim())
    if input.shape[dim]:  # as PyTorch does, which counts around the dimension; ``gather`` refuses such indices
        indices = remainder(indices, input.shape[dim])
    common = common_shape([[1 if d == dim else n for d, n in enumerate(x.shape)] for x in (input, indices)])
    grown = [
        broadcast_to(x, tuple(x.shape[d] if d == dim else n for d, n in enumerate(common))) for x in (input, indices)
    ]
    return gather(grown[0], dim, grown[1])
