"""Convolutions and transposed convolutions in one, two and three dimensions."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.annotations import IntOrInts
from ..._core.tensor import Tensor
from ...dispatch.options import is_integer
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, composite, op
from ...dispatch.type_names import type_name
from ...engine import onednn
from ...engine.geometry import Geometry
from ...numerics.convolution import convolve
from ...numerics.exact_math import PORTABLE, traced_platform
from ...numerics.half_precision import plus_bias, widened
from ..linalg.matmul import contract

# Up to this many products for one output element, and this size of it, a convolution on the CPU is a matrix product with the columns
# that the kernel meets: `docs/engine.md` has figures. A larger column matrix costs more memory traffic than it saves, but for few products.
SMALL, FEW, COLUMN_BYTES = 320, 64, 3_000_000


def _as_column_product(
    x: Array,
    w: Array,
    stride: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
    rounded: bool = True,
) -> Array:
    """The convolution as one matrix product: (O, C*K) by (C*K, N*positions). ``rounded``: as of ``contract``."""
    kernel, sizes = w.shape[2:], _sizes(x, w, stride, padding, dilation)
    x = jnp.moveaxis(jnp.pad(x, ((0, 0), (0, 0), *padding)), 1, 0)
    columns = []
    for place in _grid(kernel):
        starts = [i * d for i, d in zip(place, dilation, strict=True)]
        window = tuple(slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(starts, sizes, stride, strict=True))
        columns.append(x[(slice(None), slice(None), *window)])
    column = columns[0] if len(columns) == 1 else jnp.stack(columns, 1)
    column = column.reshape(w.shape[1] * math.prod(kernel), -1)
    out = contract(w.reshape(w.shape[0], -1), column, ((1,), (0,)), rounded=rounded)
    return jnp.moveaxis(out.reshape(w.shape[0], x.shape[1], *sizes), 0, 1)


def _worth_a_column(
    x: Array, w: Array, stride: tuple[int, ...], padding: tuple[tuple[int, int], ...], dilation: tuple[int, ...]
) -> bool:
    per_output = math.prod(w.shape[1:])
    return per_output <= FEW or (
        per_output <= SMALL
        and set(stride) == {1}
        and per_output * x.shape[0] * math.prod(_sizes(x, w, stride, padding, dilation)) * x.dtype.itemsize
        <= COLUMN_BYTES
    )


def _sizes(
    x: Array, w: Array, stride: tuple[int, ...], padding: tuple[tuple[int, int], ...], dilation: tuple[int, ...]
) -> list[int]:
    """How many places the kernel has in each dimension."""
    return [
        (n + sum(p) - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(x.shape[2:], w.shape[2:], stride, padding, dilation, strict=True)
    ]


def _grid(kernel: tuple[int, ...]) -> list[tuple[int, ...]]:
    places: list[tuple[int, ...]] = [()]
    for n in kernel:
        places = [(*p, i) for p in places for i in range(n)]
    return places


@op(
    name="convolution",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward=lambda input, *others: others[-1],
    samples=[
        Sample(shapes=((2, 3, 6), (4, 3, 3), (4,)), args=((1,), ((0, 0),), (1,), 1, "cpu", "ConvolutionBackward0")),
        Sample(
            shapes=((2, 4, 6, 6), (4, 2, 3, 3), (4,)),
            args=((2, 1), ((1, 1), (0, 0)), (1, 2), 2, "cpu", "ConvolutionBackward0"),
        ),
    ],
    autocast=Autocast.LOWER,
)
def convolution(
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
    groups: int,
    platform: str,
    node_name: str,
) -> Array:
    """Cross-correlation of (N, C, ...) with kernels (O, C / groups, ...)."""
    _check_dtypes(input, weight, bias)
    pointwise = math.prod(weight.shape[2:]) == 1
    sizes = _sizes(input, weight, stride, padding, dilation)
    before = tuple(low for low, _ in padding)
    shape = (input.shape[0], weight.shape[0], *sizes)
    geometry = Geometry("y", input.shape, weight.shape, shape, stride, before, dilation, groups)
    dtype, rounded = np.dtype(input.dtype), bias is None
    processor = platform == "cpu" == traced_platform()
    if not input.size or not weight.size:
        out = jnp.zeros(shape, dtype)
    elif processor and onednn.record_of(onednn.Convolution(geometry, dtype, dtype)) is not None:
        out = convolve(input, weight, geometry, rounded)
    elif groups == 1 and pointwise and platform == "cpu" and traced_platform() != PORTABLE:
        out = _as_column_product(input, weight, stride, padding, dilation, rounded)
    elif groups == 1 and processor and _worth_a_column(input, weight, stride, padding, dilation):
        # The gradient of the input is a sum of one piece for each place in the kernel: in float32, not rounded after each.
        out = _as_column_product(widened(input), widened(weight), stride, padding, dilation)
    else:
        out = convolve(input, weight, geometry, rounded)
    return plus_bias(out, _over_places(bias, len(stride)), dtype)


@op(
    name="_convolution_transposed",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward=lambda input, *others: others[-1],
    samples=[
        Sample(
            shapes=((2, 4, 5, 5), (4, 3, 3, 3), (6,)),
            args=((2, 1), (1, 0), (1, 0), (1, 2), 2, "ConvolutionBackward0"),
        ),
    ],
    autocast=Autocast.LOWER,
)
def convolution_transposed(
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    output_padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
    node_name: str,
) -> Array:
    """The gradient of a convolution with respect to its input: kernels (C, O / groups, ...) spread every element."""
    _check_dtypes(input, weight, bias)
    kernel = weight.shape[2:]
    sizes = [
        (n - 1) * s + 1 + d * (k - 1) - 2 * p + o
        for n, k, s, p, o, d in zip(input.shape[2:], kernel, stride, padding, output_padding, dilation, strict=True)
    ]
    shape = (input.shape[0], groups * weight.shape[1], *sizes)
    if not input.size or not weight.size:
        out = jnp.zeros(shape, input.dtype)
    else:
        geometry = Geometry("x", shape, weight.shape, input.shape, stride, padding, dilation, groups)
        out = convolve(weight, input, geometry, rounded=bias is None)
    return plus_bias(out, _over_places(bias, len(stride)), input.dtype)


def _over_places(bias: Array | None, count: int) -> Array | None:
    """The bias as (O, 1, ...), for so many dimensions of places."""
    return None if bias is None else bias.reshape((-1,) + (1,) * count)


def _check_dtypes(input: Array, weight: Array, bias: Array | None) -> None:
    kinds = [dtypes.from_numpy_dtype(a.dtype) for a in (input, weight, *(() if bias is None else (bias,)))]
    if kinds[1] is not kinds[0]:
        raise RuntimeError(f"expected scalar type {kinds[0].scalar_name} but found {kinds[1].scalar_name}")
    if kinds[-1] is not kinds[0]:
        names = [dtypes.C_NAMES[k.name] for k in (kinds[0], kinds[-1])]
        raise RuntimeError(f"Input type ({names[0]}) and bias type ({names[1]}) should be the same")
    if kinds[0].category == dtypes.BOOL:
        raise NotImplementedError("\"slow_conv2d_cpu\" not implemented for 'Bool'")


# ---- the public functions


def _per_dimension(name: str, argument: str, value: Any, count: int) -> tuple[int, ...]:
    """One number for each spatial dimension."""
    if value.__class__ is tuple and len(value) == count and {int}.issuperset(map(type, value)):  # as modules have it
        return value
    if is_integer(value):
        return (int(value),) * count
    if not isinstance(value, (tuple, list)) or not all(is_integer(v) for v in value):
        raise TypeError(f"{name}(): argument '{argument}' must be tuple of ints, not {type_name(value)}")
    values = tuple(int(v) for v in value)
    if len(values) == 1:
        return values * count
    if len(values) != count:
        raise RuntimeError(
            f"expected {argument.replace('_', ' ')} to be a single integer value or a list of {count} values to match the convolution "
            f"dimensions, but got {argument}={list(values)}"
        )
    return values


def _check_tensors(name: str, input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    for position, (argument, value) in enumerate((("input", input), ("weight", weight), ("bias", bias)), 1):
        if not isinstance(value, Tensor) and not (argument == "bias" and value is None):
            raise TypeError(
                f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type_name(value)}"
            )


def _check_shapes(
    name: str,
    count: int,
    input: tuple[int, ...],
    weight: tuple[int, ...],
    bias: tuple[int, ...] | None,
    groups: int,
    transposed: bool,
) -> bool:
    """Raises PyTorch's errors for shapes that do not fit. Returns whether the input is a batch."""
    shape, kernel = list(input), list(weight)
    if len(shape) not in (count + 1, count + 2):
        raise RuntimeError(
            f"Expected {count + 1}D (unbatched) or {count + 2}D (batched) input to {name}, but got input of size: {shape}"
        )
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if len(kernel) != count + 2:
        raise RuntimeError(
            f"expected stride to be a single integer value or a list of {len(kernel) - 2} values to match the convolution dimensions, "
            f"but got stride={[1] * count}"
        )
    batched = len(shape) == count + 2
    full = shape if batched else [1, *shape]
    if kernel[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size [{kernel}] "
            "instead"
        )
    head = "Given transposed=1" if transposed else f"Given groups={groups}"
    channels = kernel[0] if transposed else kernel[1] * groups
    if full[1] != channels:
        raise RuntimeError(
            f"{head}, weight of size {kernel}, expected input{full} to have {channels} channels, but got {full[1]} channels instead"
        )
    outputs = kernel[1] * groups if transposed else kernel[0]
    if bias is not None and tuple(bias) != (outputs,):
        head = "Given transposed=1, weight" if transposed else "Given weight"
        raise RuntimeError(
            f"{head} of size {kernel}, expected bias to be 1-dimensional with {outputs} elements, but got bias of size "
            f"{list(bias)} instead"
        )
    return batched


def _check_steps(stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...]) -> None:
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {list(dilation)}")


def _both_ends(
    padding: IntOrInts,
    name: str,
    count: int,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
) -> tuple[tuple[int, int], ...]:
    """Padding before and after, for each dimension."""
    if isinstance(padding, str):
        if padding == "valid":
            return ((0, 0),) * count
        if padding != "same":
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        if any(s != 1 for s in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        totals = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
        if any(t % 2 for t in totals):
            warnings.warn(
                "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be created",
                UserWarning,
                stacklevel=6,
            )
        return tuple((t // 2, t - t // 2) for t in totals)
    pads = _per_dimension(name, "padding", padding, count)
    _check_steps(stride, pads, dilation)
    return tuple((p, p) for p in pads)


def _conv(
    name: str,
    count: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: IntOrInts,
    padding: IntOrInts,
    dilation: IntOrInts,
    groups: int,
) -> Tensor:
    _check_tensors(name, input, weight, bias)
    shapes = input.shape, weight.shape, None if bias is None else bias.shape
    stride, dilation = _per_dimension(name, "stride", stride, count), _per_dimension(name, "dilation", dilation, count)
    plan = _plan
    if not isinstance(padding, str):  # which may warn, each time
        padding = _per_dimension(name, "padding", padding, count)
        # Sizes that are no numbers yet are those of an export. Without them the plan follows from what it is given alone.
        if {int}.issuperset(map(type, (groups, *input.shape, *weight.shape))):
            plan = _known_plan
    batched, pads = plan(name, count, shapes, stride, padding, dilation, groups)
    x = input if batched else input.unsqueeze(0)
    platform = x._aval.placement.platform
    out = convolution(x, weight, bias, stride, pads, dilation, groups, platform, "ConvolutionBackward0")
    return out if batched else out.squeeze(0)


def _plan(
    name: str,
    count: int,
    shapes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...] | None],
    stride: tuple[int, ...],
    padding: IntOrInts,
    dilation: tuple[int, ...],
    groups: int,
) -> tuple[bool, tuple[tuple[int, int], ...]]:
    """Whether an input of such a shape is a batch, and its padding at both ends. Raises PyTorch's errors for what does not fit."""
    input, weight, _ = shapes
    batched = _check_shapes(name, count, *shapes, groups, transposed=False)
    kernel = tuple(weight[2:])
    _check_steps(stride, (), dilation)
    pads = _both_ends(padding, name, count, kernel, stride, dilation)
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    padded = [n + sum(p) for n, p in zip(input[-count:], pads, strict=True)]
    if any(n < r for n, r in zip(padded, reach, strict=True)):
        sizes = [" x ".join(map(str, lengths)) for lengths in (padded, reach)]
        raise RuntimeError(
            f"Calculated padded input size per channel: ({sizes[0]}). Kernel size: ({sizes[1]}). Kernel size can't be greater than actual "
            "input size"
        )
    return batched, pads


_known_plan = functools.lru_cache(maxsize=4096)(_plan)


def _conv_transpose(
    name: str,
    count: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: IntOrInts,
    padding: IntOrInts,
    output_padding: IntOrInts,
    groups: int,
    dilation: IntOrInts,
) -> Tensor:
    _check_tensors(name, input, weight, bias)
    shapes = input.shape, weight.shape, None if bias is None else bias.shape
    batched = _check_shapes(name, count, *shapes, groups, transposed=True)
    stride, dilation = _per_dimension(name, "stride", stride, count), _per_dimension(name, "dilation", dilation, count)
    padding, extra = (
        _per_dimension(name, "padding", padding, count),
        _per_dimension(name, "output_padding", output_padding, count),
    )
    _check_steps(stride, padding, dilation)
    if any(e < 0 for e in extra):
        raise RuntimeError("negative output_padding is not supported")
    if any(e >= s and e >= d for e, s, d in zip(extra, stride, dilation, strict=True)):
        names = ("depth", "height", "width")[3 - count :] if count > 1 else ("height", "width")
        sizes = []
        for what, values in (("output_padding", extra), ("stride", stride), ("dilation", dilation)):
            values = values if count > 1 else (0 if what == "output_padding" else 1, *values)
            sizes += [f"{what}_{n}: {v}" for n, v in zip(names, values, strict=True)]
        raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {' '.join(sizes)}")
    x = input if batched else input.unsqueeze(0)
    out = convolution_transposed(x, weight, bias, stride, padding, extra, dilation, groups, "ConvolutionBackward0")
    return out if batched else out.squeeze(0)


@composite(forms=Form.FUNCTION | Form.FUNCTIONAL)
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of sequences with kernels.

    Args:
        input: shape (N, C, L) or (C, L).
        weight: shape (O, C / groups, K).
        bias: shape (O).
        padding: zeros before and after, or "same" or "valid".

    >>> torch.conv1d(torch.ones(1, 1, 4), torch.ones(1, 1, 2))
    tensor([[[2., 2., 2.]]])

    Raises:
        RuntimeError: shapes, dtypes or steps that do not go together.
    """
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@composite(forms=Form.FUNCTION | Form.FUNCTIONAL)
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of images with kernels; arguments as of ``conv1d``, with (H, W) in place of L.

    >>> torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@composite(forms=Form.FUNCTION | Form.FUNCTIONAL)
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of volumes with kernels; arguments as of ``conv1d``, with (D, H, W) in place of L.

    >>> F.conv3d(torch.ones(1, 1, 3, 3, 3), torch.ones(2, 1, 2, 2, 2)).shape
    torch.Size([1, 2, 2, 2, 2])
    """
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


@composite(forms=Form.FUNCTION | Form.FUNCTIONAL)
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    output_padding: IntOrInts = 0,
    groups: int = 1,
    dilation: IntOrInts = 1,
) -> Tensor:
    """The gradient of ``conv1d`` with respect to its input: every element of (N, C, L) spreads a kernel.

    Args:
        weight: shape (C, O / groups, K).
        output_padding: how many elements longer the result is, to say which of several sizes is meant.

    >>> F.conv_transpose1d(torch.tensor([[1.0, 2.0]]), torch.ones(1, 1, 2), stride=2)
    tensor([[1., 1., 2., 2.]])
    """
    return _conv_transpose(
        "conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@composite(forms=Form.FUNCTION | Form.FUNCTIONAL)
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    output_padding: IntOrInts = 0,
    groups: int = 1,
    dilation: IntOrInts = 1,
) -> Tensor:
    """The gradient of ``conv2d`` with respect to its input; arguments as of ``conv_transpose1d``.

    >>> F.conv_transpose2d(torch.ones(1, 1, 2, 2), torch.ones(1, 3, 2, 2), stride=2).shape
    torch.Size([1, 3, 4, 4])
    """
    return _conv_transpose(
        "conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@composite(forms=Form.FUNCTION | Form.FUNCTIONAL)
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    output_padding: IntOrInts = 0,
    groups: int = 1,
    dilation: IntOrInts = 1,
) -> Tensor:
    """The gradient of ``conv3d`` with respect to its input; arguments as of ``conv_transpose1d``."""
    return _conv_transpose(
        "conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@composite(forms=Form.FUNCTION | Form.FUNCTIONAL)
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """``conv1d`` with the dimensions in another order.

    Args:
        input: shape (time, batch, in_channels).
        weight: shape (kernel_width, in_channels, out_channels).
        bias: shape (out_channels).
        pad: zeros before and after.

    >>> torch.conv_tbc(torch.ones(3, 1, 1), torch.ones(2, 1, 1), torch.zeros(1)).flatten()
    tensor([2., 2.])
    """
    if input.dim() != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.dim() != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.dim() != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    times = input.shape[0] - weight.shape[0] + 1 + 2 * pad
    if times < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {times}: {[times, input.shape[1], weight.shape[2]]}"
        )
    more = times == 0  # conv1d refuses a result without elements
    columns = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad + more)
    return columns.permute(2, 0, 1)[more : times + more]
