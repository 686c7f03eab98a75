"""Rules of convolutions, which matrix products compute where oneDNN is not installed, and of LSTM layers, which oneDNN computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .. import onednn
from ..geometry import Geometry
from .fused import elements
from .products import BLAS_SPEED, LOOP_SPEED, compute_dtype, converted, with_cost
from .rules import Compute, Parameters, ShapedDtype, Unsupported, rule

# oneDNN's speed, in multiplications and additions per second; a rough figure for estimates of cost.
ONEDNN_SPEED = 8e10
# XLA computes a convolution whose kernel has more places than this.
MAX_PLACES = 1000
# Bytes of columns that are made at a time: few enough images that the columns stay in the cache.
COLUMN_BYTES = 2**21


@rule("torchlike_convolution")
def _convolution(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    geometry: Geometry = params["geometry"]
    dtype = outs[0].dtype
    computation = onednn.Convolution(geometry, np.dtype(ins[0].dtype), np.dtype(dtype))
    if onednn.record_of(computation) is not None:
        return with_cost(lambda *arrays: _by_onednn(computation, arrays)[0], geometry.products / ONEDNN_SPEED + 3e-5)
    within = compute_dtype(*ins, *outs)
    places = prod(geometry.w[2:])
    if places > MAX_PLACES:
        raise Unsupported("a convolution of a large kernel")
    columns = geometry.x[0] * geometry.x[1] * places * prod(geometry.y[2:])
    seconds = geometry.products / (BLAS_SPEED if within.kind in "fc" else LOOP_SPEED) + 1e-9 * columns + 3e-5
    compute = _Columns(geometry, within).compute(geometry.result)
    if any(aval.dtype != within for aval in [*ins, *outs]):
        compute = converted(compute, within, dtype)
    return with_cost(compute, seconds)


def _by_onednn(computation: onednn.Convolution | onednn.Lstm, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Its threads need the cores on which ours would wait."""
    if elements is not None:
        elements.give_way()
    return onednn.compute_arrays(computation, arrays)


class _Columns:
    """Computes convolutions as matrix products with columns. A column holds the elements of the image under the kernel at one place of the
    result (the method called im2col).
    """

    def __init__(self, geometry: Geometry, dtype: np.dtype) -> None:
        self.geometry, self.dtype = geometry, dtype
        images, channels, *sizes = geometry.x
        self.groups = geometry.groups
        self.kernel, self.result = geometry.w[2:], geometry.y[2:]
        self.inner = geometry.w[1] * prod(self.kernel)
        column_bytes = channels * prod(self.kernel) * prod(self.result) * dtype.itemsize
        step = max(1, COLUMN_BYTES // max(column_bytes, 1))
        self.chunks = [slice(first, min(first + step, images)) for first in range(0, images, step)]
        # The sizes of the padded image, as far as the kernel reads it. Negative padding crops the image.
        self.padded = [
            max((m - 1) * s + d * (k - 1) + 1, p + n)
            for n, k, m, s, p, d in zip(
                sizes, self.kernel, self.result, geometry.stride, geometry.before, geometry.dilation, strict=True
            )
        ]
        self.inside = (..., *(slice(p, p + n) for p, n in zip(geometry.before, sizes, strict=True)))
        self.plain = self.padded == list(sizes)

    def compute(self, result: str) -> Callable[..., np.ndarray]:
        return {"y": self.forward, "x": self.of_images, "w": self.of_kernels}[result]

    def columns(self, x: np.ndarray) -> np.ndarray:
        """Returns the columns, of shape (images, groups, channels of a group × places of the kernel, places of the result)."""
        if not self.plain:
            padded_images = np.zeros((*x.shape[:2], *self.padded), self.dtype)
            padded_images[self.inside] = x
            x = padded_images
        moves = [s * d for s, d in zip(x.strides[2:], self.geometry.dilation, strict=True)]
        steps = [s * n for s, n in zip(x.strides[2:], self.geometry.stride, strict=True)]
        windows = as_strided(
            x, (*x.shape[:2], *self.kernel, *self.result), (*x.strides[:2], *moves, *steps), writeable=False
        )
        return windows.reshape(x.shape[0], self.groups, self.inner, prod(self.result))

    def forward(self, x: np.ndarray, w: np.ndarray) -> np.ndarray:
        out = np.empty(self.geometry.y, self.dtype)
        parts = out.reshape(out.shape[0], self.groups, -1, prod(self.result))
        w = w.reshape(self.groups, -1, self.inner)
        for chunk in self.chunks:
            np.matmul(w, self.columns(x[chunk]), out=parts[chunk])
        return out

    def of_images(self, w: np.ndarray, y: np.ndarray) -> np.ndarray:
        count, channels = self.geometry.x[:2]
        padded_images = np.zeros((count, channels, *self.padded), self.dtype)
        y = y.reshape(count, self.groups, -1, prod(self.result))
        w = w.reshape(self.groups, -1, self.inner).swapaxes(1, 2)
        spans = list(zip(self.geometry.dilation, self.geometry.stride, self.result, strict=True))
        for chunk in self.chunks:
            columns = np.matmul(w, y[chunk]).reshape(-1, channels, *self.kernel, *self.result)
            images = padded_images[chunk]
            for place in np.ndindex(*self.kernel):
                window = tuple(
                    slice(p * d, p * d + (m - 1) * s + 1, s) for p, (d, s, m) in zip(place, spans, strict=True)
                )
                images[(..., *window)] += columns[(slice(None), slice(None), *place)]
        return padded_images if self.plain else padded_images[self.inside]

    def of_kernels(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = np.zeros((self.groups, self.geometry.w[0] // self.groups, self.inner), self.dtype)
        for chunk in self.chunks:
            columns = self.columns(x[chunk]).transpose(1, 0, 3, 2).reshape(self.groups, -1, self.inner)
            images_part = y[chunk].reshape(columns.shape[1] // prod(self.result), self.groups, -1, prod(self.result))
            out += np.matmul(images_part.transpose(1, 2, 0, 3).reshape(self.groups, -1, columns.shape[1]), columns)
        return out.reshape(self.geometry.w)


@rule("torchlike_lstm")
def _lstm(params: Parameters, ins: object, outs: object) -> Compute:
    of: onednn.Lstm = params["of"]
    if onednn.record_of(of) is None:
        raise Unsupported("an LSTM without oneDNN")
    passes = 2 if of.part == "gradients" else 1
    return with_cost(lambda *arrays: _by_onednn(of, arrays), passes * of.products / ONEDNN_SPEED + 3e-5)
