"""Rules of the primitives that reduce or accumulate along dimensions."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from .fused import FLOAT, MIN_ELEMENTS, elements
from .rules import Compute, Parameters, Rule, ShapedDtype, Unsupported, require_native, rule, taped
from .shapes import reshaped


@functools.lru_cache(1024)  # plans of many sizes share it
def _along(function: np.ufunc, axes: tuple[int, ...]) -> Compute:
    reduce = function.reduce
    return taped(lambda x: reduce(x, axes), "reduce", function, axes)


def _in_loops(function: np.ufunc, x: ShapedDtype, axes: tuple[int, ...], shape: tuple[int, ...]) -> Compute | None:
    """The reduction of a large array along its first, its last dimensions or both by ``elements.c``; None for others."""
    code, dims = _IN_LOOPS.get(function), [d for d in range(len(x.shape)) if x.shape[d] != 1]
    if elements is None or code is None or x.dtype != FLOAT or prod(x.shape) < MIN_ELEMENTS:
        return None
    left = [d for d in dims if d not in axes]
    if left and left != dims[dims.index(left[0]) : dims.index(left[-1]) + 1]:
        return None
    kept = prod(shape)
    before = prod(x.shape[: left[0]]) if left else 1
    behind = prod(x.shape) // (before * kept)

    def reduce(x: np.ndarray) -> np.ndarray:
        if not x.flags.c_contiguous or not x.flags.aligned:
            if behind == 1 or before > 1:
                return function.reduce(x, axes)
            x = np.require(x, requirements=["C", "A"])  # the bits are those of a pass, which reads any order
        result = np.empty(shape, np.float32)
        if before == 1 or behind == 1:
            elements.reduce(code, result, x, kept if before == 1 else before, before > 1)
        else:
            along_last = np.empty((before, kept), np.float32)
            elements.reduce(code, along_last, x, before * kept, False)
            elements.reduce(code, result, along_last, before, True)
        return result

    return reduce


def _by_slices(function: np.ufunc, x: ShapedDtype, axes: tuple[int, ...]) -> Compute | None:
    """The reduction of a large array of short rows, which NumPy takes one by one: in the same order, all rows at once. None for others."""
    if x.dtype.kind != "f" or not 1 < prod([x.shape[d] for d in axes]) <= _MOST_SLICES or prod(x.shape) < MIN_ELEMENTS:
        return None
    every = itertools.product(*[range(n) if d in axes else [slice(None)] for d, n in enumerate(x.shape)])
    first, second, *rest = every

    def reduce(x: np.ndarray) -> np.ndarray:
        result = function(x[first], x[second])
        for each in rest:
            function(result, x[each], out=result)
        return np.add(result, 0, out=result) if function is np.add else result  # a sum is no negative zero

    return reduce


_MOST_SLICES = 16
# By their numbers in ``elements.c``.
_IN_LOOPS = {np.add: 0, np.maximum: 4, np.minimum: 5}


def _reduction(function: np.ufunc) -> Rule:
    def build(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
        axes, dtype, shape = tuple(params["axes"]), outs[0].dtype, outs[0].shape
        if all(ins[0].shape[axis] == 1 for axis in axes):
            # A sum begins with zero, which takes the sign of a negative zero away.
            signed = function is np.add and dtype.kind in "fcV"
            return (lambda x: (x + 0).reshape(shape)) if signed and axes else reshaped(shape)
        if dtype.itemsize == 2 and dtype.kind in "fV":  # one rounding at the end, as in PyTorch
            return lambda x: np.asarray(function.reduce(x.astype(np.float32), axes)).astype(dtype)
        require_native(*ins)
        large = _in_loops(function, ins[0], axes, shape) or _by_slices(function, ins[0], axes)
        if large is not None:
            return large
        if 0 in ins[0].shape and function.identity is None:
            start = _least(dtype) if function is np.maximum else _greatest(dtype)
            return lambda x: np.full(shape, start, dtype)
        if dtype in (np.int64, np.uint64, np.bool_) or dtype.kind in "fc" or function.identity is None:
            return _along(function, axes)
        return lambda x: function.reduce(x, axes, dtype)  # by default NumPy sums small integers in 64 bits

    return build


def _least(dtype: np.dtype) -> float:
    return -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def _greatest(dtype: np.dtype) -> float:
    return np.inf if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max


for _name, _function in {
    "reduce_sum": np.add, "reduce_prod": np.multiply, "reduce_max": np.maximum, "reduce_min": np.minimum,
    "reduce_and": np.bitwise_and, "reduce_or": np.bitwise_or, "reduce_xor": np.bitwise_xor,
}.items():  # fmt: skip
    rule(_name)(_reduction(_function))


@rule("reduce")
def _reduce(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    """A reduction by a function of two elements that is one of NumPy's."""
    jaxpr, axes = params["jaxpr"], tuple(params["dimensions"])
    name = jaxpr.eqns[0].primitive.name if len(jaxpr.eqns) == 1 else ""
    function = {
        "add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    }.get(name)  # fmt: skip
    if function is None or list(jaxpr.eqns[0].invars) != list(jaxpr.invars) or jaxpr.outvars != jaxpr.eqns[0].outvars:
        raise Unsupported("a reduction by a function of its own")
    require_native(*ins)
    dtype = outs[0].dtype
    return lambda x, start: [function.reduce(x, axes, dtype, initial=start[()])]


def _position(function: Callable[..., np.ndarray]) -> Rule:
    def build(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
        require_native(*ins)
        (axis,) = params["axes"]
        dtype = outs[0].dtype
        smallest = function is np.ndarray.argmin
        return taped(lambda x: function(x, axis).astype(dtype, copy=False), "position", smallest, axis, dtype)

    return build


rule("argmax")(_position(np.ndarray.argmax))
rule("argmin")(_position(np.ndarray.argmin))


def _accumulation(function: np.ufunc) -> Rule:
    def build(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
        require_native(*ins)
        axis, dtype = params["axis"], outs[0].dtype
        if params["reverse"]:
            return lambda x: np.flip(function.accumulate(np.flip(x, axis), axis, dtype), axis)
        return lambda x: function.accumulate(x, axis, dtype)

    return build


for _name, _function in {
    "cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum, "cumlogsumexp": np.logaddexp
}.items():  # fmt: skip
    rule(_name)(_accumulation(_function))
