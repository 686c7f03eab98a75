"""Images made larger or smaller: nearest, linear, cubic and Lanczos interpolation, with and without antialiasing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core.dtypes import from_numpy_dtype
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, Saves, op
from ...engine.aval import check_countable
from ...engine.kernel import only_shapes_matter
from ...numerics.resample_weights import Taps, resample

# The free coefficient of cubic convolution (Keys, 1981). With antialiasing PyTorch takes PIL's.
CUBIC, CUBIC_ANTIALIASED = -0.75, -0.5
_SHOWN = {
    "nearest": "Nearest",
    "nearest-exact": "NearestExact",
    "linear": "Linear",
    "cubic": "Bicubic",
    "lanczos": "Lanczos",
}
_LINEAR = {1: "Linear1D", 2: "Bilinear2D", 3: "Trilinear3D"}


def _backward(input: object, size: Sequence[int], scales: object, mode: str, *others: object) -> str:
    count = len(size)
    kind = _LINEAR[count] if mode == "linear" else f"{_SHOWN[mode]}{count}D"
    return f"Upsample{kind}{'Aa' if others[1] else ''}Backward0"


@op(
    name="_upsample",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    saves=Saves.NOTHING,
    backward=_backward,
    samples=[
        Sample(shapes=((1, 2, 5),), args=((8,), (None,), mode, False, False)) for mode in ("nearest", "nearest-exact")
    ]
    + [
        Sample(shapes=((1, 2, 5, 4),), args=((8, 3), (None, 0.8), "linear", True, False)),
        Sample(shapes=((1, 2, 5, 4),), args=((8, 3), (None, None), "cubic", False, False)),
        Sample(shapes=((1, 2, 7, 4),), args=((3, 6), (None, None), "linear", False, True)),
    ],
    autocast={"cuda": Autocast.FLOAT32},
)
def upsample(
    input: Array,
    size: tuple[int, ...],
    scales: Any,
    mode: str,
    align_corners: bool,
    antialias: bool,
) -> Array:
    """Resamples the last dimensions, one after the other.

    Args:
        size: of the result's last dimensions.
        scales: of each, where a scale factor was given that the positions follow; else None.
        mode: "nearest", "nearest-exact", "linear", "cubic"; "lanczos" with antialiasing.
        antialias: widen the filter where the image becomes smaller.
    """
    _check(input, size, mode, antialias)
    kind = input.dtype
    shape = (*input.shape[: input.ndim - len(size)], *size)
    check_countable(shape, kind.itemsize)
    if only_shapes_matter():
        return jnp.broadcast_to(input[(..., *[slice(1)] * len(size))], shape)
    half = kind.kind not in "iubc" and kind.itemsize < 4
    nearest = mode.startswith("nearest")
    small = kind.kind in "iub" and not nearest  # of 8-bit images
    x = input.astype(jnp.float32) if half or small else input
    # Positions are computed in the dtype that PyTorch computes them in: rounding decides which element is the nearest.
    opmath = np.dtype(np.float64 if kind.name == "float64" and not nearest else np.float32)
    first = input.ndim - len(size)
    for axis in reversed(range(first, input.ndim)):
        length, new_length, scale = input.shape[axis], size[axis - first], scales[axis - first]
        if nearest:
            if mode == "nearest" and len(size) == 2 and new_length in (length, 2 * length):
                # of images alone, and whatever the scale factor is
                x = x if new_length == length else jnp.repeat(x, 2, axis=axis)
                continue
            x = _nearest(x, axis, taps_of(length, new_length, scale, mode, False, False, opmath))
        else:
            x = resample(x, taps_of(length, new_length, scale, mode, align_corners, antialias, opmath), axis)
        if small:  # PyTorch keeps 8 bits between the two passes
            x = jnp.clip(jnp.floor(x + 0.5), 0, 255)
    return x.astype(kind)


def _check(input: Array, size: tuple[int, ...], mode: str, antialias: bool) -> None:
    count = len(size)
    lengths = input.shape[input.ndim - count :]
    if min(*lengths, *size) <= 0:
        names = ["D", "H", "W"][3 - count :]
        if count == 1:
            sizes_text = f"(W: {lengths[0]}) and output (W: {size[0]})"
        else:
            input_sizes, output_sizes = (
                ", ".join(f"{n}: {v}" for n, v in zip(names, sizes, strict=True)) for sizes in (lengths, size)
            )
            sizes_text = f"({input_sizes}) output ({output_sizes})"
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input {sizes_text}")
    if 0 in input.shape[1:]:
        raise RuntimeError(
            f"Non-empty {input.ndim}D data tensor expected but got a tensor with sizes {list(input.shape)}"
        )
    if (input.dtype.kind in "iubc") and (input.dtype != np.uint8 or (count != 2 and mode == "linear")):
        kind = "nearest" if mode.startswith("nearest") else mode
        if antialias:
            kernel = "compute_index_ranges_weights"
        elif count == 2 and mode != "cubic":
            kernel = f"upsample_{kind.replace('linear', 'bilinear')}2d_channels_last"
        else:
            kernel = f"compute_indices_weights_{kind}"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{from_numpy_dtype(input.dtype).scalar_name}'")


def _step(length: int, new_length: int, scale: float | None, align_corners: bool, opmath: np.dtype) -> Any:
    """How far apart the results lie in the input."""
    of = opmath.type
    if align_corners:
        return of(length - 1) / of(new_length - 1) if new_length > 1 else of(0)
    return of(1.0 / scale) if scale is not None and scale > 0 else of(length) / of(new_length)


def _positions(new_length: int, step: Any, align_corners: bool) -> np.ndarray:
    number = np.arange(new_length).astype(type(step))
    return number * step if align_corners else step * (number + type(step)(0.5)) - type(step)(0.5)


def taps_of(
    length: int,
    new_length: int,
    scale: float | None,
    mode: str,
    align_corners: bool,
    antialias: bool,
    opmath: np.dtype[np.generic],
) -> Taps:
    """The input elements that each of the ``new_length`` results along an axis is made of, and their weights."""
    if mode.startswith("nearest"):
        return _nearest_taps(length, new_length, scale, mode == "nearest-exact", opmath)
    if antialias:
        return _antialiased(length, new_length, scale, mode, align_corners, opmath)
    return (_linear if mode == "linear" else _cubic)(length, new_length, scale, align_corners, opmath)


def _nearest_taps(length: int, new_length: int, scale: float | None, exact: bool, opmath: np.dtype) -> Taps:
    step = _step(length, new_length, scale, False, opmath)
    number = np.arange(new_length).astype(opmath)
    places = np.floor((number + opmath.type(0.5)) * step if exact else number * step)
    return Taps(np.minimum(places.astype(np.int64), length - 1)[:, None], None)


def _nearest(x: Array, axis: int, taps: Taps) -> Array:
    length, new_length = x.shape[axis], len(taps.places)
    times = new_length // length
    if new_length == times * length and (taps.places[:, 0] == np.repeat(np.arange(length), times)).all():
        return jnp.repeat(x, times, axis=axis)  # a broadcast, whose gradient is a sum
    return resample(x, taps, axis)


def _linear(
    length: int, new_length: int, scale: float | None, align_corners: bool, opmath: np.dtype[np.generic]
) -> Taps:
    step = _step(length, new_length, scale, align_corners, opmath)
    # Without ``align_corners`` the first positions lie before the first element, and PyTorch moves them onto it.
    at = np.maximum(_positions(new_length, step, align_corners), opmath.type(0))
    low = np.minimum(at.astype(np.int64), length - 1)
    share = np.clip(at - low.astype(opmath), 0, 1).astype(opmath)
    return Taps(np.stack([low, np.minimum(low + 1, length - 1)], 1), np.stack([1 - share, share], 1))


def _keys(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys' cubic convolution at a distance, with coefficient ``a``."""
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0)).astype(distance.dtype)


def _cubic(
    length: int, new_length: int, scale: float | None, align_corners: bool, opmath: np.dtype[np.generic]
) -> Taps:
    at = _positions(new_length, _step(length, new_length, scale, align_corners, opmath), align_corners)
    low = np.minimum(np.floor(at).astype(np.int64), length - 1)
    share = np.clip(at - low.astype(opmath), 0, 1).astype(opmath)
    offsets = np.arange(-1, 3)
    places = np.clip(low[:, None] + offsets, 0, length - 1)
    return Taps(places, _keys(share[:, None] - offsets.astype(opmath), CUBIC))


def _lanczos(distance: np.ndarray) -> np.ndarray:
    """A sinc in the window of one three times as wide."""
    return np.where(np.abs(distance) < 3, np.sinc(distance) * np.sinc(distance / 3), 0)


_REACH = {"linear": 1, "cubic": 2, "lanczos": 3}  # of the filter where the image grows
_FILTERS = {
    "linear": lambda distance: np.maximum(1 - np.abs(distance), 0),
    "cubic": lambda distance: _keys(distance, CUBIC_ANTIALIASED),
    "lanczos": _lanczos,
}


def _antialiased(
    length: int, new_length: int, scale: float | None, mode: str, align_corners: bool, opmath: np.dtype
) -> Taps:
    of = opmath.type
    step = _step(length, new_length, scale, align_corners, opmath)
    reach = of(_REACH[mode])
    support, shrink = (reach * step, of(1) / step) if step >= 1 else (reach, of(1))
    centre = step * (np.arange(new_length).astype(opmath) + of(0.5))
    begin = np.maximum((centre - support + of(0.5)).astype(np.int64), 0)
    end = np.minimum((centre + support + of(0.5)).astype(np.int64), length)
    taps = math.ceil(support) * 2 + 1
    places = begin[:, None] + np.arange(taps)
    inside = places < end[:, None]
    distance = (places.astype(opmath) - centre[:, None] + of(0.5)) * shrink
    weights = np.where(inside, _FILTERS[mode](distance), 0).astype(opmath)
    total = weights.sum(1, keepdims=True)
    weights = np.where(total != 0, weights / np.where(total != 0, total, 1), weights).astype(opmath)
    # A place of -1 is none: the number of taps is the same for all results, and some need fewer.
    return Taps(np.where(inside, places, -1), weights)
