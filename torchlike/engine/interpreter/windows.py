"""Rules of pooling: reductions over windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .fused import elements
from .products import with_cost
from .rules import Compute, Parameters, Rule, ShapedDtype, Unsupported, require_native, rule


def _window(function: np.ufunc) -> Rule:
    def build(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
        (aval,) = ins
        require_native(aval)
        dtype, shape = aval.dtype, outs[0].shape
        window, strides, padding = params["window_dimensions"], params["window_strides"], params["padding"]
        holes = params.get("base_dilation") or (1,) * len(window)
        dilation = params.get("window_dilation") or (1,) * len(window)
        if 0 in aval.shape or 0 in shape or any(low < 0 or high < 0 for low, high in padding):
            raise Unsupported("empty windows")
        if prod(window) * prod(shape) * dtype.itemsize > 2**28:
            raise Unsupported("large windows")
        if function is np.add:
            start: Any = 0
        elif dtype.kind == "f":
            start = -np.inf if function is np.maximum else np.inf
        elif dtype.kind == "b":
            start = function is np.minimum
        else:
            start = np.iinfo(dtype).min if function is np.maximum else np.iinfo(dtype).max
        spread_sizes = [(n - 1) * h + 1 for n, h in zip(aval.shape, holes, strict=True)]
        padded = [n + low + high for n, (low, high) in zip(spread_sizes, padding, strict=True)]
        plain = padded == list(aval.shape)
        inside = tuple(slice(low, low + n, h) for n, h, (low, _) in zip(spread_sizes, holes, padding, strict=True))
        moving = [d for d, n in enumerate(window) if n > 1]
        axes = tuple(range(len(shape), len(shape) + len(moving)))

        def reduce(x: np.ndarray) -> np.ndarray:
            if not plain:
                padded_array = np.full(padded, start, dtype)
                padded_array[inside] = x
                x = padded_array
            steps = [s * n for s, n in zip(x.strides, strides, strict=True)]
            within = [x.strides[d] * dilation[d] for d in moving]
            windows = as_strided(x, (*shape, *[window[d] for d in moving]), (*steps, *within), writeable=False)
            return function.reduce(windows, axes, dtype) if function is np.add else function.reduce(windows, axes)

        return reduce

    return build


rule("reduce_window_sum")(_window(np.add))
rule("reduce_window_max")(_window(np.maximum))
rule("reduce_window_min")(_window(np.minimum))


# ---- the derivative of pooling by the largest: see ``numerics/pooling.py``

# What ``elements.c`` takes for each element of the image, on two cores. A program takes three times as long.
SPREAD_SECONDS = 2e-9


class _Places:
    """Where the largest element of each window lies in an image that has room around it for all windows."""

    def __init__(self, image: ShapedDtype, windows: Any) -> None:
        self.windows = windows
        self.lead = tuple(image.shape[: len(image.shape) - len(windows.sizes)])
        sizes = image.shape[len(self.lead) :]
        spans = [(n - 1) * s + k for n, s, k in zip(windows.sizes, windows.stride, windows.kernel, strict=True)]
        self.shape = (*self.lead, *[max(p + n, s) for p, n, s in zip(windows.before, sizes, spans, strict=True)])
        self.inside = (..., *[slice(p, p + n) for p, n in zip(windows.before, sizes, strict=True)])

    def within(self, image: np.ndarray, around: object) -> np.ndarray:
        result = np.full(self.shape, around, image.dtype)
        result[self.inside] = image
        return result

    def parts(self, image: np.ndarray) -> Iterator[np.ndarray]:
        """For each place in a window, the elements there."""
        for place in np.ndindex(*self.windows.kernel):
            steps = zip(place, self.windows.sizes, self.windows.stride, strict=True)
            yield image[(..., *[slice(at, at + (n - 1) * s + 1, s) for at, n, s in steps])]

    def largest(self, image: np.ndarray) -> np.ndarray:
        """The number of the first place with the largest element, or of the last with NaN; -1 where a window is beside the image."""
        parts = self.parts(self.within(image, 0))
        inside = self.parts(self.within(np.ones(image.shape, np.bool_), False))
        best = np.zeros((*self.lead, *self.windows.sizes), image.dtype)
        numbers = np.full(best.shape, -1, np.int32)
        for number, (part, exists) in enumerate(zip(parts, inside, strict=True)):
            better = exists & ((numbers < 0) | (part > best) | (part != part))  # NaN differs from itself
            np.copyto(best, part, where=better)
            numbers[better] = number
        return numbers


@rule("torchlike_picked")
def _picked(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    require_native(*ins)
    places = _Places(ins[0], params["windows"])

    def pick(image: np.ndarray, other: np.ndarray) -> np.ndarray:
        numbers = places.largest(image)
        result = np.zeros(numbers.shape, other.dtype)
        for number, part in enumerate(places.parts(places.within(other, 0))):
            np.copyto(result, part, where=numbers == number)
        return result

    return pick


@rule("torchlike_spread")
def _spread(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    require_native(*ins)
    windows, image = params["windows"], ins[0]
    dims = len(windows.sizes)
    shape = tuple(image.shape)
    in_order = dims <= 2 and prod(shape[-dims:]) < 2**31
    if elements is not None and in_order and {aval.dtype for aval in ins} == {np.dtype(np.float32)}:
        flat = (prod(shape[:-dims]), *(1,) * (2 - dims))  # [images, 1 or height, width]
        numbers = [n for pairs in (windows.kernel, windows.stride, windows.before) for n in ((1, *pairs)[-2:])]
        if dims == 1:
            numbers[4] = 0  # no room above the only row
        of_image, of_numbers = (*flat, *shape[-dims:]), (*flat, *windows.sizes)

        def spread_largest(image: np.ndarray, numbers_there: np.ndarray) -> np.ndarray:
            result = np.zeros(shape, np.float32)
            image, there = np.ascontiguousarray(image), np.ascontiguousarray(numbers_there)
            elements.spread(result.reshape(of_image), image.reshape(of_image), there.reshape(of_numbers), *numbers)
            return result

        return with_cost(spread_largest, SPREAD_SECONDS * prod(shape))
    places = _Places(image, windows)

    def spread(image: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        where = places.largest(image)
        result = np.zeros(places.shape, numbers.dtype)
        for number, part in reversed([*enumerate(places.parts(result))]):  # the order in which a program adds
            part += np.where(where == number, numbers, numbers.dtype.type(0))
        return result[places.inside]

    return spread
