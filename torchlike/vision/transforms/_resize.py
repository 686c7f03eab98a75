"""Resizing of pictures that are tensors."""

from __future__ import annotations

import numpy as np

from ..._core import dtypes
from ..._core.tensor import Tensor, from_host
from ...nn.functional import interpolate
from ...numerics.resample_weights import Taps, resample_on_host
from ...ops.nn.upsample import taps_of
from ...utils.data._host import host_array

__all__ = ["resized"]

_KINDS = {"nearest": "nearest", "nearest-exact": "nearest-exact", "bilinear": "linear", "bicubic": "cubic"}


def resized(img: Tensor, size: tuple[int, int], mode: str, antialias: bool, bytes_between: bool = False) -> Tensor:
    """Pictures ``(..., H, W)`` of this height and width, in their own dtype: integers are rounded.

    On the host it compiles nothing, since the pictures of a dataset have many sizes.

    Args:
        bytes_between: whether bytes are rounded between both directions, too, as PyTorch's own resizing of bytes does.
    """
    antialias = antialias and mode in ("bilinear", "bicubic")
    bytes_ = img.dtype is dtypes.uint8
    array = host_array(img) if mode in _KINDS else None
    if array is None:
        return _on_device(img, size, mode, antialias)
    if bytes_between and bytes_ and mode in ("bilinear", "bicubic"):
        return from_host(_resized_bytes(array, size, mode, antialias))
    kind = np.dtype(np.float64 if array.dtype == np.float64 else np.float32)
    resampled = array.astype(kind, copy=False)
    for axis in (-1, -2):
        taps = taps_of(resampled.shape[axis], size[axis], None, _KINDS[mode], False, antialias, kind)
        resampled = resample_on_host(resampled, taps, axis)
    if mode == "bicubic" and bytes_:
        resampled = resampled.clip(0, 255)
    return from_host((np.rint(resampled) if array.dtype.kind in "iub" else resampled).astype(array.dtype))


def _resized_bytes(array: np.ndarray, size: tuple[int, int], mode: str, antialias: bool) -> np.ndarray:
    """As PyTorch resizes bytes: by weights that are whole numbers of 16 bits, and to bytes after each direction."""
    for axis in (-1, -2):
        if array.shape[axis] == size[axis]:
            continue
        places, weights = taps_of(
            array.shape[axis], size[axis], None, _KINDS[mode], False, antialias, np.dtype(np.float64)
        )
        assert weights is not None
        bits = next(bits for bits in range(23) if bits == 22 or int(0.5 + weights.max() * 2 ** (bits + 1)) >= 2**15)
        integer_taps = Taps(places, np.trunc(weights * 2**bits + np.copysign(0.5, weights)))
        sums = resample_on_host(array.astype(np.float64), integer_taps, axis)  # whole numbers, exact
        array = np.floor((sums + 2 ** (bits - 1)) / 2**bits).clip(0, 255).astype(np.uint8)
    return array


def _on_device(img: Tensor, size: tuple[int, int], mode: str, antialias: bool) -> Tensor:
    dtype = img.dtype
    x = img if dtype in (dtypes.float32, dtypes.float64) else img.float()
    x = x.reshape(-1, 1, *img.shape[-2:])
    corners = False if mode.startswith("bi") else None
    x = interpolate(x, size, mode=mode, align_corners=corners, antialias=antialias)
    if mode == "bicubic" and dtype is dtypes.uint8:
        x = x.clamp(0, 255)
    if dtype.category < dtypes.FLOAT:
        x = x.round()
    return x.to(dtype).reshape(*img.shape[:-2], *size)
