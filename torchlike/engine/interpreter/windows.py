"""Rules of pooling: reductions over windows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

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
