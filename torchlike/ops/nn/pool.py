"""Pooling: the largest or the mean of each window."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core import dtypes
from ..._core.annotations import IntOrInts
from ..._core.tensor import Tensor, wrap_dim
from ...dispatch.arguments import check_value
from ...dispatch.options import is_integer
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, Saves, composite, op
from ...numerics.exact_math import PORTABLE, exact_quotient, traced_platform
from ...numerics.pooling import (
    Steps,
    Windows,
    elements,
    first_inside,
    first_largest,
    low,
    picked_by_largest,
    places_of,
    room_behind,
)
from ..linalg.matmul import contract


def _largest(
    x: Array,
    windows: Callable[[Array, Array], list[Array]],
    first: np.ndarray | int = 0,
    picked: Callable[[Array, Array], Array] | None = None,
) -> tuple[Array, Array]:
    """Pooling by the largest element, whose gradient goes to the first of them.

    Args:
        windows: from an image and a number for what is outside of it to its elements at each place of the windows.
        first: the number of the first place within the image.
        picked: from an image and another to the elements of the other where the first has the largest, if not by ``windows``.

    The gradient is one padded array for each offset, all added in one pass. That takes a third of the time of a comparison with the
    grid of offsets, whose last dimension is as short as the kernel, and half of XLA's own way (64 images 28x28 of 6 channels).
    """

    @jax.custom_jvp
    def pool(x: Array) -> tuple[Array, Array]:
        return first_largest(windows(x, low(x.dtype)), first)

    @pool.defjvp
    def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> Any:
        (x,), (t,) = primals, tangents
        best, places = pool(x)
        nothing = np.zeros(places.shape, jax.dtypes.float0)
        if picked is not None:
            return (best, places), (picked(x, t), nothing)
        zero = jnp.zeros((), x.dtype)
        parts = [jnp.where(places == k, part, zero) for k, part in enumerate(windows(t, zero))]
        return (best, places), (sum(parts[1:], parts[0]), nothing)

    return pool(x)


def _largest_by_window(x: Array, sizes: Steps, kernel: Steps, stride: Steps, padding: Steps, dilation: Steps) -> Array:
    """The largest elements alone, in the form that other programs know."""
    lead = (1,) * (x.ndim - len(kernel))
    lengths = x.shape[len(lead) :]
    ends = room_behind(sizes, kernel, stride, padding, dilation, lengths)
    # As much behind as in front, where that gives as many windows: what just fits depends on the size.
    windows = zip(lengths, kernel, stride, padding, dilation, strict=True)
    same = [_output_size(*window, False) == size for window, size in zip(windows, sizes, strict=True)]
    ends = [before if each else end for before, each, end in zip(padding, same, ends, strict=True)]
    pads = ((0, 0),) * len(lead) + tuple(zip(padding, ends, strict=True))
    largest: Any = lax.max
    low = -np.inf if x.dtype.kind not in "iub" else np.iinfo(x.dtype).min
    return lax.reduce_window(
        x, np.asarray(low, x.dtype), largest, lead + kernel, lead + stride, pads, None, lead + dilation
    )


def _output_size(length: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    room = length + 2 * p - d * (k - 1) - 1
    size = (-(-room // s) if ceil_mode else room // s) + 1
    if ceil_mode and (size - 1) * s >= length + p:  # the last window would begin beyond the input
        size -= 1
    return size


@op(
    name="_max_pool",
    promote=Promote.NONE,
    accepts=Category.INTEGER | Category.FLOAT,
    forms=Form.NONE,
    backward=lambda input, *others: others[-1],
    saves=("input", 1),
    zero_second=True,
    refuse=lambda name, dtype: NotImplementedError(f"\"max_pool2d\" not implemented for '{dtype.scalar_name}'"),
    samples=[
        Sample(shapes=((2, 3, 6, 6),), args=((2, 2), (2, 2), (0, 0), (1, 1), False, "MaxPool2DWithIndicesBackward0")),
        Sample(shapes=((2, 7, 7),), args=((3, 2), (2, 1), (1, 0), (1, 2), True, "MaxPool2DWithIndicesBackward0")),
    ],
)
def max_pool(
    input: Array,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    ceil_mode: bool,
    node_name: str,
) -> tuple[Array, Array]:
    """The largest element of each window, and its position in the flattened image."""
    kernel, stride, padding, dilation = map(tuple, (kernel, stride, padding, dilation))
    lengths = input.shape[input.ndim - len(kernel) :]
    sizes = tuple(
        _output_size(*window, ceil_mode) for window in zip(lengths, kernel, stride, padding, dilation, strict=True)
    )
    picked = None
    platform = traced_platform()
    exact = input.dtype in (np.float32, np.float64)  # NumPy has no sums of half types
    if set(dilation) == {1} and (platform == "tpu" or (platform == "cpu" and exact)):
        windows = Windows(sizes, kernel, stride, padding, first=platform == "cpu")
        picked = functools.partial(picked_by_largest, windows=windows)
    values, places = _largest(
        input,
        lambda x, fill: elements(x, sizes, kernel, stride, padding, dilation, fill),
        first_inside(sizes, kernel, stride, padding, dilation),
        picked,
    )
    if traced_platform() == PORTABLE:
        values = _largest_by_window(input, sizes, kernel, stride, padding, dilation)
    return values, _flat_positions(places, sizes, kernel, stride, padding, dilation, lengths)


def _flat_positions(
    places: Array, sizes: Steps, kernel: Steps, stride: Steps, padding: Steps, dilation: Steps, lengths: Steps
) -> Array:
    """From the number of the offset within each window to the position in the flattened image.

    The position is linear in both: the one of the window's first element, plus that of the element within the window.
    """
    strides = [math.prod(lengths[axis + 1 :]) for axis in range(len(lengths))]
    begins = np.zeros(sizes, np.int64)
    for axis, (n, s, p) in enumerate(zip(sizes, stride, padding, strict=True)):
        begin = (np.arange(n) * s - p) * strides[axis]
        begins += begin.reshape([-1 if i == axis else 1 for i in range(len(sizes))])
    steps = [d * length for d, length in zip(dilation, strides, strict=True)]
    within = np.asarray([sum(map(operator.mul, place, steps)) for place in places_of(kernel)])
    return jnp.asarray(within).at[places].get(mode="promise_in_bounds", wrap_negative_indices=False) + begins


@op(
    name="_avg_pool",
    autocast={"cpu": lambda input, kernel, *others: Autocast.FLOAT32 if len(kernel) == 3 else None},
    promote=Promote.NONE,
    accepts=Category.INTEGER | Category.FLOAT | Category.COMPLEX,
    forms=Form.NONE,
    backward=lambda input, *others: others[-1],
    saves=Saves.NOTHING,
    samples=[
        Sample(shapes=((2, 3, 6, 6),), args=((2, 2), (2, 2), (0, 0), False, True, None, "AvgPool2DBackward0")),
        Sample(shapes=((2, 7, 7),), args=((3, 2), (2, 1), (1, 0), True, False, None, "AvgPool2DBackward0")),
    ],
)
def avg_pool(
    input: Array,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
    node_name: str,
) -> Array:
    """The mean of each window."""
    kernel, stride, padding = map(tuple, (kernel, stride, padding))
    count = len(kernel)
    lengths = input.shape[input.ndim - count :]
    sizes = tuple(
        _output_size(n, k, s, p, 1, ceil_mode) for n, k, s, p in zip(lengths, kernel, stride, padding, strict=True)
    )
    half = input.dtype.kind not in "iubc" and input.dtype.itemsize < 4
    x = input.astype(jnp.float32) if half else input
    covers_input = all(n * k == length for n, k, length in zip(sizes, kernel, lengths, strict=True))
    # Windows that tile the image are sums over a reshaped image, which XLA computes in one pass.
    if stride == kernel and covers_input and not any(padding):
        split = [d for n, k in zip(sizes, kernel, strict=True) for d in (n, k)]
        lead = x.shape[: x.ndim - count]
        total = jnp.sum(x.reshape(*lead, *split), axis=tuple(len(lead) + 1 + 2 * i for i in range(count)))
    else:
        parts = elements(x, sizes, kernel, stride, padding, (1,) * count, jnp.zeros((), x.dtype))
        total = parts[0]
        for part in parts[1:]:
            total = total + part
    counts = np.ones((), np.int64)
    for n, length, k, s, p in zip(sizes, lengths, kernel, stride, padding, strict=True):
        begins = np.arange(n) * s - p
        # With ``ceil_mode`` the last window may reach beyond the padding. Elements there never count.
        ends = np.minimum(begins + k, length + p)
        if not count_include_pad:
            begins, ends = np.maximum(begins, 0), np.minimum(ends, length)
        counts = counts[..., None] * (ends - begins)
    if divisor is not None:
        counts = np.asarray(divisor)
    elif (counts == counts.flat[0]).all():
        counts = np.asarray(counts.flat[0])
    weights = jnp.asarray(counts, total.dtype)
    return (
        lax.div(total, jnp.broadcast_to(weights, total.shape))
        if total.dtype.kind in "iu"
        else exact_quotient(total, weights)
    ).astype(input.dtype)


# ---- adaptive: windows as even as possible for a given number of them


def _spans(length: int, size: int) -> list[tuple[int, int]]:
    return [(i * length // size, -(-(i + 1) * length // size)) for i in range(size)]


@op(
    name="_adaptive_avg_pool",
    autocast={"cpu": lambda input, output_size, node_name: Autocast.FLOAT32 if len(output_size) == 3 else None},
    promote=Promote.NONE,
    accepts=Category.INEXACT,
    forms=Form.NONE,
    backward=lambda input, *others: others[-1],
    saves=Saves.NOTHING,
    refuse=lambda name, dtype: NotImplementedError(
        f"\"adaptive_avg_pool2d\" not implemented for '{dtype.scalar_name}'"
    ),
    samples=[Sample(shapes=((2, 7, 6),), args=((3, 2), "AdaptiveAvgPool2DBackward0"))],
)
def adaptive_avg_pool(input: Array, output_size: Sequence[int], node_name: str) -> Array:
    """The means of ``output_size`` windows along each of the last dimensions: sums of windows, which are divided by their sizes."""
    half = input.dtype.kind not in "iubc" and input.dtype.itemsize < 4
    x = input.astype(jnp.float32) if half else input
    first = input.ndim - len(output_size)
    if traced_platform() == PORTABLE and all(size == 1 for size in output_size):
        return jnp.mean(x, tuple(range(first, input.ndim)), keepdims=True).astype(input.dtype)
    sizes = []  # of the windows, one array for each dimension
    for axis, size in enumerate(output_size, first):
        length = x.shape[axis]
        if size == length:
            continue
        begins, ends = np.asarray(_spans(length, size)).reshape(-1, 2).T
        sizes.append((ends - begins).reshape(-1, *[1] * (input.ndim - 1 - axis)))
        if size and length % size == 0:
            x = jnp.sum(x.reshape(*x.shape[:axis], size, length // size, *x.shape[axis + 1 :]), axis=axis + 1)
            continue
        places = np.arange(length)
        # Windows of different lengths are summed by one product with a matrix of zeros and ones, in one pass over the image.
        inside = (places >= begins[:, None]) & (places < ends[:, None])  # (size, length)
        x = jnp.moveaxis(contract(x, jnp.asarray(inside, x.dtype), ((axis,), (1,))), -1, axis)
    if all(size == 1 for size in output_size):  # PyTorch takes the mean then, and divides once
        sizes = [math.prod(count.item() for count in sizes)]
    for count in sizes:
        x = exact_quotient(x, jnp.asarray(count, x.dtype))
    return x.astype(input.dtype)


@op(
    name="_adaptive_max_pool",
    autocast={"cpu": lambda input, output_size, node_name: Autocast.FLOAT32 if len(output_size) == 3 else None},
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward=lambda input, *others: others[-1],
    saves=("input", 1),
    zero_second=True,
    refuse=lambda name, dtype: NotImplementedError(
        f"\"adaptive_max_pool2d\" not implemented for '{dtype.scalar_name}'"
    ),
    samples=[Sample(shapes=((2, 7, 6),), args=((3, 2), "AdaptiveMaxPool2DBackward0"))],
)
def adaptive_max_pool(input: Array, output_size: Sequence[int], node_name: str) -> tuple[Array, Array]:
    """The largest of each window, and its position in the flattened image."""
    count = len(output_size)
    lengths = input.shape[input.ndim - count :]
    grids = []
    for size, length in zip(output_size, lengths, strict=True):
        spans = _spans(length, size)
        widest = max((end - begin for begin, end in spans), default=1)
        # A window that is shorter repeats its last element, which is never the first largest.
        grids.append(
            np.array([[min(b + i, e - 1) for i in range(widest)] for b, e in spans], np.int64).reshape(size, widest)
        )
    kernel = tuple(grid.shape[1] for grid in grids)

    def windows(x: Array, fill: Array) -> list[Array]:
        for back, grid in enumerate(reversed(grids)):
            x = jnp.take(x, grid, axis=input.ndim - 1 - back, mode="clip")
        return [x[(..., *(i for o in place for i in (slice(None), o)))] for place in places_of(kernel)]

    values, places = _largest(input, windows)
    flat, number = jnp.zeros((), np.int64), places.astype(np.int64)
    for axis, (grid, length) in enumerate(zip(grids, lengths, strict=True)):
        offset = number // math.prod(kernel[axis + 1 :]) % kernel[axis]
        along = [-1 if i == axis else 1 for i in range(count)]
        position = jnp.zeros(places.shape, np.int64)
        for o in range(kernel[axis]):
            position = jnp.where(offset == o, grid[:, o].reshape(along), position)
        flat = flat * length + position
    return values, flat


# ---- the functions behind nn.functional


_POSITIONS = {"kernel_size": 2, "stride": 3, "padding": 4, "dilation": 5}


def _per_dimension(name: str, argument: str, value: Any, count: int, expectation: str) -> Steps:
    check_value(name, argument, _POSITIONS[argument], "IntOrInts", value)
    values = (value,) if is_integer(value) else tuple(value)
    if len(values) not in (1, count):
        words = {1: "one int", 2: "a tuple of two ints", 3: "a tuple of three ints"}[count]
        raise RuntimeError(f"{name}: {argument} must {expectation}, or {words}")
    return tuple(int(v) for v in values) * (count // len(values) if len(values) == 1 else 1)


def _check_input(name: str, input: Tensor, count: int, sizes: list[int]) -> None:
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    ranks = (count + 1, count + 2)
    if input.dim() not in ranks or 0 in sizes[1 if input.dim() == ranks[1] else 0 :]:
        batch = f"Expected {ranks[0]}D or {ranks[1]}D (batch mode) tensor with optional 0 dim batch size for input, but got:"
        if count == 1:
            raise RuntimeError(f"{name}: {batch}{sizes}")
        if input.dim() not in ranks:
            raise RuntimeError(f"non-empty {ranks[0]}D or {ranks[1]}D (batch mode) tensor expected for input")
        raise RuntimeError(f"{batch}{sizes}")


def _check_window(
    name: str, input: Tensor, kernel: Steps, stride: Steps, padding: Steps, dilation: Steps, ceil_mode: bool
) -> None:
    if 0 in stride:
        raise RuntimeError(
            f"{name}() stride must be greater than zero, but got 0" if len(kernel) == 1 else "stride should not be zero"
        )
    if any(k <= 0 for k in kernel):
        raise RuntimeError(f"{name}() kernel_size must be greater than zero, but got {kernel[0]}" if len(kernel) == 1 else
                           "kernel size should be greater than zero, but got " + _axes("k", kernel))  # fmt: skip
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero, but got " + _axes("dilation", dilation))
    for k, p, d in zip(kernel, padding, dilation, strict=True):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if len(kernel) == 1 and p > k // 2:
            raise RuntimeError(
                f"{name}() padding should be at most half of kernel size, but got padding={p} and kernel_size={k}"
            )
        if p > ((k - 1) * d + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
    lengths = input.shape[input.dim() - len(kernel) :]
    sizes = [
        _output_size(*window, ceil_mode) for window in zip(lengths, kernel, stride, padding, dilation, strict=True)
    ]
    if any(n < 1 for n in sizes):
        if len(kernel) == 1:
            raise RuntimeError(f"{name}() Invalid computed output size: {sizes[0]}")
        channels = input.shape[input.dim() - len(kernel) - 1]
        input_size, output_size = ("x".join(map(str, (channels, *s))) for s in (lengths, sizes))
        raise RuntimeError(
            f"Given input size: ({input_size}). Calculated output size: ({output_size}). Output size is too small"
        )


def _axes(name: str, values: Steps) -> str:
    return " ".join(f"{name}{axis}: {v}" for axis, v in zip("THW"[3 - len(values) :], values, strict=True))


def pooled_by_max(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None,
    padding: IntOrInts,
    dilation: IntOrInts,
    ceil_mode: bool,
    count: int,
) -> tuple[Tensor, Tensor]:
    """``max_pool1d`` and related ops: values and positions."""
    name = f"max_pool{count}d"
    kernel = _per_dimension(name, "kernel_size", kernel_size, count, "either be a single int")
    steps = kernel if stride is None or (isinstance(stride, (list, tuple)) and not stride) else _per_dimension(
        name, "stride", stride, count, "either be omitted, a single int")  # fmt: skip
    pads = _per_dimension(name, "padding", padding, count, "either be a single int")
    dilations = _per_dimension(name, "dilation", dilation, count, "be either a single int")
    _check_input(name, input, count, list(getattr(input, "shape", ())))
    check_value(name, "ceil_mode", 6, "bool", ceil_mode)
    _check_window(name, input, kernel, steps, pads, dilations, ceil_mode)
    node_name = "SqueezeBackward1" if count == 1 else f"MaxPool{count}DWithIndicesBackward0"
    return max_pool(input, kernel, steps, pads, dilations, bool(ceil_mode), node_name)


def pooled_by_mean(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts | None,
    padding: IntOrInts,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    count: int,
) -> Tensor:
    """``avg_pool1d`` and related ops."""
    name = f"avg_pool{count}d"
    kernel = _per_dimension(name, "kernel_size", kernel_size, count, "either be a single int")
    steps = kernel if stride is None or (isinstance(stride, (list, tuple)) and not stride) else _per_dimension(
        name, "stride", stride, count, "either be omitted, a single int")  # fmt: skip
    pads = _per_dimension(name, "padding", padding, count, "either be a single int")
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    _require_rank(name, input, count)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    check_value(name, "ceil_mode", 5, "bool", ceil_mode)
    check_value(name, "count_include_pad", 6, "bool", count_include_pad)
    _check_window("max_pool2d", input, kernel, steps, pads, (1,) * count, ceil_mode)
    if input.dtype.category != dtypes.FLOAT and input.dtype is not dtypes.int64:
        raise NotImplementedError(f"\"avg_pool2d\" not implemented for '{input.dtype.scalar_name}'")
    node_name = "SqueezeBackward1" if count == 1 else f"AvgPool{count}DBackward0"
    return avg_pool(input, kernel, steps, pads, bool(ceil_mode), bool(count_include_pad), divisor_override, node_name)


def _require_rank(name: str, input: Tensor, count: int) -> None:
    if input.dim() not in (count + 1, count + 2):
        raise RuntimeError(
            f"Expected {count + 1} to {count + 2} dimensions, but got {input.dim()}-dimensional tensor for argument #1 'self' (while "
            f"checking arguments for {name})"
        )


def _target(name: str, input: Tensor, output_size: Any, count: int) -> Steps:
    """The output size, None meaning that a dimension stays.

    Raises:
        RuntimeError, ValueError, IndexError: the input has another number of dimensions, or a size does not fit.
        TypeError: None, for one dimension.
    """
    if count == 1:
        if output_size is None:
            raise TypeError(f"{name}(): argument 'output_size' (position 2) must be tuple of ints, not NoneType")
        if not is_integer(output_size) and None in output_size:
            place = list(output_size).index(None)
            raise TypeError(
                f"{name}(): argument 'output_size' (position 2) must be tuple of ints, but found element of type NoneType at pos {place}"
            )
        _require_rank(name, input, count)
    sizes = (output_size,) * count if is_integer(output_size) or output_size is None else tuple(output_size)
    if len(sizes) != count:
        raise RuntimeError(f"{name}: output_size must be {count}")
    if count > 1 and not is_integer(output_size) and input.dim() <= count:
        raise ValueError(f"Input dimension should be at least {count + 1}")
    if "max" in name and input.dim() not in (count + 1, count + 2):
        raise RuntimeError(f"{name}(): Expected {count + 1}D or {count + 2}D tensor, but got: {list(input.shape)}")
    for dim in range(-1, -count - 1, -1):
        wrap_dim(dim, input.dim())
    lengths = input.shape[input.dim() - count :]
    target = tuple(int(n) if want is None else int(want) for want, n in zip(sizes, lengths, strict=True))
    if any(n < 0 for n in target):
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            + "{" + ", ".join(map(str, target)) + "}"
        )  # fmt: skip
    return target


def adaptively_by_mean(input: Tensor, output_size: object, count: int) -> Tensor:
    """``adaptive_avg_pool1d`` and related ops."""
    name = f"adaptive_avg_pool{count}d"
    target = _target(name, input, output_size, count)
    node_name = "SqueezeBackward1" if count == 1 else f"AdaptiveAvgPool{count}DBackward0"
    if count > 1 and set(target) == {1}:
        node_name = "MeanBackward1"
    return adaptive_avg_pool(input, target, node_name)


def adaptively_by_max(input: Tensor, output_size: object, count: int) -> tuple[Tensor, Tensor]:
    """``adaptive_max_pool1d`` and related ops: values and positions."""
    name = f"adaptive_max_pool{count}d"
    target = _target(name, input, output_size, count)
    _check_input(name, input, count, list(input.shape))
    node_name = "SqueezeBackward1" if count == 1 else f"AdaptiveMaxPool{count}DBackward0"
    return adaptive_max_pool(input, target, node_name)


# ---- those that PyTorch has at its top level


@composite(forms=Form.FUNCTION)
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts = (),
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest element of each window of (N, C, L), and where it lies."""
    return pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 1)


@composite(forms=Form.FUNCTION)
def max_pool1d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts = (),
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window of (N, C, L).

    >>> torch.max_pool1d(torch.tensor([[[1.0, 3.0, 2.0, 4.0]]]), 2)
    tensor([[[3., 4.]]])
    """
    return pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 1)[0]


@composite(forms=Form.FUNCTION)
def max_pool2d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts = (),
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window of (N, C, H, W)."""
    return pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 2)[0]


@composite(forms=Form.FUNCTION, autocast={"cpu": Autocast.FLOAT32})
def max_pool3d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts = (),
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window of (N, C, D, H, W)."""
    return pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 3)[0]


@composite(forms=Form.FUNCTION)
def avg_pool1d(
    input: Tensor,
    kernel_size: IntOrInts,
    stride: IntOrInts = (),
    padding: IntOrInts = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of (N, C, L).

    >>> torch.avg_pool1d(torch.tensor([[[1.0, 3.0, 2.0, 4.0]]]), 2)
    tensor([[[2., 3.]]])
    """
    return pooled_by_mean(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None, 1)


@composite(forms=Form.FUNCTION)
def adaptive_avg_pool1d(input: Tensor, output_size: Sequence[int] | None) -> Tensor:
    """The means of ``output_size`` windows of (N, C, L) that are as even as possible."""
    return adaptively_by_mean(input, output_size, 1)


@composite(forms=Form.FUNCTION)
def adaptive_max_pool1d(input: Tensor, output_size: Sequence[int] | None) -> tuple[Tensor, Tensor]:
    """The largest elements of ``output_size`` windows of (N, C, L) that are as even as possible, and where they lie."""
    return adaptively_by_max(input, output_size, 1)
