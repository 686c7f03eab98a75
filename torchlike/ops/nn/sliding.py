"""Sliding blocks of images as columns, and columns summed back into images: im2col and col2im."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import Array

from ..._core.annotations import IntOrInts
from ..._core.tensor import Tensor
from ...dispatch.options import is_integer
from ...dispatch.register import Category, Form, Promote, Sample, Saves, op

if TYPE_CHECKING:
    from ..._core.annotations import Dtype


Pair = tuple[int, int]


def _places(kernel: Pair) -> list[Pair]:
    return [(i, j) for i in range(kernel[0]) for j in range(kernel[1])]


def _blocks(sizes: Sequence[int], kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Pair:
    """How many blocks there are along each dimension."""
    rows, columns = (
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(sizes, kernel, dilation, padding, stride, strict=True)
    )
    return rows, columns


def _check_window(kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> None:
    for requirement, short, least, values in (
        ("kernel size should be greater than zero", "kernel", 1, kernel),
        ("dilation should be greater than zero", "dilation", 1, dilation),
        ("padding should be non-negative", "pad", 0, padding),
        ("stride should be greater than zero", "stride", 1, stride),
    ):
        if min(values) < least:
            raise RuntimeError(f"{requirement}, but got {short}_height: {values[0]} {short}_width: {values[1]}")


def _refuse(kernel: str) -> Callable[[str, Dtype], NotImplementedError]:
    return lambda name, dtype: NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.scalar_name}'")


def _columns(images: Array, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Array:
    """(N, C, H, W) -> (N, C * kernel, blocks)."""
    sizes = _blocks(images.shape[2:], kernel, dilation, padding, stride)
    padded = jnp.pad(images, ((0, 0), (0, 0), *((p, p) for p in padding)))
    parts = []
    for place in _places(kernel):
        window = tuple(
            slice(i * d, i * d + (n - 1) * s + 1, s) for i, d, n, s in zip(place, dilation, sizes, stride, strict=True)
        )
        parts.append(padded[(slice(None), slice(None), *window)])
    stacked = jnp.stack(parts, 2)  # (N, C, kernel, rows, columns)
    return stacked.reshape(images.shape[0], images.shape[1] * len(parts), sizes[0] * sizes[1])


@op(
    name="_im2col",
    promote=Promote.NONE,
    accepts=Category.BOOL | Category.FLOAT | Category.COMPLEX,
    forms=Form.NONE,
    saves=Saves.NOTHING,
    backward="Im2ColBackward0",
    refuse=_refuse("im2col_out_cpu"),
    samples=[Sample(shapes=((2, 3, 5, 6),), args=((2, 3), (2, 1), (1, 0), (1, 2)))],
)
def im2col(input: Array, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Array:
    """(N, C, H, W) -> (N, C * kernel, blocks): each column is one block."""
    _check_window(kernel, dilation, padding, stride)
    if input.ndim not in (3, 4) or 0 in input.shape[input.ndim - 3 :]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: "
            f"{list(input.shape)}"
        )
    sizes = _blocks(input.shape[-2:], kernel, dilation, padding, stride)
    if min(sizes) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(input.shape[-2:])}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
            f"calculated shape of the array of sliding blocks as {sizes}, but its components must be at least one."
        )
    columns = _columns(input.reshape(-1, *input.shape[-3:]), kernel, dilation, padding, stride)
    return columns if input.ndim == 4 else columns[0]


@op(
    name="_col2im",
    promote=Promote.NONE,
    accepts=Category.BOOL | Category.FLOAT | Category.COMPLEX,
    forms=Form.NONE,
    saves=Saves.NOTHING,
    backward="Col2ImBackward0",
    refuse=_refuse("col2im_out_cpu"),
    samples=[Sample(shapes=((2, 18, 20),), args=((5, 6), (2, 3), (2, 1), (1, 0), (1, 1)), gradient=False)],
)
def col2im(
    input: Array,
    output_size: Pair,
    kernel: Pair,
    dilation: Pair,
    padding: Pair,
    stride: Pair,
) -> Array:
    """(N, C * kernel, blocks) -> (N, C, H, W): where blocks overlap, they add up."""
    _check_window(kernel, dilation, padding, stride)
    if input.ndim not in (2, 3) or 0 in input.shape[input.ndim - 2 :]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but "
            f"got: {list(input.shape)}"
        )
    first = input.ndim - 2
    if input.shape[first] % (kernel[0] * kernel[1]):
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)="
            f"{input.shape[first]} and kernel_size={kernel}."
        )
    sizes = _blocks(output_size, kernel, dilation, padding, stride)
    if input.shape[-1] != sizes[0] * sizes[1] or min(sizes) < 1:
        raise RuntimeError(
            f"Given output_size={output_size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, expected "
            f"size of input's dimension 2 to match the calculated number of sliding blocks {sizes[0]} * {sizes[1]} = "
            f"{sizes[0] * sizes[1]}, but got input.size(2)={input.shape[-1]}."
        )
    columns = input.reshape(-1, *input.shape[first:])
    shape = (columns.shape[0], input.shape[first] // (kernel[0] * kernel[1]), *output_size)
    if input.dtype.kind == "b":  # a sum of truths is whether one of them is true
        return (
            col2im_of(columns.astype(jnp.float32), shape, kernel, dilation, padding, stride)
            .astype(bool)
            .reshape(*input.shape[:first], *shape[1:])
        )
    images = col2im_of(columns, shape, kernel, dilation, padding, stride)
    return images.reshape(*input.shape[:first], *shape[1:])


def col2im_of(
    columns: Array,
    shape: object,
    kernel: Pair,
    dilation: Pair,
    padding: Pair,
    stride: Pair,
) -> Array:
    """The transpose of ``_columns``, which is how it is defined."""
    to_columns = jax.linear_transpose(
        lambda images: _columns(images, kernel, dilation, padding, stride), jax.ShapeDtypeStruct(shape, columns.dtype)
    )
    (images,) = to_columns(columns)
    return images


def pair(argument: str, value: Any) -> Pair:
    """Two ints from one or two; PyTorch's error for another number of them."""
    values = (value, value) if is_integer(value) else tuple(value)
    if len(values) == 1:
        values = values * 2
    if len(values) != 2:
        raise RuntimeError(f"It is expected {argument} equals to 2, but got size {len(values)}")
    return int(values[0]), int(values[1])


def unfold(
    input: Tensor, kernel_size: IntOrInts, dilation: IntOrInts = 1, padding: IntOrInts = 0, stride: IntOrInts = 1
) -> Tensor:
    """``im2col`` with sizes given as one int or two."""
    return im2col(
        input,
        pair("kernel_size", kernel_size),
        pair("dilation", dilation),
        pair("padding", padding),
        pair("stride", stride),
    )


def fold(
    input: Tensor,
    output_size: IntOrInts,
    kernel_size: IntOrInts,
    dilation: IntOrInts = 1,
    padding: IntOrInts = 0,
    stride: IntOrInts = 1,
) -> Tensor:
    """``col2im`` with sizes given as one int or two."""
    return col2im(
        input, pair("output_size", output_size), pair("kernel_size", kernel_size), pair("dilation", dilation),
        pair("padding", padding), pair("stride", stride),
    )  # fmt: skip
