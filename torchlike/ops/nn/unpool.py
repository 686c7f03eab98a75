"""Undoes pooling by putting values where the largest elements were, and max-pooling over windows of drawn sizes."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ...dispatch.register import Autocast, Category, Form, Indices, Promote, Sample, ValueCheck, op
from ...engine.aval import Aval
from ...numerics.half_precision import at_least_float32

# ---- unpooling


@jax.custom_vjp
def _scatter_flat(flat: Array, places: Array, empty: Array) -> Array:
    return jax.vmap(lambda e, at, v: e.at[at].set(v))(empty, places, flat)


def _put_fwd(flat: Array, places: Array, empty: Array) -> tuple[Array, Array]:
    return _scatter_flat(flat, places, empty), places


def _put_bwd(places: Array, cotangent: Array) -> tuple[Array, None, Array]:
    # Where several values went to one place, all of them get its gradient, as in PyTorch. The transpose would give it to the last one only.
    return jnp.take_along_axis(cotangent, places, axis=1, mode="clip"), None, jnp.zeros_like(cotangent)


_scatter_flat.defvjp(_put_fwd, _put_bwd)


def _outside(input: Array, indices: Array, output_size: tuple[int, ...], *others: object) -> tuple[object, object]:
    size = math.prod(output_size)
    if indices.size == 0 or size == 0:
        return np.bool_(False), 0
    flat = indices.reshape(-1)
    wrong = (flat < 0) | (flat >= size)
    return wrong.any(), flat[wrong.argmax()]


def _error(
    value: int, input: object, indices: object, output_size: Any, *others: object, avals: Sequence[Aval]
) -> Exception:
    sizes = "x".join(map(str, output_size))
    return RuntimeError(f"Found an invalid max index: {value} (output volumes are of size {sizes})")


@op(
    name="_max_unpool",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward=lambda input, indices, size, node_name: node_name,
    check=ValueCheck(_outside, _error),
    refuse=lambda name, dtype: NotImplementedError(f"\"max_unpool2d\" not implemented for '{dtype.scalar_name}'"),
    samples=[Sample(shapes=((1, 1, 2),), values=([[[0, 3]]],), args=((4,), "MaxUnpool2DBackward0"), gradient=False)],
    autocast={"cpu": Autocast.FLOAT32},
)
def max_unpool(input: Array, indices: Indices, output_size: Sequence[int], node_name: str) -> Array:
    """Zeros of the output's size, with each value at its position in the flattened image."""
    count = len(output_size)
    name = f"max_unpooling{count}d"
    if indices.dtype != np.int64:
        kind = "" if count == 3 else f" but got: {indices.dtype.name.capitalize().removesuffix('32')}"
        raise RuntimeError(f"elements in indices should be type int64{kind}")
    if input.ndim not in (count + 1, count + 2):
        raise RuntimeError(
            f"Input to {name} should be a {count + 1}d or {count + 2}d Tensor, but got a tensor with {input.ndim} dimensions."
        )
    if input.shape != indices.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices tensor with "
            f"shape: {list(indices.shape)}"
        )
    empty = next((d for d in range(1, input.ndim) if not input.shape[d]), None)
    if empty is not None:
        raise RuntimeError(
            f"{name}_forward_out_cpu(): Expected input to have non-zero size for non-batch dimensions, but got {list(input.shape)} with "
            f"dimension {empty} being empty."
        )
    lead = input.shape[: input.ndim - count]
    if 0 in output_size:
        return jnp.zeros((*lead, *output_size), input.dtype)
    rows, size = math.prod(lead), math.prod(output_size)
    flat, places = (a.reshape(rows, math.prod(input.shape[input.ndim - count :])) for a in (input, indices))
    return _scatter_flat(flat, places, jnp.zeros((rows, size), input.dtype)).reshape(*lead, *output_size)


# ---- fractional pooling


@op(
    name="_fractional_max_pool",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    saves=("input", 1),
    zero_second=True,
    backward=lambda input, samples, kernel, size: f"FractionalMaxPool{len(size)}DBackward0",
    refuse=lambda name, dtype: NotImplementedError(
        f"\"check_uniform_bounds\" not implemented for '{dtype.scalar_name}'"
    ),
    samples=[
        Sample(
            shapes=((1, 1, 5, 5),), values=([[[0.3, 0.6]]],), args=((2, 2), (3, 3)), gradient=False,
            dtypes=("float32", "float64"),
        )
    ], autocast={"cpu": Autocast.FLOAT32},
)  # fmt: skip
def fractional_max_pool(
    input: Array, samples: Array, kernel: Sequence[int], size: Sequence[int]
) -> tuple[Array, Array]:
    """The largest element of each window and its position in the flattened image; windows begin where ``samples`` say.

    ``samples``: shape (N, C, dimensions), numbers in [0, 1).
    """
    count = len(size)
    lengths = input.shape[input.ndim - count :]
    shape = (*input.shape[: input.ndim - count], *size)
    if 0 in size:
        return jnp.zeros(shape, input.dtype), jnp.zeros(shape, np.int64)
    lead = samples.shape[:2]
    flat = input.reshape(*lead, math.prod(lengths))
    axes = []
    for axis, (length, k, n) in enumerate(zip(lengths, kernel, size, strict=True)):
        # PyTorch gives the samples to the dimensions in another order in 2-d, (width, height), than in 3-d, (time, height, width)
        sample = samples[..., count - 1 - axis if count == 2 else axis]
        begins = _begins(sample, length, k, n)
        axes.append(begins[..., None] + np.arange(k))  # (N, C, n, k)
    place = functools.reduce(
        _combined, list(zip(axes, lengths, strict=True))[1:], axes[0].reshape(*lead, size[0] * kernel[0])
    )
    # (N, C, (n0 k0) (n1 k1) ...) in row-major order -> windows last
    split = place.reshape(*lead, *(d for n, k in zip(size, kernel, strict=True) for d in (n, k)))
    order = (0, 1, *(2 + 2 * i for i in range(count)), *(3 + 2 * i for i in range(count)))
    window = split.transpose(order).reshape(*lead, *size, math.prod(kernel))
    values = jnp.take_along_axis(
        flat, window.reshape(*lead, math.prod(size) * math.prod(kernel)), axis=2, mode="clip"
    ).reshape(window.shape)
    # NaN counts as the largest element, and a later NaN replaces an earlier one.
    nan = jnp.isnan(values)
    last_nan = window.shape[-1] - 1 - jnp.argmax(nan[..., ::-1], axis=-1)
    first_largest = jnp.argmax(jnp.where(nan, -jnp.inf, values).astype(values.dtype), axis=-1)
    best = jnp.where(jnp.any(nan, axis=-1), last_nan, first_largest)[..., None]
    result = jnp.take_along_axis(values, best, axis=-1, mode="clip")[..., 0]
    index = jnp.take_along_axis(window, best, axis=-1, mode="clip")[..., 0]
    return result.reshape(shape), index.reshape(shape)


def _combined(place: Array, following: tuple[Array, int]) -> Array:
    axis, length = following
    lead, count = axis.shape[:2], axis.shape[2] * axis.shape[3]
    return (place[..., None] * length + axis.reshape(*lead, 1, count)).reshape(*lead, place.shape[2] * count)


def _begins(sample: Array, length: int, k: int, n: int) -> Array:
    """Where each of ``n`` windows begins: steps of nearly equal length, shifted at random; the last one ends at the border."""
    last = np.full((*sample.shape, 1), length - k, np.int64)
    if n <= 1:
        return jnp.asarray(last[..., :n])
    kind = sample.dtype
    float32_sample = at_least_float32(sample)
    # PyTorch's kernel computes in the input's dtype, so each result is rounded to it; where it falls decides at which element a
    # window begins.
    alpha = jnp.asarray((length - k) / (n - 1), kind).astype(float32_sample.dtype)
    number = np.arange(n - 1).astype(float32_sample.dtype)
    steps = (
        ((number + float32_sample[..., None]).astype(kind).astype(float32_sample.dtype) * alpha)
        .astype(kind)
        .astype(np.int64)
    )
    shift = (float32_sample * alpha).astype(kind).astype(np.int64)
    return jnp.concatenate([steps - shift[..., None], jnp.asarray(last)], axis=-1)
