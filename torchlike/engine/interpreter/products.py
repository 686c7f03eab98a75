"""Rules of matrix products and convolutions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from types import FunctionType

import numpy as np

from ..places import at_places, places_of
from .fused import FLOAT, elements
from .rules import BFLOAT16, HALF_TYPES, NATIVE, Compute, Parameters, ShapedDtype, Unsupported, rule, taped
from .running import NumPyCall
from .shapes import Reshape
from .sharing import known, one_thread, product_of

# Speeds of NumPy's matrix product, in multiplications and additions per second: by BLAS, and by NumPy's loops for other dtypes. Rough.
BLAS_SPEED = 9e10
LOOP_SPEED = 5e8
# XLA computes a convolution that would need more matrix products than this.
MAX_PARTS = 1000
# Products of fewer multiplications OpenBLAS computes on one thread in any case, and these take less than handing half of one to another.
MIN_ALONE, MIN_DIVIDED = 2**18, 1e6
# So many rows are multiplied with a matrix as it lies, where that is not in the cache, see ``_extensions/few_rows.h``. OpenBLAS copies a
# transposed one first.
FEW_ROWS, MIN_OF_FEW = 8, 2**15
# The parts of a larger one. OpenBLAS arranges one of the matrices anew for each, which takes as long as some tens of rows of the other.
WORK_OF_PART, MOST_PARTS, MIN_ROWS = 3e7, 16, 64


def with_cost(function: Compute, seconds: float, in_library: bool = True) -> Compute:
    """The function with an estimate of its seconds, beside the reading and writing of memory.

    A function of Python's, which must be new, gets it itself.

    Args:
        in_library: it spends them in a library that computes as fast within a program.
    """
    own = function if isinstance(function, (FunctionType, Stacked)) else _wrapped(function)
    own.extra_cost = seconds  # type: ignore[attr-defined]
    own.in_library = seconds if in_library else 0.0  # type: ignore[attr-defined]
    return own


def _wrapped(function: Compute) -> Compute:
    own: Compute = lambda *arrays: function(*arrays)  # noqa: E731
    return taped(own, "steps", (function, *range(2)))


_Multiply = Callable[[np.ndarray, np.ndarray], np.ndarray]


@rule("dot_general")
def _dot_general(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    a, b = ins
    dtype = outs[0].dtype
    (sum_a, sum_b), (batch_a, batch_b) = params["dimension_numbers"]
    free_a = [d for d in range(len(a.shape)) if d not in sum_a and d not in batch_a]
    free_b = [d for d in range(len(b.shape)) if d not in sum_b and d not in batch_b]
    batch = [a.shape[d] for d in batch_a]
    rows, columns = [a.shape[d] for d in free_a], [b.shape[d] for d in free_b]
    inner = prod(a.shape[d] for d in sum_a)
    work = prod(batch) * prod(rows) * prod(columns) * inner
    few = prod(rows) <= FEW_ROWS and not batch and a.dtype == b.dtype == dtype == FLOAT
    outer = inner == 1 and not batch and a.dtype == b.dtype == dtype and dtype in NATIVE and work < MIN_ALONE
    # A column times a row, as the gradient of a layer's weights for one sample is: BLAS takes three times as long as NumPy's loop.
    multiply = np.multiply if outer else _multiply(a, b, outs[0], work, MIN_OF_FEW if few else MIN_ALONE)
    if len(a.shape) == 2 and len(b.shape) == 2 and not batch and len(sum_a) == 1:
        # BLAS reads transposed matrices without a copy.
        if (sum_a[0], sum_b[0]) == (1, 0):
            compute = multiply
        elif (sum_a[0], sum_b[0]) == (1, 1):
            compute = taped(lambda x, y: multiply(x, y.T), "dot", multiply, None, None, (1, 0), None, None)
        elif (sum_a[0], sum_b[0]) == (0, 0):
            compute = taped(lambda x, y: multiply(x.T, y), "dot", multiply, (1, 0), None, None, None, None)
        else:
            compute = taped(lambda x, y: multiply(x.T, y.T), "dot", multiply, (1, 0), None, (1, 0), None, None)
    else:
        order_a, order_b = (*batch_a, *free_a, *sum_a), (*batch_b, *sum_b, *free_b)
        stack = (prod(batch),) if batch else ()
        stacks = len(a.shape) == len(b.shape) == 3 and (*batch_a, *batch_b) == (0, 0)
        if stacks and a.dtype == b.dtype == dtype == FLOAT and _is_large(work):
            return with_cost(Stacked(multiply, outs[0].shape, order_a, order_b), work / BLAS_SPEED)
        shape_a, shape_b = (*stack, prod(rows), inner), (*stack, inner, prod(columns))
        shape = (*batch, *rows, *columns)

        def compute(x: np.ndarray, y: np.ndarray, /) -> np.ndarray:
            product = multiply(x.transpose(order_a).reshape(shape_a), y.transpose(order_b).reshape(shape_b))
            return product.reshape(shape)

        taped(compute, "dot", multiply, order_a, shape_a, order_b, shape_b, shape)

    speed = BLAS_SPEED if dtype.kind in "fc" and dtype.itemsize >= 4 else LOOP_SPEED
    return with_cost(compute, work / speed) if work > 1e5 else compute


@rule("torchlike_product")
def _product(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    a, b = params["sums"]
    return _dot_general({"dimension_numbers": (((a,), (b,)), ((), ()))}, ins, outs)


class Stacked:
    """A product of two stacks of matrices. The matrices of a stack may also lie in the first two of four dimensions."""

    __slots__ = ("_multiply", "_shape", "_orders", "extra_cost", "in_library")

    def __init__(self, multiply: _Multiply, shape: tuple[int, ...], *orders: tuple[int, ...]) -> None:
        self._multiply, self._shape, self._orders = multiply, shape, orders

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        product = self._multiply(
            *[
                x.transpose(order) if x.ndim == 3 else x.transpose(0, 1, order[1] + 1, order[2] + 1)
                for x, order in zip(arrays, self._orders, strict=True)
            ]
        )
        return product.reshape(self._shape)


def as_they_lie(calls: Sequence[NumPyCall], kept: Iterable[int]) -> Sequence[NumPyCall]:
    """The calls, where products read stacks of matrices as they lie, without the copy that would put them one after the other.

    Args:
        kept: the slots that are read after all calls.
    """
    merged = {out: x for function, x, out in calls if function.__class__ is Reshape and function.merges}  # pyright: ignore[reportFunctionMemberAccess]
    for slot in kept:
        merged.pop(slot, None)
    for function, inputs, _ in calls if merged else ():
        if function.__class__ is not Stacked:
            for slot in [inputs] if inputs.__class__ is int else places_of(inputs):
                merged.pop(slot, None)
    if not merged:
        return calls
    return [
        (function, at_places([merged.get(slot, slot) for slot in places_of(inputs)]), output)
        if function.__class__ is Stacked
        else (function, inputs, output)
        for function, inputs, output in calls
        if output.__class__ is not int or output not in merged
    ]


def _multiply(a: ShapedDtype, b: ShapedDtype, out: ShapedDtype, work: float, least: float = MIN_ALONE) -> _Multiply:
    dtype = compute_dtype(a, b, out)
    multiply = _by_blas(dtype, work, least)
    return multiply if a.dtype == b.dtype == out.dtype == dtype else converted(multiply, dtype, out.dtype)


def _by_blas(dtype: np.dtype, work: float, least: float = MIN_ALONE) -> _Multiply:
    """NumPy's product of matrices or stacks of them, with our threads in the place of those of its library: see ``sharing.py``.

    Args:
        least: the multiplications from which that is worth while.
    """
    library = product_of({"f": "s", "d": "d"}.get(dtype.char, ""))
    if not _is_large(work, least) or library is None:
        return np.matmul
    function, wide = library
    # The parts follow from the sizes alone, as the bits do.
    parts = 1 if work < MIN_DIVIDED else min(max(2, int(work / WORK_OF_PART)), MOST_PARTS)

    def multiply(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        stack = x.shape[:-2] if x.ndim < 4 else (prod(x.shape[:-2]),)
        result = np.empty((*stack, x.shape[-2], y.shape[-1]), dtype)
        if not elements.multiply(function, wide, parts, MIN_ROWS, result, x, y):
            with one_thread:
                np.matmul(x.reshape(*stack, *x.shape[-2:]), y.reshape(*stack, *y.shape[-2:]), out=result)
        return result if x.ndim < 4 else result.reshape(*x.shape[:-1], -1)

    return taped(multiply, "product", function, wide, parts, MIN_ROWS)


def _is_large(work: float, least: float = MIN_ALONE) -> bool:
    return known and elements is not None and work >= least


def _every(start: int, step: int, count: int) -> slice:
    return slice(start, start + (count - 1) * step + 1, step)


@rule("ragged_dot_general")
def _ragged(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    """Products of groups of rows, each with a matrix of its own; or of groups of what is summed over, each of which gives a matrix."""
    numbers = params["ragged_dot_dimension_numbers"]
    (sum_a, sum_b), (batch, _) = numbers.dot_dimension_numbers
    (ragged,) = numbers.lhs_ragged_dimensions
    if batch or params.get("group_offset") is not None:
        raise Unsupported("products of groups in a stack")
    shape, narrow, dtype = outs[0].shape, outs[0].dtype, compute_dtype(*ins[:2], *outs)
    summed = ragged in sum_a
    group = None if summed else numbers.rhs_group_dimensions[0]
    # The matrix of a group has one dimension less, so those after it move down.
    rest_b = tuple(sum_b) if group is None else tuple(d - (d > group) for d in sum_b)
    at = 0 if summed else [d for d in range(len(ins[0].shape)) if d not in sum_a].index(ragged)

    def compute(a: np.ndarray, b: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        result = np.zeros(shape, dtype)
        a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
        ends = np.minimum(np.cumsum(sizes), a.shape[ragged]).tolist()
        for number, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            rows = (slice(None),) * ragged + (slice(start, end),)
            if group is None:
                other = (slice(None),) * sum_b[sum_a.index(ragged)] + (slice(start, end),)
                result[number] = np.tensordot(a[rows], b[other], (sum_a, rest_b))
            else:
                result[(slice(None),) * at + (slice(start, end),)] = np.tensordot(
                    a[rows], b.take(number, group), (sum_a, rest_b)
                )
        return result.astype(narrow, copy=False)

    columns = prod(shape) // max(shape[0] if summed else ins[0].shape[ragged], 1)
    return with_cost(compute, prod(ins[0].shape) * columns / BLAS_SPEED)


@rule("conv_general_dilated")
def _conv(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    """Computes a convolution as matrix products: one for each place of the kernel, or for each place of the result if there are fewer."""
    x, w = ins
    narrow, dtype = outs[0].dtype, compute_dtype(*ins, *outs)
    numbers = params["dimension_numbers"]
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    strides, padding = params["window_strides"], params["padding"]
    holes, dilation = params["lhs_dilation"], params["rhs_dilation"]
    if 0 in x.shape or 0 in w.shape or 0 in outs[0].shape:
        raise Unsupported("empty convolutions")
    if any(low < 0 or high < 0 for low, high in padding):
        raise Unsupported("negative padding of convolutions")
    order_x, order_w = numbers.lhs_spec, numbers.rhs_spec
    back = tuple(np.argsort(numbers.out_spec).tolist())
    count, channels = x.shape[order_x[0]], x.shape[order_x[1]]
    filters = w.shape[order_w[0]]
    sizes = [x.shape[d] for d in order_x[2:]]
    kernel = [w.shape[d] for d in order_w[2:]]
    result = [outs[0].shape[d] for d in numbers.out_spec[2:]]
    spread_sizes = [(n - 1) * h + 1 for n, h in zip(sizes, holes, strict=True)]
    padded = [n + low + high for n, (low, high) in zip(spread_sizes, padding, strict=True)]
    plain = padded == sizes
    within = [slice(low, low + n, h) for n, h, (low, _) in zip(spread_sizes, holes, padding, strict=True)]
    inside = (slice(None), slice(None), *within)
    if batch_groups > 1:  # each group of the batch is convolved with one group of the filters
        groups, count, channels = batch_groups, count // batch_groups, channels * batch_groups
    group_channels = channels // groups
    by_kernel = prod(kernel) <= prod(result)
    # The elements of the input that are multiplied with one element of the kernel, or added to one element of the result.
    steps = list(
        zip(dilation, strides, result, strict=True) if by_kernel else zip(strides, dilation, kernel, strict=True)
    )
    parts = [
        (
            slice(None),
            slice(None),
            *[_every(p * move, step, n) for p, (move, step, n) in zip(place, steps, strict=True)],
        )
        for place in np.ndindex(*(kernel if by_kernel else result))
    ]
    reads = count * channels * (prod(result) if by_kernel else prod(kernel))  # elements that each part reads
    if len(parts) > MAX_PARTS:
        raise Unsupported("a convolution of a large kernel")

    def convolve(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        x = x.transpose(order_x)  # [N, C, *sizes]
        if batch_groups > 1:
            x = x.reshape(groups, count, -1, *sizes).swapaxes(0, 1).reshape(count, channels, *sizes)
        if not plain:
            images = np.zeros((count, channels, *padded), dtype)
            images[inside] = x
            x = images
        w = w.transpose(order_w).reshape(groups, filters // groups, group_channels, prod(kernel))
        if by_kernel:
            out = None
            for number, group_part in enumerate(parts):
                window = x[group_part].reshape(count, groups, group_channels, prod(result))
                # One product for each place of the kernel: NumPy's convolution over all windows at once took 263 ms where this takes 11.
                product = np.matmul(w[..., number], window)  # [N, groups, O / groups, prod(result)]
                out = product if out is None else np.add(out, product, out=out)
            assert out is not None
            return out.reshape(count, filters, *result).transpose(back)
        out = np.empty((count, groups, filters // groups, prod(result)), dtype)
        w = w.reshape(groups, filters // groups, -1).swapaxes(1, 2)  # [groups, C / groups * prod(kernel), O / groups]
        for number, group_part in enumerate(parts):
            window = x[group_part].reshape(count, groups, -1).swapaxes(0, 1)  # [groups, N, C / groups * prod(kernel)]
            out[..., number] = np.matmul(window, w).swapaxes(0, 1)
        return out.reshape(count, filters, *result).transpose(back)

    work = count * prod(result) * group_channels * prod(kernel) * filters
    speed = BLAS_SPEED if dtype.kind in "fc" else LOOP_SPEED
    compute = convolve if x.dtype == w.dtype == narrow == dtype else converted(convolve, dtype, narrow)
    return with_cost(compute, work / speed + len(parts) * (1e-5 + 6e-10 * reads))


def compute_dtype(*avals: ShapedDtype) -> np.dtype:
    """The dtype in which products are computed and added up: that of the result, which comes last, or float32 for the half types."""
    dtype = avals[-1].dtype
    if not {aval.dtype for aval in avals} <= NATIVE | {BFLOAT16}:
        raise Unsupported(f"products of {' and '.join(sorted({str(aval.dtype) for aval in avals}))}")
    return np.dtype(np.float32) if dtype in HALF_TYPES else dtype


def converted(function: Callable[..., np.ndarray], dtype: np.dtype, result: np.dtype) -> Callable[..., np.ndarray]:
    """The function, computed in ``dtype``, with a result that is rounded once."""
    return lambda *arrays: function(*[a.astype(dtype, copy=False) for a in arrays]).astype(result, copy=False)
