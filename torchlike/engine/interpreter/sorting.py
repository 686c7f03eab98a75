"""Rules of sorting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .rules import Compute, Parameters, ShapedDtype, require_native, rule


@rule("sort")
def _sort(params: Parameters, ins: Sequence[ShapedDtype], outs: object) -> Compute:
    axis, keys = params["dimension"], params["num_keys"]
    require_native(*ins[:keys])

    def sort(*arrays: np.ndarray) -> list[np.ndarray]:
        if len(arrays) == 1:
            return [np.sort(arrays[0], axis, kind="stable")]
        if keys == 1:
            order = np.argsort(arrays[0], axis, kind="stable")
        else:
            order = np.lexsort(arrays[:keys][::-1], axis)
        return [np.take_along_axis(a, order, axis) for a in arrays]

    return sort


@rule("top_k")
def _top_k(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    require_native(*ins)
    k, axis = params["k"], params.get("axis", -1) % len(ins[0].shape)
    size, index_dtype = ins[0].shape[axis], outs[1].dtype
    backward = (slice(None),) * axis + (slice(None, None, -1),)
    first = (slice(None),) * axis + (slice(0, k),)

    def top(x: np.ndarray) -> list[np.ndarray]:
        # Reversing before and after a stable sort keeps equal elements in order when the sort is descending.
        order = size - 1 - np.argsort(x[backward], axis, kind="stable")[backward][first]
        return [np.take_along_axis(x, order, axis), order.astype(index_dtype)]

    return top
