"""Rules of the primitives that rearrange elements."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod
from operator import itemgetter, methodcaller

import numpy as np

from .fused import FLOAT, MIN_ELEMENTS, Pad, elements
from .rules import Compute, Parameters, ShapedDtype, rule, taped

# From so many elements on, one number stands for an array of them. Below, a new array takes less time.
LARGE = 4096


# Functions of C, which are called faster than Python's, and are one object each: a program whose sizes vary has thousands of them.
# Several places of a plan share these, and plans of the same sizes.
@functools.lru_cache(1024)
def reshaped(shape: tuple[int, ...]) -> Compute:
    """A reshape, which need not copy."""
    return methodcaller("reshape", shape)


class Reshape:
    """A reshape of a large array. NumPy copies on one core, where elements must be copied.

    ``merges``: it only makes one dimension of the first two of four, as of a stack of matrices.
    """

    __slots__ = ("_shape", "merges")
    taped = ("view",)

    def __init__(self, shape: tuple[int, ...], merges: bool) -> None:
        self._shape, self.merges = shape, merges

    def __call__(self, x: np.ndarray) -> np.ndarray:
        if not x.flags.c_contiguous:
            try:
                return np.reshape(x, self._shape, copy=False)
            except ValueError:  # the elements of one dimension do not lie at equal distances
                elements_of_x, x = x, np.empty(x.shape, x.dtype)
                elements.copy(x, elements_of_x)
        return x.reshape(self._shape)


_large_reshape = functools.lru_cache(1024)(Reshape)
# From NumPy 2.1 on. Without it nothing says whether elements must be copied but copying them.
_KNOWS_COPIES = np.lib.NumpyVersion(np.__version__) >= "2.1.0"


@functools.lru_cache(1024)
def _broadcast(between: tuple[int, ...], shape: tuple[int, ...], itemsize: int) -> Compute:
    """``itemsize``: of the elements; 0 if arrays of such elements cannot be made over memory."""
    strides, step = [0] * len(shape), itemsize
    for dim in reversed(range(len(shape))):
        if between[dim] != 1:
            strides[dim] = step
            step *= between[dim]
    steps = tuple(strides)

    def broadcast(x: np.ndarray) -> np.ndarray:
        if not itemsize or not x.flags.c_contiguous:
            return np.broadcast_to(x.reshape(between), shape)
        # The same in a sixth of the time. Nobody may write where elements share places.
        spread = np.ndarray(shape, x.dtype, x, 0, steps)
        spread.setflags(write=False)
        return spread

    return taped(broadcast, "view")


@rule("broadcast_in_dim")
def _broadcast_in_dim(params: Parameters, ins: Sequence[ShapedDtype], outs: object) -> Compute:
    shape, places = tuple(params["shape"]), params["broadcast_dimensions"]
    aligned = [1] * len(shape)
    for dim, place in enumerate(places):
        aligned[place] = ins[0].shape[dim]
    between = tuple(aligned)
    if not shape:
        return taped(lambda x: x, "view")
    if between == shape:
        return reshaped(shape)
    if not ins[0].shape and prod(shape) < LARGE:
        return taped(lambda x: np.full(shape, x), "full", shape)
    plain = 0 not in shape and getattr(ins[0].dtype, "kind", "V") in "fiubc"
    return _broadcast(between, shape, ins[0].dtype.itemsize if plain else 0)


@rule("reshape")
def _reshape(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    shape, order = outs[0].shape, params.get("dimensions")
    if not shape:  # NumPy returns scalars where no dimension is left; scalars cannot be reshaped
        return taped(lambda x: np.asarray(x).reshape(()), "view")
    if order is not None:
        return lambda x: x.transpose(order).reshape(shape)
    if elements is not None and _KNOWS_COPIES and ins[0].dtype == FLOAT and prod(shape) >= MIN_ELEMENTS:
        return _large_reshape(shape, len(ins[0].shape) == 4 and len(shape) == 3 and shape[1:] == ins[0].shape[2:])
    return reshaped(shape)


@rule("squeeze", "expand_dims")
def _squeeze(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    return _reshape({}, ins, outs)


@rule("transpose")
def _transpose(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    return methodcaller("transpose", params["permutation"])


@rule("rev")
def _rev(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    dimensions = set(params["dimensions"])
    return itemgetter(
        tuple(slice(None, None, -1) if d in dimensions else slice(None) for d in range(len(ins[0].shape)))
    )


@rule("concatenate")
def _concatenate(params: Parameters, ins: object, outs: object) -> Compute:
    axis = params["dimension"]
    return taped(lambda *arrays: np.concatenate(arrays, axis), "concatenate", axis)


@rule("stack")
def _stack(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    axis, shape, dtype = params["axis"], outs[0].shape, outs[0].dtype
    before = (slice(None),) * axis

    def stack(*arrays: np.ndarray) -> np.ndarray:
        result = np.empty(shape, dtype)
        for n, array in enumerate(arrays):
            result[(*before, n)] = array
        return result

    stack.extra_calls = len(ins)  # type: ignore[attr-defined]
    return stack


@rule("unstack")
def _unstack(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    before, count = (slice(None),) * params["axis"], len(outs)

    def unstack(x: np.ndarray) -> list[np.ndarray]:
        return [x[(*before, n)] for n in range(count)]

    unstack.extra_calls = count  # type: ignore[attr-defined]  # XLA compiles a slice for each
    return taped(unstack, "views")


@rule("tile")
def _tile(params: Parameters, ins: object, outs: object) -> Compute:
    repeats = params["reps"]
    return lambda x: np.tile(x, repeats)


@rule("split")
def _split(params: Parameters, ins: object, outs: object) -> Compute:
    axis, sizes = params["axis"], params["sizes"]
    ends = np.cumsum(sizes).tolist()
    before = (slice(None),) * axis
    indices = [(*before, slice(end - size, end)) for size, end in zip(sizes, ends, strict=True)]
    return taped(lambda x: [x[index] for index in indices], "views")


@rule("slice")
def _slice(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    strides = params["strides"] or (1,) * len(ins[0].shape)
    return itemgetter(tuple(map(slice, params["start_indices"], params["limit_indices"], strides)))


@rule("pad")
def _pad(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    shape = outs[0].shape
    # Slices of the result and of the input that correspond. Negative padding crops the input.
    target, source = [], []
    for size, length, (low, _, interior) in zip(ins[0].shape, shape, params["padding_config"], strict=True):
        step = interior + 1
        # The first element i whose place in the result, low + i * step, is not negative.
        first = max(0, -(low // step)) if low < 0 else 0
        while low + first * step < 0:
            first += 1
        last = max(first, min(size, -((low - length) // step)))
        begin = low + first * step
        source.append(slice(first, last))
        target.append(slice(begin, begin + (last - first - 1) * step + 1 if last > first else begin, step))
    part, whole = [prod(aval.shape) * aval.dtype.itemsize for aval in (ins[0], outs[0])]
    return Pad(shape, tuple(target), tuple(source), part, whole)


@rule("iota")
def _iota(params: Parameters, ins: object, outs: Sequence[ShapedDtype]) -> Compute:
    shape, dtype, dimension = outs[0].shape, outs[0].dtype, params["dimension"]
    along = [1] * len(shape)
    along[dimension] = shape[dimension]
    return lambda *sizes: np.broadcast_to(np.arange(shape[dimension]).astype(dtype).reshape(along), shape)


@rule("empty2")
def _empty(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    shape, dtype = outs[0].shape, outs[0].dtype
    return lambda: np.zeros(shape, dtype)
