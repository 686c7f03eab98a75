"""Ways to write a convolution for XLA, and the choice of the fastest one, as measured by ``python -m benchmarks.lowerings``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..engine.geometry import Geometry
from .half_precision import in_float32, is_half, widened
from .matmul_precision import precision, precision_of_convolutions

# The ways that write out one term for each place of the kernel are used up to this number of places.
MAX_PLACES = 49


def by_xla(first: Array, second: Array, geometry: Geometry, wide: bool = False) -> Array:
    """The result of a geometry, of the two other arrays in the order x, w, y, as XLA's convolution.

    ``wide``: the result stays in float32, in which half types are computed.
    """
    way = functools.partial(_WAYS[geometry.result], geometry=geometry, exactly=precision())
    return way(widened(first), widened(second)) if wide else in_float32(way)(first, second)


def by_cudnn(first: Array, second: Array, geometry: Geometry, wide: bool = False) -> Array:
    """As ``by_xla``, for NVIDIA's GPUs. cuDNN sums half types in float32 and rounds the sums: to keep them XLA would widen the images."""
    out = _WAYS[geometry.result](first, second, geometry, precision_of_convolutions())
    return widened(out) if wide else out


def by_tpu(first: Array, second: Array, geometry: Geometry, wide: bool = False) -> Array:
    """As ``by_xla``, for TPUs, whose unit for products takes half types as they are and gives sums in float32."""
    if not is_half(first):
        return by_xla(first, second, geometry, wide)
    out = _WAYS[geometry.result](first, second, geometry, None, np.dtype(np.float32))
    return out if wide else out.astype(first.dtype)


def for_processors(first: Array, second: Array, geometry: Geometry, wide: bool = False) -> Array:
    """As ``by_xla``, written in the way that XLA's code for CPUs computes fastest."""
    if wide:
        first, second = widened(first), widened(second)
    way = by_xla
    if geometry.result != "y" and not jnp.issubdtype(first.dtype, jnp.inexact):
        pass  # JAX transposes no function of integers. A transposed convolution is computed as a gradient, and may be of integers.
    elif _is_depthwise(geometry) and geometry.result != "w":
        way = in_float32(by_places)
    elif len(geometry.stride) == 3 and geometry.w[2] <= MAX_PLACES:
        way = in_float32(by_slices)
    return way(first, second, geometry)


# Each takes the precision of the products, and the dtype of their sums where it is not that of the arrays.


def _forward(x: Array, w: Array, geometry: Geometry, exactly: Any, sums: np.dtype | None = None) -> Array:
    return lax.conv_general_dilated(
        x, w, geometry.stride, _pads(geometry), None, geometry.dilation, _layout(x),
        feature_group_count=geometry.groups, precision=exactly, preferred_element_type=sums,
    )  # fmt: skip


def _image_gradient(w: Array, y: Array, geometry: Geometry, exactly: Any, sums: np.dtype | None = None) -> Array:
    """The gradient of x: a convolution of ``y``, with zeros between its elements for the stride, with the kernels reversed."""
    outputs, inputs, *kernel = w.shape
    groups, ones = geometry.groups, (1,) * len(kernel)
    turned = jnp.flip(w, tuple(range(2, w.ndim))).reshape(groups, outputs // groups, inputs, *kernel)
    swapped = jnp.swapaxes(turned, 1, 2).reshape(groups * inputs, outputs // groups, *kernel)
    pads = []
    for n, k, m, s, p, d in zip(
        geometry.x[2:], kernel, y.shape[2:], geometry.stride, geometry.before, geometry.dilation, strict=True
    ):
        pads.append((d * (k - 1) - p, n - (m - 1) * s - 1 + p))
    return lax.conv_general_dilated(
        y, swapped, ones, pads, geometry.stride, geometry.dilation, _layout(y),
        feature_group_count=groups, precision=exactly, preferred_element_type=sums,
    )  # fmt: skip


def _kernel_gradient(x: Array, y: Array, geometry: Geometry, exactly: Any, sums: np.dtype | None = None) -> Array:
    """The gradient of w: a convolution of ``x`` with ``y`` as the kernel, stride and dilation exchanged, summed over images."""
    spec = (1, 0, *range(2, x.ndim))
    return lax.conv_general_dilated(
        x, y, geometry.dilation, _pads(geometry), None, geometry.stride, lax.ConvDimensionNumbers(spec, spec, spec),
        batch_group_count=geometry.groups, precision=exactly, preferred_element_type=sums,
    )  # fmt: skip


_WAYS = {"y": _forward, "x": _image_gradient, "w": _kernel_gradient}


def _pads(geometry: Geometry) -> list[tuple[int, int]]:
    return list(zip(geometry.before, geometry.after, strict=True))


def _layout(x: Array) -> tuple[str, str, str]:
    letters = "DHW"[5 - x.ndim :]
    return "NC" + letters, "OI" + letters, "NC" + letters


def _is_depthwise(geometry: Geometry) -> bool:
    """Whether each channel has one kernel of its own, of few places."""
    places = 1
    for k in geometry.w[2:]:
        places *= k
    return geometry.w[0] == geometry.groups > 1 and geometry.w[1] == 1 and places <= MAX_PLACES


def by_places(first: Array, second: Array, geometry: Geometry) -> Array:
    """A depthwise convolution as a sum of one product for each place of the kernel, which XLA computes in one pass.

    Its own code for groups takes a hundred times as long.
    """

    def forward(x: Array, w: Array) -> Array:
        wide = _padded(x, geometry, len(geometry.stride))
        total = None
        for place in product(*map(range, w.shape[2:])):
            term = _met(wide, geometry, place) * w[(slice(None), 0, *place)].reshape(-1, *(1,) * len(place))
            total = term if total is None else total + term
        assert total is not None
        return total

    return _solved(forward, first, second, geometry)


def by_slices(first: Array, second: Array, geometry: Geometry) -> Array:
    """A convolution in three dimensions as a sum of one in two dimensions for each slice of the kernel."""
    n, o, depth = *geometry.y[:2], geometry.y[2]
    flat = geometry._replace(
        result="y", x=(n * depth, geometry.x[1], *geometry.x[3:]), w=(*geometry.w[:2], *geometry.w[3:]),
        y=(n * depth, o, *geometry.y[3:]), stride=geometry.stride[1:], before=geometry.before[1:],
        dilation=geometry.dilation[1:],
    )  # fmt: skip

    def forward(x: Array, w: Array) -> Array:
        wide = _padded(x, geometry, 1)
        total = None
        for place in range(w.shape[2]):
            images = jnp.moveaxis(_met(wide, geometry, (place,)), 2, 1).reshape(flat.x)
            part = _forward(images, w[:, :, place], flat, precision())
            total = part if total is None else total + part
        assert total is not None
        return jnp.moveaxis(total.reshape(n, depth, o, *flat.y[2:]), 1, 2)

    return _solved(forward, first, second, geometry)


def _padded(x: Array, geometry: Geometry, count: int) -> Array:
    """The images with zeros around them in the first dimensions, so many; where padding is negative, a part is left out."""
    pads = [(low, high, 0) for low, high in _pads(geometry)[:count]]
    return lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0)] * 2 + pads + [(0, 0, 0)] * (x.ndim - 2 - count))


def _met(wide: Array, geometry: Geometry, place: tuple[int, ...]) -> Array:
    """The elements of padded images that one place of the kernel is multiplied with."""
    steps = zip(place, geometry.dilation, geometry.stride, geometry.y[2:], strict=False)
    return wide[(slice(None), slice(None), *(slice(p * d, p * d + (m - 1) * s + 1, s) for p, d, s, m in steps))]


def _solved(forward: Callable[[Array, Array], Array], first: Array, second: Array, geometry: Geometry) -> Array:
    """A convolution that is written as a function of x and w, or the gradient that the geometry names."""
    if geometry.result == "y":
        return forward(first, second)
    like = jax.ShapeDtypeStruct(geometry.shape(geometry.result), first.dtype)
    if geometry.result == "x":
        return jax.linear_transpose(lambda x: forward(x, first), like)(second)[0]
    return jax.linear_transpose(lambda w: forward(first, w), like)(second)[0]
