"""Reductions: sums, means, extrema, variances, norms, truth of all or any."""

from __future__ import annotations

import builtins
import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core import dtypes
from ..._core.annotations import Dtype, IntOrInts
from ..._core.tensor import Tensor, wrap_dim
from ...dispatch import return_types
from ...dispatch.arguments import check_value, misfit_error
from ...dispatch.bindings import FUNCTIONS
from ...dispatch.options import is_integer
from ...dispatch.out_dtypes import exactly, truth, words
from ...dispatch.overlap import Reading
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, Saves, Validation, composite, op
from ...dispatch.type_names import type_name
from ...engine.interpreter import as_constant
from ...numerics.denormals import nonzero, order
from ...numerics.derivatives import custom_jvp
from ...numerics.exact_math import accumulator, exact_quotient

WHOLE = Sample(shapes=((3, 4),))
ALONG = Sample(shapes=((3, 4),), args=(1, True))
SEVERAL = Sample(shapes=((2, 3, 4),), args=((0, -1),))
POINT = Sample(shapes=((),))
NONE_LEFT = Sample(shapes=((0, 3),), args=(1,))


def dims_of(dim: Any, ndim: int, name: str) -> tuple[int, ...]:
    """The dimensions to reduce, none of them negative; None and () mean all. IndexError, RuntimeError in PyTorch's words."""
    if dim is None:
        return tuple(range(ndim))
    values = (dim,) if is_integer(dim) else dim
    if not isinstance(values, (tuple, list)) or not builtins.all(is_integer(d) for d in values):
        raise TypeError(f"{name}(): argument 'dim' must be tuple of ints, not {type_name(dim)}")
    dims = tuple(wrap_dim(int(d), ndim) for d in values) or tuple(range(ndim))
    for d in dims:
        if dims.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return dims if ndim else ()


def needs_elements(name: str, shape: tuple[int, ...], dims: tuple[int, ...], whole: bool) -> None:
    """PyTorch's errors for extrema of nothing."""
    for d in dims:
        if shape[d] == 0:
            if whole:
                raise RuntimeError(
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
                    "'dim' argument."
                )
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")


# ---- sums


@op(
    promote=Promote.REDUCE_INT_TO_LONG,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    backward=lambda input, dim, keepdim, dtype: "SumBackward0" if dim is None else "SumBackward1",
    saves=Saves.NOTHING,
    samples=[WHOLE, ALONG, SEVERAL, POINT, NONE_LEFT],
    autocast={"cuda": Autocast.FLOAT32},
)
def sum(input: Array, dim: IntOrInts | None = None, keepdim: bool = False, *, dtype: Dtype | None = None) -> Array:
    """The sum of all elements, or along dimensions. Integers and bool are summed as int64.

    >>> torch.tensor([[1, 2], [3, 4]]).sum(0)
    tensor([4, 6])
    """
    return jnp.sum(input, axis=dims_of(dim, input.ndim, "sum"), keepdims=keepdim)


def _floats_only(name: str, dtype: dtypes.dtype) -> str:
    return (
        f"{name}(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
        f"{dtype.scalar_name}"
    )


@op(
    promote=Promote.REDUCE_FLOAT,
    accepts=Category.INEXACT,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    backward=lambda input, dim, keepdim, dtype: "MeanBackward0" if dim is None else "MeanBackward1",
    saves=Saves.NOTHING,
    refuse=_floats_only,
    samples=[WHOLE, ALONG, SEVERAL, POINT],
)
def mean(input: Array, dim: IntOrInts | None = None, keepdim: bool = False, *, dtype: object = None) -> Array:
    """The mean of all elements, or along dimensions.

    >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).mean(1)
    tensor([1.5000, 3.5000])
    """
    dims = dims_of(dim, input.ndim, "mean")
    count = math.prod(input.shape[d] for d in dims)
    # Half types are summed in float32 and rounded once.
    sum_dtype = jnp.float32 if input.dtype.itemsize < 4 else input.dtype
    total = jnp.sum(input.astype(sum_dtype), axis=dims, keepdims=keepdim)
    return exact_quotient(total, as_constant(count, sum_dtype)).astype(input.dtype)


@op(
    promote=Promote.REDUCE_INT_TO_LONG,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    backward=lambda input, dim, keepdim, dtype: "ProdBackward0" if dim is None else "ProdBackward1",
    samples=[WHOLE, ALONG, POINT, Sample(values=([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]],), args=(1,))],
    autocast=Autocast.FLOAT32,
)
def prod(input: Array, dim: IntOrInts | None = None, keepdim: bool = False, *, dtype: Dtype | None = None) -> Array:
    """The product of all elements, or along one dimension. Integers and bool are multiplied as int64.

    >>> torch.tensor([2, 3, 4]).prod()
    tensor(24)
    """
    if dim is not None and not is_integer(dim):
        raise TypeError(f"prod(): argument 'dim' must be int, not {type_name(dim)}")
    dims = dims_of(dim, input.ndim, "prod")
    if input.dtype.kind in "iub" or not input.ndim:
        return jnp.prod(input, axis=dims, keepdims=keepdim)
    return _product(input, None if dim is None else dims[0], keepdim)


@partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _product(x: Array, axis: int | None, keepdims: bool) -> Array:
    return jnp.prod(x, axis=axis, keepdims=keepdims)


@_product.defjvp
def _(axis: int | None, keepdims: bool, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (x,), (tangent,) = primals, tangents
    others = _others(x.reshape(-1), 0, True).reshape(x.shape) if axis is None else _others(x, axis, False)
    return _product(x, axis, keepdims), jnp.sum(tangent * others, axis=axis, keepdims=keepdims)


def _others(x: Array, axis: int, whole: bool) -> Array:
    """For each element the product of all others, with NaN and infinities as PyTorch has them: by division where no element is 0."""
    if not x.shape[axis]:
        return x  # without elements
    zeros = jnp.sum(x == 0)
    # Each way sees ones where the other is taken, so that nothing that is not selected can become NaN in a derivative.
    one = jnp.ones((), x.dtype)
    whole_x, some_zero = jnp.where(zeros == 0, x, one), jnp.where(zeros == 0, one, x)
    by_division = _product(whole_x, axis, True) / whole_x
    first = jnp.ones_like(lax.slice_in_dim(x, 0, 1, axis=axis))
    before = jnp.cumprod(jnp.concatenate([first, lax.slice_in_dim(some_zero, 0, -1, axis=axis)], axis), axis=axis)
    behind = jnp.flip(lax.slice_in_dim(some_zero, 1, None, axis=axis), axis)
    behind = jnp.flip(jnp.cumprod(jnp.concatenate([first, behind], axis), axis=axis), axis)
    without_division = before * behind
    if whole:  # several zeros leave none, also beside NaN
        finite = jnp.isfinite(without_division)
        none = jnp.where(finite, without_division - lax.stop_gradient(without_division), jnp.zeros((), x.dtype))
        without_division = jnp.where(zeros > 1, none, without_division)
    return jnp.where(zeros == 0, by_division, without_division)


@op(
    promote=Promote.REDUCE_INT_TO_LONG,
    accepts=Category.REAL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    refuse=lambda name, dtype: "nansum on CPU does not support complex inputs",
    samples=[WHOLE, ALONG, Sample(values=([1.0, float("nan"), 2.0],))],
)
def nansum(input: Array, dim: IntOrInts | None = None, keepdim: bool = False, *, dtype: Dtype | None = None) -> Array:
    """The sum of all elements that are not NaN, or along dimensions.

    >>> torch.nansum(torch.tensor([1.0, float("nan")]))
    tensor(1.)
    """
    without_nan = (
        jnp.where(jnp.isnan(input), jnp.zeros((), input.dtype), input) if input.dtype.kind not in "iub" else input
    )
    return jnp.sum(without_nan, axis=dims_of(dim, input.ndim, "nansum"), keepdims=keepdim)


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT)
def nanmean(
    input: Tensor, dim: IntOrInts | None = None, keepdim: bool = False, *, dtype: Dtype | None = None
) -> Tensor:
    """The mean of all elements that are not NaN, or along dimensions.

    >>> torch.tensor([1.0, float("nan"), 3.0]).nanmean()
    tensor(2.)
    """
    if input.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.scalar_name}"
        )
    return nansum(input, dim, keepdim, dtype=dtype) / sum(input == input, dim, keepdim)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    differentiable=False,
    samples=[WHOLE, Sample(shapes=((3, 4),), args=(1,)), SEVERAL],
)
def count_nonzero(input: Array, dim: IntOrInts | None = None) -> Array:
    """How many elements are not zero, in all or along dimensions.

    >>> torch.tensor([0.0, 1.0, 2.0]).count_nonzero()
    tensor(2)
    """
    axes = dims_of(dim, input.ndim, "count_nonzero")
    return jnp.sum(nonzero(input), axis=axes, dtype=jnp.int64)


# ---- truth


def _truth_axes(dim: IntOrInts | None, ndim: int, name: str) -> tuple[int, ...]:
    """As ``dims_of``, but () means none: each element is taken by itself."""
    return () if isinstance(dim, (tuple, list)) and not dim else dims_of(dim, ndim, name)


def _as_truth(result: Array, input: Array) -> Array:
    return result.astype(np.uint8) if input.dtype == np.uint8 else result


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    differentiable=False,
    samples=[WHOLE, ALONG, SEVERAL, POINT, NONE_LEFT],
    validation=Validation(out=truth("all")),
)
def all(input: Array, dim: IntOrInts | None = None, keepdim: bool = False) -> Array:
    """Whether no element is zero, in all or along dimensions; uint8 for uint8.

    >>> torch.tensor([[True, False], [True, True]]).all(1)
    tensor([False,  True])
    """
    true = nonzero(input)
    return _as_truth(jnp.all(true, axis=_truth_axes(dim, input.ndim, "all"), keepdims=keepdim), input)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    differentiable=False,
    samples=[WHOLE, ALONG, SEVERAL, POINT, NONE_LEFT],
    validation=Validation(out=truth("any")),
)
def any(input: Array, dim: IntOrInts | None = None, keepdim: bool = False) -> Array:
    """Whether some element is not zero, in all or along dimensions; uint8 for uint8.

    >>> torch.tensor([[False, False], [True, False]]).any(1)
    tensor([False,  True])
    """
    true = nonzero(input)
    return _as_truth(jnp.any(true, axis=_truth_axes(dim, input.ndim, "any"), keepdims=keepdim), input)


# ---- extrema


def _extremum(
    reduce: Callable[..., Array], input: Array, axes: tuple[int, ...], keepdim: bool, nan_ties: bool
) -> Array:
    """max or min, whose gradient is spread evenly over the elements that attain it, as in PyTorch.

    ``nan_ties``: whether NaNs share the gradient of a NaN, as they do where everything is reduced.
    """

    @jax.custom_jvp
    def extremum(x: Array) -> Array:
        return reduce(x, axis=axes, keepdims=True)

    @extremum.defjvp
    def _(primals: Any, tangents: tuple[Array, ...]) -> tuple[Array, Array]:
        (x,), (t,) = primals, tangents
        best = reduce(x, axis=axes, keepdims=True)
        ties = x == best
        if nan_ties:
            ties |= jnp.isnan(x) & jnp.isnan(best)
        share = ties.astype(x.dtype)
        share /= jnp.sum(share, axis=axes, keepdims=True)
        return best, jnp.sum(share * t, axis=axes, keepdims=True)

    best = extremum(input)
    return best if keepdim else best.reshape([n for d, n in enumerate(input.shape) if d not in axes])


_MATCH = words(
    "Expected the dtype for input and out to match, but got {result} for input's dtype and {out} for out's dtype."
)


def _declare_extremum(name: str, reduce: Callable[..., Array], adjective: str) -> Callable[..., Tensor]:
    def compute(input: Array, dim: IntOrInts | None = (), keepdim: bool = False) -> Array:
        axes = dims_of(dim, input.ndim, name)
        needs_elements(name, input.shape, axes, dim is None or dim == ())
        return _extremum(reduce, input, axes, keepdim, nan_ties=False)

    compute.__name__ = name
    compute.__doc__ = f"""The {adjective} element, or along dimensions. Its gradient is shared evenly by elements that are equal.

    >>> torch.{name}(torch.tensor([[1.0, 2.0], [4.0, 3.0]]), 1)
    tensor({"[2., 4.]" if name == "amax" else "[1., 3.]"})
    """
    return op(
        promote=Promote.NONE,
        accepts=Category.REAL,
        forms=Form.FUNCTION | Form.METHOD | Form.OUT,
        saves=Saves.RESULT,
        refuse=f"{name[1:]}_values_cpu",
        validation=Validation(out=_MATCH),
        samples=[WHOLE, ALONG, SEVERAL, POINT, Sample(values=([[1.0, 1.0], [2.0, 1.0]],), args=(1,))],
    )(compute)


amax = _declare_extremum("amax", jnp.max, "largest")
amin = _declare_extremum("amin", jnp.min, "smallest")


def _no_complex(kernel: str) -> Callable[[np.dtype], None]:
    def check(dtype: np.dtype) -> None:
        if dtype.kind == "c":
            kind = dtypes.from_numpy_dtype(dtype).scalar_name
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind}'")

    return check


def _declare_whole(name: str, reduce: Callable[..., Array]) -> Callable[..., Tensor]:
    check = _no_complex(f"{name}_all")

    def compute(input: Array) -> Any:
        check(input.dtype)
        needs_elements(name, input.shape, tuple(range(input.ndim)), True)
        return _extremum(reduce, input, tuple(range(input.ndim)), False, nan_ties=True)

    compute.__doc__ = f"The {name} of all elements."
    return op(
        name=f"_{name}_all", promote=Promote.NONE, accepts=Category.ALL, forms=Form.NONE,
        backward=f"{name.capitalize()}Backward1", saves=Saves.RESULT, samples=[WHOLE, POINT],
    )(compute)  # fmt: skip


_max_all = _declare_whole("max", jnp.max)
_min_all = _declare_whole("min", jnp.min)


def _position(find: Callable[..., Array], input: Array, axis: int) -> Array:
    """The first position of the extremum. NaN counts as an extremum."""
    # 32 bits, where they hold it: JAX lowers none of 64 in a trace that has no 64-bit types.
    dtype = np.int32 if input.shape[axis] <= np.iinfo(np.int32).max else np.int64
    return find(order(input, nan_first=find is lax.argmin), axis, dtype).astype(np.int64)


def _declare_along(
    name: str, reduce: Callable[..., Array], find: Callable[..., Array]
) -> Callable[..., tuple[Tensor, Tensor]]:
    fields = getattr(return_types, name)

    def compute(input: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
        if input.dtype.kind == "c":
            raise RuntimeError(f"{name}(): does not support complex input")
        axis = wrap_dim(dim, input.ndim)
        if input.ndim == 0:
            return fields(input, jnp.zeros((), np.int64))
        needs_elements(name, input.shape, (axis,), False)
        where = jnp.expand_dims(_position(find, input, axis), axis)
        values, indices = _select(reduce, input, where, axis), where
        return fields(*(out if keepdim else jnp.squeeze(out, axis) for out in (values, indices)))

    compute.__doc__ = f"The {name} along a dimension, and where it lies first."
    return op(
        name=f"_{name}_along", promote=Promote.NONE, accepts=Category.ALL, forms=Form.NONE,
        backward=f"{name.capitalize()}Backward0", saves=(1,),
        samples=[ALONG, Sample(values=([[1.0, 1.0], [2.0, 1.0]],), args=(1,))],
    )(compute)  # fmt: skip


def _select(reduce: Callable[..., Array], input: Array, where: Array, axis: int) -> Array:
    """The extremum along an axis, whose whole gradient goes to the position ``where``.

    The gradient is a comparison with a grid of positions and not a scatter, which is slow on every platform.
    """

    def taken(x: Array, at: Array) -> Array:
        # Take the element itself where a maximum would flush a denormal number to 0. There this is the cheaper way, too.
        return reduce(x, axis=axis, keepdims=True) if order(x) is x else jnp.take_along_axis(x, at, axis, mode="clip")

    @jax.custom_jvp
    def select(x: Array, at: Array) -> Array:
        return taken(x, at)

    @select.defjvp
    def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
        x, at = primals
        is_selected = jax.lax.broadcasted_iota(np.int64, x.shape, axis) == at
        picked = jnp.where(is_selected, tangents[0], jnp.zeros((), x.dtype))
        return taken(x, at), jnp.sum(picked, axis=axis, keepdims=True)

    return select(input, where)


_max_along = _declare_along("max", jnp.max, lax.argmax)
_min_along = _declare_along("min", jnp.min, lax.argmin)


def _three_forms(
    name: str,
    whole: Callable[..., Tensor],
    along: Callable[..., Tensor | tuple[Tensor, Tensor]],
    other_op: str,
    input: Tensor,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Tensor | tuple[Tensor, Tensor]:
    """``max(input)``, ``max(input, dim, keepdim=False)`` and ``max(input, other)``."""
    keywords = {{"axis": "dim", "keepdims": "keepdim"}.get(k, k): v for k, v in kwargs.items()}
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(input)}")
    if not args and not keywords:
        return whole(input)
    other = keywords.get("other", args[0] if args else None)
    if isinstance(other, Tensor) and len(args) + len(keywords) == 1 and "dim" not in keywords:
        return FUNCTIONS[other_op](input, other)
    arguments = dict(zip(("dim", "keepdim"), args, strict=False)) | keywords
    if len(args) > 2 or not arguments.keys() <= {"dim", "keepdim"} or not is_integer(arguments.get("dim")):
        parameter = "dim" if args or "dim" in keywords else next(iter(keywords))
        value = keywords[parameter] if parameter in keywords else next(iter(args))
        raise misfit_error(name, parameter, 2 if args else None, f"must be int, not {type_name(value)}")
    check_value(name, "keepdim", None if "keepdim" in keywords else 2, "bool", arguments.get("keepdim", False))
    return along(input, int(arguments["dim"]), arguments.get("keepdim", False))


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT, overlap=Reading.SAME_PLACES)
def max(input: Tensor, *args: object, **kwargs: object) -> Any:
    """The largest element, the largest ones along a dimension, or the larger of two tensors' elements.

    ``max(input)``; ``max(input, dim, keepdim=False)``, which also says where they lie first; ``max(input, other)``.

    >>> torch.tensor([[1.0, 5.0], [4.0, 2.0]]).max(1)
    torch.return_types.max(
    values=tensor([5., 4.]),
    indices=tensor([1, 0]))

    Raises:
        IndexError: there is no such dimension, or it is empty. RuntimeError: there are no elements at all.
    """
    return _three_forms("max", _max_all, _max_along, "maximum", input, args, kwargs)


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT, overlap=Reading.SAME_PLACES)
def min(input: Tensor, *args: object, **kwargs: object) -> Any:
    """The smallest element, the smallest ones along a dimension, or the smaller of two tensors' elements.

    ``min(input)``; ``min(input, dim, keepdim=False)``, which also says where they lie first; ``min(input, other)``.

    >>> torch.tensor([[1.0, 5.0], [4.0, 2.0]]).min()
    tensor(1.)

    Raises:
        IndexError: there is no such dimension, or it is empty. RuntimeError: there are no elements at all.
    """
    return _three_forms("min", _min_all, _min_along, "minimum", input, args, kwargs)


@op(
    promote=Promote.NONE,
    accepts=Category.REAL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=("input", 0, 1),
    refuse="aminmax_cpu",
    samples=[WHOLE, Sample(shapes=((3, 4),), kwargs={"dim": 1, "keepdim": True})],
    overlap=Reading.SAME_PLACES,
)
def aminmax(input: Array, *, dim: int | None = None, keepdim: bool = False) -> tuple[Array, Array]:
    """The smallest and the largest element, in all or along a dimension.

    >>> torch.aminmax(torch.tensor([1.0, 3.0, 2.0]))
    torch.return_types.aminmax(
    min=tensor(1.),
    max=tensor(3.))
    """
    axes = dims_of(dim, input.ndim, "aminmax")
    for d in axes:
        if input.shape[d] == 0:
            if dim is None:
                raise RuntimeError(
                    "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
                )
            raise IndexError(f"aminmax: Expected reduction dim {d} to have non-zero size.")
    return return_types.aminmax(*(_extremum(f, input, axes, keepdim, nan_ties=False) for f in (jnp.min, jnp.max)))


def _declare_position(name: str, find: Callable[..., Array], adjective: str) -> Callable[..., Tensor]:
    def compute(input: Array, dim: int | None = None, keepdim: bool = False) -> Array:
        if dim is None:
            if not input.size:
                raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
            where = _position(find, input.reshape(-1), 0)
            return where.reshape((1,) * input.ndim) if keepdim else where
        axis = wrap_dim(dim, input.ndim)
        if input.ndim == 0:
            return jnp.zeros((), np.int64)
        needs_elements(name, input.shape, (axis,), False)
        where = _position(find, input, axis)
        return jnp.expand_dims(where, axis) if keepdim else where

    compute.__name__ = name
    compute.__doc__ = f"""Where the {adjective} element lies first: in the flattened tensor, or along a dimension.

    >>> torch.{name}(torch.tensor([[1.0, 5.0], [4.0, 2.0]]), dim=1)
    tensor({"[1, 0]" if name == "argmax" else "[0, 1]"})
    """
    return op(
        promote=Promote.NONE,
        accepts=Category.INTEGER | Category.FLOAT,
        forms=Form.FUNCTION | Form.METHOD | Form.OUT,
        differentiable=False,
        refuse=lambda name, dtype: f"{name}(): does not support {dtypes.CATEGORY_NAMES[dtype.category]} input",
        samples=[WHOLE, ALONG, POINT, Sample(values=([1.0, float("nan"), 3.0, float("nan")],))],
    )(compute)


argmax = _declare_position("argmax", lax.argmax, "largest")
argmin = _declare_position("argmin", lax.argmin, "smallest")


# ---- variance


def _variance(input: Array, axes: tuple[int, ...], correction: float, keepdim: bool) -> tuple[Array, Array]:
    """Variance and mean, in the accumulator's dtype."""
    x = input.astype(accumulator(input.dtype))
    count = math.prod(input.shape[d] for d in axes)
    real = jnp.zeros((), x.dtype).real.dtype
    # Two passes, since ``mean(x**2) - mean(x)**2`` loses all digits where the mean is much larger than the deviations.
    middle = exact_quotient(jnp.sum(x, axis=axes, keepdims=True), as_constant(count, x.dtype))
    away = x - middle
    squares = (away.real**2 + away.imag**2) if x.dtype.kind == "c" else jnp.square(away)
    total = jnp.sum(squares, axis=axes, keepdims=keepdim)
    degrees = builtins.max(count - correction, 0)
    if not keepdim:
        middle = jnp.squeeze(middle, axes)
    return exact_quotient(total, as_constant(degrees, real)), middle


@custom_jvp
def _root(variance: Array) -> Array:
    """The square root, with derivative 0 at 0, as PyTorch's ``std`` has it."""
    return lax.sqrt(variance)


@_root.defjvp
def _root_derivative(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    root = _root(*primals)
    zero, nothing = root == 0, lax.full(root.shape, 0, root.dtype)
    # A variance may be 0 because the squares of small numbers are: its own derivative must not show then.
    half = lax.full(root.shape, 0.5, root.dtype) / lax.select(zero, lax.full(root.shape, 1, root.dtype), root)
    return root, lax.select(zero, nothing, tangents[0] * half)


def _real_of(input: Array) -> np.dtype:
    return jnp.zeros((), input.dtype).real.dtype


def _declare_spread(name: str, with_mean: bool) -> Callable[..., Tensor | tuple[Tensor, Tensor]]:
    root = name.startswith("std")

    def compute(input: Array, dim: IntOrInts | None, correction: float, keepdim: bool) -> Array | tuple[Array, Array]:
        variance, middle = _variance(input, dims_of(dim, input.ndim, name), correction, keepdim)
        spread = (_root(variance) if root else variance).astype(_real_of(input))
        return (spread, middle.astype(input.dtype)) if with_mean else spread

    compute.__doc__ = f"{name} for given dimensions and correction."
    return op(
        name=f"_{name}", promote=Promote.NONE, accepts=Category.INEXACT, forms=Form.NONE,
        refuse=lambda _, dtype: f"{name if with_mean else 'std and var'} only support floating point and complex dtypes",
        backward="".join(map(str.capitalize, name.split("_"))) + "Backward0",
        saves=("input", 0) if root else ("input",),
        samples=[Sample(shapes=((3, 4),), args=(1, 1, True)), Sample(shapes=((3, 4),), args=(None, 0, False))],
    )(compute)  # fmt: skip


_std = _declare_spread("std", False)
_var = _declare_spread("var", False)
_std_mean = _declare_spread("std_mean", True)
_var_mean = _declare_spread("var_mean", True)


def _spread(
    name: str,
    compute: Callable[..., object],
    input: object,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
) -> Any:
    """``f(x, unbiased)``, ``f(x, dim, unbiased, keepdim)`` and ``f(x, dim, correction=, keepdim=)``."""
    keywords = {{"axis": "dim", "keepdims": "keepdim"}.get(k, k): v for k, v in keywords.items()}
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(input)}")
    if len(args) == 1 and isinstance(args[0], bool) and not keywords:
        keywords, args = {"unbiased": args[0]}, ()
    positional = dict(zip(("dim", "unbiased", "keepdim"), args, strict=False))
    for key, value in (*positional.items(), *keywords.items()):
        words = f"must be of another type, not {type_name(value)}"  # which ``invalid_combination`` replaces
        known = key in ("dim", "unbiased", "keepdim", "correction") and not (key in keywords and key in positional)
        if not known or (key == "dim" and isinstance(value, (bool, float, str))):
            raise misfit_error(name, key, None, words)
        if key == "correction" and not isinstance(
            value, (int, float, complex, np.number, np.bool_, Tensor, type(None))
        ):
            raise misfit_error(name, key, None, words)
        if key in ("unbiased", "keepdim"):
            check_value(name, key, None, "bool", value)
    arguments = positional | keywords
    # PyTorch has several signatures, which exclude each other's arguments.
    alone = "unbiased" in arguments and "dim" not in arguments  # the old form, which has the flag alone
    if len(args) > 3 or (alone and len(arguments) > 1) or {"unbiased", "correction"} <= arguments.keys():
        raise misfit_error(name, "unbiased", None, "must be left out")
    correction, dim = arguments.get("correction"), arguments.get("dim")
    if correction is None:
        correction = 1 if arguments.get("unbiased", True) else 0
    elif isinstance(correction, complex):
        if correction.imag:
            raise RuntimeError("value cannot be converted to type double without overflow")
        correction = correction.real
    dim = tuple(dim) if isinstance(dim, (list, tuple)) else dim
    if input.dtype.category >= dtypes.FLOAT:
        count = math.prod(input.shape[d] for d in dims_of(dim, input.dim(), name))
        if count - correction <= 0 and (input.numel() or not count):
            warnings.warn(
                f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
                "divided by output numel).",
                UserWarning,
                stacklevel=4,
            )
    return compute(input, dim, correction, arguments.get("keepdim", False))


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT)
def std(input: Tensor, *args: object, **kwargs: object) -> Tensor:
    """The standard deviation ``sqrt(sum((x - mean)**2) / (n - correction))`` of all elements, or along dimensions.

    Args:
        dim: an int, several, or None for all.
        correction: 1 unless given (also as ``unbiased=False``, which means 0).
        keepdim: whether reduced dimensions stay with size 1.

    >>> torch.tensor([1.0, 2.0, 3.0]).std()
    tensor(1.)
    """
    return _spread("std", _std, input, args, kwargs)


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT)
def var(input: Tensor, *args: object, **kwargs: object) -> Tensor:
    """The variance ``sum((x - mean)**2) / (n - correction)`` of all elements, or along dimensions; arguments as of ``std``.

    >>> torch.tensor([1.0, 2.0, 3.0]).var(correction=0)
    tensor(0.6667)
    """
    return _spread("var", _var, input, args, kwargs)


@composite(forms=Form.FUNCTION)
def std_mean(input: Tensor, *args: object, **kwargs: object) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean; arguments as of ``std``.

    >>> torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    return _spread("std_mean", _std_mean, input, args, kwargs)


@composite(forms=Form.FUNCTION)
def var_mean(input: Tensor, *args: object, **kwargs: object) -> tuple[Tensor, Tensor]:
    """The variance and the mean; arguments as of ``std``.

    >>> torch.var_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    return _spread("var_mean", _var_mean, input, args, kwargs)


@op(
    promote=Promote.INT_TO_FLOAT,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=Saves.RESULT,
    overlap=Reading.ANYWHERE,
    samples=[ALONG, SEVERAL, Sample(values=([[float("-inf"), float("-inf")], [0.0, 1.0]],), args=(1,), gradient=False)],
    autocast={"cuda": Autocast.FLOAT32},
)
def logsumexp(input: Array, dim: IntOrInts, keepdim: bool = False) -> Array:
    """``log(sum(exp(input)))`` along dimensions, computed without overflow.

    >>> torch.tensor([[1000.0, 1000.0]]).logsumexp(1)
    tensor([1000.6932])
    """
    return jax.nn.logsumexp(input, axis=dims_of(dim, input.ndim, "logsumexp"), keepdims=keepdim)


# ---- norms


def check_norm_dtype(name: str, own: dtypes.dtype, dtype: dtypes.dtype | None) -> None:
    """Raises PyTorch's error for a dtype in which the norm of a tensor is not computed."""
    if dtype is None:
        return
    if dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {dtype.scalar_name}")
    if (own.category == dtypes.COMPLEX) is not (dtype.category == dtypes.COMPLEX):
        kind = "complex" if own.category == dtypes.COMPLEX else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {dtype.scalar_name}")


@op(
    name="linalg_vector_norm",
    promote=Promote.NONE,
    accepts=Category.INEXACT,
    forms=Form.OUT,
    validation=Validation(
        call=lambda x, ord, dim, keepdim, dtype: check_norm_dtype("linalg.vector_norm", x, dtype),
    ),
    saves=Saves.RESULT,
    refuse=lambda name, dtype: (
        f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {dtype.scalar_name}"
    ),
    samples=[Sample(shapes=((3, 4),), args=(p, 1)) for p in (0, 1, 2, 3, 0.5, math.inf, -math.inf)]
    + [Sample(shapes=((3, 4),)), Sample(values=([0.0, 0.0, 0.0],), gradient=False)],
    autocast={"cuda": Autocast.FLOAT32},
)
def vector_norm(
    input: Array, ord: float = 2, dim: IntOrInts | None = None, keepdim: bool = False, *, dtype: Dtype | None = None
) -> Array:
    """``sum(|x| ** ord) ** (1 / ord)`` over all elements or along dimensions; the largest for inf, the count of nonzeros for 0.

    Where the norm is 0 the gradient is 0, as in PyTorch.
    """
    if dtype is not None:
        input = input.astype(dtype.numpy)
    axes = dims_of(dim, input.ndim, "linalg.vector_norm")
    if not input.size and (ord < 0 or ord == math.inf):
        if dim is None or builtins.any(input.shape[d] == 0 for d in axes):
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {_order(ord)} norm on an empty tensor because the operation does not have an "
                "identity"
            )
    result = _real_of(input)
    if input.dtype.itemsize < 4:
        input = input.astype(jnp.float32)
    size = _modulus(input)
    if ord in (math.inf, -math.inf):
        return _extremum(jnp.max if ord > 0 else jnp.min, size, axes, keepdim, nan_ties=True).astype(result)
    if ord == 0:
        return jnp.sum((size != 0).astype(size.dtype), axis=axes, keepdims=keepdim).astype(result)
    if ord == 1:
        return jnp.sum(size, axis=axes, keepdims=keepdim).astype(result)
    if ord == 2:
        squares = input.real**2 + input.imag**2 if input.dtype.kind == "c" else jnp.square(input)
        return _root(jnp.sum(squares, axis=axes, keepdims=keepdim)).astype(result)
    # The power sees no zero: for ``ord < 1`` its derivative there is infinite, and would make NaN of a gradient that is selected to
    # be 0.
    zero = size == 0
    powers = jnp.where(zero, jnp.zeros((), size.dtype) if ord > 0 else jnp.asarray(math.inf, size.dtype),
                       jnp.where(zero, jnp.ones((), size.dtype), size) ** jnp.asarray(ord, size.dtype))  # fmt: skip
    total = jnp.sum(powers, axis=axes, keepdims=keepdim)
    none = (total == 0) | jnp.isinf(total)
    root = jnp.where(none, jnp.ones((), total.dtype), total) ** jnp.asarray(1 / ord, total.dtype)
    # The sum is 0 or infinite where the powers are too small or too large for the dtype, too. For a negative order it is infinite where
    # an element is 0, and 0 where all elements are infinite; the norm is then 0, or infinite.
    limit = jax.lax.stop_gradient(total)
    return jnp.where(none, limit if ord > 0 else 1 / limit, root).astype(result)


def _modulus(x: Array) -> Array:
    """``|x|``, with derivative 0 at 0."""
    if x.dtype.kind == "c":
        return _root(x.real**2 + x.imag**2)
    return x * jax.lax.stop_gradient(jnp.sign(x))


def _order(ord: float) -> str:
    return f"{ord:g}"


@composite(
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    autocast={"cuda": Autocast.FLOAT32},
    validation=Validation(out=exactly),
)
def norm(input: Tensor, p: object = "fro", dim: Any = None, keepdim: bool = False, dtype: object = None) -> Tensor:
    """The norm of all elements taken as a vector, or along dimensions. ``p``: a number, inf, "fro" (as 2) or "nuc".

    >>> torch.tensor([3.0, 4.0]).norm()
    tensor(5.)
    """
    if isinstance(dim, (list, bool)):
        dim = tuple(dim) if isinstance(dim, list) else (dim,)
    check_value("linalg_vector_norm", "dim", 3, "IntOrInts | None", dim)
    if p is None or p == "fro":
        p = 2
    if p == "nuc":
        _check_nuclear(input, dim, dtype)
        return nuclear_norm(input if dtype is None else input.to(dtype), dim, keepdim)  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(p, str):
        raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
    return vector_norm(input, p, dim, keepdim, dtype=dtype)


def _check_nuclear(input: Tensor, dim: Any, dtype: Any) -> None:
    name = "linalg.matrix_norm"
    if input.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {input.dtype.scalar_name}"
        )
    check_norm_dtype(name, input.dtype, dtype)
    if isinstance(dim, tuple) and len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    if isinstance(dim, tuple) and dim[0] == dim[1]:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")


@op(
    name="_nuclear_norm",
    promote=Promote.NONE,
    accepts=Category.INEXACT,
    forms=Form.NONE,
    backward="SumBackward1",
    samples=[Sample(shapes=((3, 4),), args=(None, False))],
    autocast={"cuda": Autocast.FLOAT32},
)
def nuclear_norm(input: Array, dim: IntOrInts, keepdim: bool) -> Array:
    """The sum of the singular values of matrices."""
    axes = (0, 1) if dim is None else dims_of(dim, input.ndim, "linalg.matrix_norm")
    if input.ndim < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if len(axes) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, axes))}")
    return jnp.linalg.norm(input, "nuc", axis=axes, keepdims=keepdim)
