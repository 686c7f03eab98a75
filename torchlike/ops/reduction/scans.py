"""Running results along a dimension: sums, products, extrema, and differences of neighbours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core.dtypes import bool_
from ..._core.tensor import Tensor, wrap_dim
from ...dispatch import return_types
from ...dispatch.out_dtypes import SCALAR_TYPE
from ...dispatch.overlap import Reading
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, Saves, Validation, composite, op
from ...engine.interpreter import scan
from ...numerics.exact_math import accumulator
from ..elementwise.exponents import complex_logaddexp
from ..shape.joining import cat
from ..shape.slicing import narrow

ALONG = [
    Sample(shapes=((3, 4),), args=(0,)),
    Sample(shapes=((3, 4),), args=(-1,)),
    Sample(shapes=((),), args=(0,)),
    Sample(shapes=((0, 3),), args=(0,)),
]


@op(
    promote=Promote.REDUCE_INT_TO_LONG,
    accepts=Category.ALL,
    forms=Form.ELEMENTWISE,
    saves=Saves.NOTHING,
    samples=ALONG,
    autocast={"cuda": Autocast.FLOAT32},
    overlap=Reading.SAME_PLACES,
)
def cumsum(input: Array, dim: int, *, dtype: object = None) -> Array:
    """The sums of the elements up to each along a dimension.

    >>> torch.cumsum(torch.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
    dim = wrap_dim(dim, input.ndim)
    return jnp.cumsum(input.astype(accumulator(input.dtype)), axis=dim).astype(input.dtype) if input.ndim else input


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def _products(x: Array, dim: int) -> Array:
    return jnp.cumprod(x, axis=dim)


def _products_forward(x: Array, dim: int) -> tuple[Array, Array]:
    return _products(x, dim), x


def _products_backward(dim: int, x: Array, gradient: Array) -> tuple[Array]:
    return (_product_gradient(x, gradient, dim),)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def _product_gradient(x: Array, gradient: Array, dim: int) -> Array:
    """The gradient as PyTorch computes it, also where elements are 0, infinite or NaN.

    Before the first 0 it is the sum of ``gradient * products`` from the element on, divided by the element. At the first 0 it is the sum
    of the products without it. Behind it all products have it as a factor, and the gradient is 0.
    """
    nothing, one = jnp.zeros((), x.dtype), jnp.ones((), x.dtype)
    zeros = jnp.cumsum((x == 0).astype(np.int32), axis=dim)
    before, first = zeros == 0, (zeros == 1) & (x == 0)
    products = jnp.cumprod(jnp.where(before, x, one), axis=dim)
    sums = _sums_from_here(jnp.where(before, gradient * products, nothing), dim)
    # ``products`` stays what it was before the first 0; behind that one the factors up to the second 0 count.
    behind = jnp.cumprod(jnp.where(before | first, one, x), axis=dim)
    at_first = _sums_from_here(jnp.where(zeros == 1, gradient * behind, nothing), dim) * products
    return jnp.where(before, sums / jnp.where(before, x, one), jnp.where(first, at_first, nothing))


def _product_gradient_forward(x: Array, gradient: Array, dim: int) -> tuple[Array, tuple[Array, Array]]:
    return _product_gradient(x, gradient, dim), (x, gradient)


def _product_gradient_backward(dim: int, saved: tuple[Array, Array], cotangent: Array) -> tuple[Array, ...]:
    # Of the derivative that makes no difference of zeros: which factor is 0 is nothing that could be differentiated.
    plain = lambda x, gradient: jax.vjp(lambda x: jnp.cumprod(x, axis=dim), x)[1](gradient)[0]  # noqa: E731
    return jax.vjp(plain, *saved)[1](cotangent)


_product_gradient.defvjp(_product_gradient_forward, _product_gradient_backward)


def _sums_from_here(x: Array, dim: int) -> Array:
    return jnp.flip(jnp.cumsum(jnp.flip(x, dim), axis=dim), dim)


_products.defvjp(_products_forward, _products_backward)


@op(
    promote=Promote.REDUCE_INT_TO_LONG,
    accepts=Category.ALL,
    forms=Form.ELEMENTWISE,
    saves=Saves.INPUTS,
    samples=ALONG,
    autocast={"cuda": Autocast.FLOAT32},
    overlap=Reading.SAME_PLACES,
)
def cumprod(input: Array, dim: int, *, dtype: object = None) -> Array:
    """The products of the elements up to each along a dimension.

    >>> torch.cumprod(torch.tensor([1, 2, 3]), 0)
    tensor([1, 2, 6])
    """
    dim = wrap_dim(dim, input.ndim)
    if not input.ndim:
        return input
    products: Array = _products(input.astype(accumulator(input.dtype)), dim)
    return products.astype(input.dtype)


@op(
    promote=Promote.NONE,
    accepts=Category.INEXACT,
    refuse="logcumsumexp_out_cpu",
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=Saves.INPUTS,
    samples=ALONG,
    overlap=Reading.SAME_PLACES,
    validation=Validation(out=SCALAR_TYPE),
)
def logcumsumexp(input: Array, dim: int) -> Array:
    """``log(cumsum(exp(input)))`` along a dimension, without overflow."""
    dim = wrap_dim(dim, input.ndim)
    if input.ndim == 0 or input.size == 0:
        return input
    if jnp.issubdtype(input.dtype, np.complexfloating):
        return _complex_logcumsumexp(input, dim)
    return _real_logcumsumexp(input.astype(accumulator(input.dtype)), dim).astype(input.dtype)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _real_logcumsumexp(x: Array, dim: int) -> Array:
    return lax.cumlogsumexp(x, axis=dim)


@_real_logcumsumexp.defjvp
def _real_logcumsumexp_jvp(dim: int, primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """The share of an input in a result is ``exp(input - result)``: NaN where both are the same infinity, as in PyTorch.

    JAX's own derivative has a number there, and beside it numbers that are no shares.
    """
    (x,), (tangent,) = primals, tangents
    result = _real_logcumsumexp(x, dim)
    zero, limits = jnp.zeros((), x.dtype), jnp.finfo(x.dtype)
    finite = jnp.where(x == jnp.inf, zero, jnp.maximum(x, jnp.asarray(limits.min / 2, x.dtype)))
    _, shares = jax.jvp(lambda x: lax.cumlogsumexp(x, axis=dim), (finite,), (tangent,))
    undefined = jnp.where(jnp.isinf(x) & (x == result), jnp.asarray(jnp.nan, x.dtype), zero)
    return result, jnp.where(jnp.isinf(result), jnp.cumsum(undefined * tangent, axis=dim), shares)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _complex_logcumsumexp(x: Array, dim: int) -> Array:
    # Add one element at a time, as PyTorch does: each step adds to the imaginary part, which may leave the range of -pi to pi.
    x = jnp.where(jnp.isnan(x), complex(np.nan, np.nan), x)
    first, others = x[(slice(None),) * dim + (0,)], jnp.moveaxis(x, dim, 0)[1:]

    def step(total: Array, element: Array) -> tuple[Array, Array]:
        total = _log_add_exp(total, element)
        return total, total

    _, results = scan(step, first, others)
    return jnp.concatenate([jnp.expand_dims(first, dim), jnp.moveaxis(results, 0, dim)], axis=dim)


def _log_add_exp(total: Array, element: Array) -> Array:
    nothing = (total.real == -np.inf) & (element.real == -np.inf)
    result = jnp.where(nothing, -np.inf, complex_logaddexp(element, total))
    return jnp.where(jnp.isnan(total) | jnp.isnan(element), total + element, result).astype(total.dtype)


@_complex_logcumsumexp.defjvp
def _complex_logcumsumexp_jvp(dim: int, primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    highest = jnp.max(x.real, axis=dim, keepdims=True).astype(x.dtype)
    # The share of element i in result j is ``exp(x[i] - result[j])``. The factor ``exp(-highest)`` cancels, and keeps the sums in
    # range.
    weights = jnp.exp(x - highest)
    return _complex_logcumsumexp(x, dim), jnp.cumsum(weights * dx, axis=dim) / jnp.cumsum(weights, axis=dim)


def _running_extremum(kind: type, input: Array, dim: int, scan: Callable[..., Array]) -> tuple[Array, Array]:
    """Running extrema, and where each was met last. A NaN stays once it is met."""
    dim = wrap_dim(dim, input.ndim)
    if input.ndim == 0:
        return kind(input, jnp.zeros((), np.int64))
    # The gradient flows through ``take_along_axis`` alone, to the elements that the result shows.
    constant = lax.stop_gradient(input)
    ordered = constant.astype(np.int8) if constant.dtype == np.bool_ else constant
    running = scan(ordered, axis=dim)
    is_extremum = ordered == running
    if jnp.issubdtype(input.dtype, np.floating):
        is_extremum = is_extremum | jnp.isnan(ordered)
    place = lax.broadcasted_iota(np.int64, input.shape, dim)
    # Where an element equals the running extremum its own place counts, elsewhere the last such place before it.
    indices = lax.cummax(jnp.where(is_extremum, place, 0), axis=dim)
    return kind(jnp.take_along_axis(input, indices, dim), indices)


@op(
    refuse="cummax_cpu",
    promote=Promote.NONE,
    accepts=Category.REAL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=("input", 1),
    samples=ALONG,
    validation=Validation(outs=SCALAR_TYPE),
)
def cummax(input: Array, dim: int) -> tuple[Array, Array]:
    """The largest element up to each along a dimension, and where it was met last.

    >>> torch.cummax(torch.tensor([1, 3, 2]), 0).values
    tensor([1, 3, 3])
    """
    return _running_extremum(return_types.cummax, input, dim, lax.cummax)


@op(
    refuse="cummin_cpu",
    promote=Promote.NONE,
    accepts=Category.REAL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=("input", 1),
    samples=ALONG,
    validation=Validation(outs=SCALAR_TYPE),
)
def cummin(input: Array, dim: int) -> tuple[Array, Array]:
    """The smallest element up to each along a dimension, and where it was met last.

    >>> torch.cummin(torch.tensor([3, 1, 2]), 0).values
    tensor([3, 1, 1])
    """
    return _running_extremum(return_types.cummin, input, dim, lax.cummin)


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT, overlap=Reading.SAME_PLACES)
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The differences of neighbours along a dimension, taken ``n`` times.

    >>> torch.diff(torch.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    if input.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    dim = wrap_dim(dim, input.dim())
    for other in (prepend, append):
        if other is not None and other.dim() != input.dim():
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for d, (own, given) in enumerate(zip(input.shape, input.shape if other is None else other.shape, strict=True)):
            if d != dim and own != given:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the differencing "
                    f"dimension; input.size({d}) = {own}, but got tensor.size({d}) = {given}"
                )
    if n == 0:  # then PyTorch leaves out what is to be joined as well
        return input.clone()  # pyright: ignore[reportAttributeAccessIssue]
    parts = [x for x in (prepend, input, append) if x is not None]
    result = cat(parts, dim) if len(parts) > 1 else input
    for _ in range(min(n, result.shape[dim])):
        length = result.shape[dim] - 1
        later, earlier = narrow(result, dim, 1, length), narrow(result, dim, 0, length)
        result = later.logical_xor(earlier) if result.dtype is bool_ else later - earlier  # pyright: ignore[reportAttributeAccessIssue]
    return result
