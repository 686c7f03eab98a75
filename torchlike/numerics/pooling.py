"""The windows that pooling moves over an image, and where the largest element of each lies.

The derivative of pooling by the largest is made of two primitives of JAX on TPUs and CPUs. One picks from an image the elements at the
places where another image has the largest of each window; the other, its transpose, adds numbers there. Op by op ``elements.c`` does that
in one pass. In a program for a CPU it is one padded image for each place of a window, all added. A TPU would write and read each of these
images, and XLA has an operation there.

In which order that operation compares the elements of a window is XLA's own affair. So on TPUs, of several that are equal and the largest,
any one gets the number, and not always the first, as elsewhere; NaN is larger than all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.extend.mlir import ir
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import ad, batching, mlir

Steps = tuple[int, ...]


def places_of(kernel: Steps) -> list[Steps]:
    """Offsets of a window's elements, in the order of memory."""
    places: list[Steps] = [()]
    for n in kernel:
        places = [(*p, i) for p in places for i in range(n)]
    return places


def low(dtype: np.dtype) -> Array:
    """The smallest value of the dtype: a maximum over nothing else gives it."""
    return jnp.asarray(-np.inf if dtype.kind not in "iub" else np.iinfo(dtype).min, dtype)


def room_behind(
    sizes: Steps, kernel: Steps, stride: Steps, padding: Steps, dilation: Steps, lengths: Steps
) -> list[int]:
    """How far the last window reaches beyond the input in each dimension."""
    return [
        max(0, (n - 1) * s + d * (k - 1) + 1 - p - length)
        for n, k, s, p, d, length in zip(sizes, kernel, stride, padding, dilation, lengths, strict=True)
    ]


def elements(
    x: Array, sizes: Steps, kernel: Steps, stride: Steps, padding: Steps, dilation: Steps, fill: Array
) -> list[Array]:
    """For each offset in the window, the elements there: arrays of the shape of the result."""
    lead = x.ndim - len(kernel)
    ends = room_behind(sizes, kernel, stride, padding, dilation, x.shape[lead:])
    if any(padding) or any(ends):
        x = jnp.pad(x, ((0, 0),) * lead + tuple(zip(padding, ends, strict=True)), constant_values=fill)
    parts = []
    for place in places_of(kernel):
        starts = [i * d for i, d in zip(place, dilation, strict=True)]
        part = tuple(slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(starts, sizes, stride, strict=True))
        parts.append(x[(..., *part)])
    return parts


def first_inside(sizes: Steps, kernel: Steps, stride: Steps, padding: Steps, dilation: Steps) -> np.ndarray:
    """The number of each window's first place that is within the input: the largest of elements that are all the smallest is there."""
    numbers = np.zeros((1,) * len(sizes), np.int32)
    for axis, (n, k, s, p, d) in enumerate(zip(sizes, kernel, stride, padding, dilation, strict=True)):
        offset = np.maximum(0, -(-(p - np.arange(n, dtype=np.int32) * s) // d))
        numbers = numbers * k + offset.reshape([-1 if i == axis else 1 for i in range(len(sizes))])
    return numbers


def first_largest(parts: list[Array], first: np.ndarray | int) -> tuple[Array, Array]:
    """The largest of several arrays, element by element, and which holds it first; NaN is larger than all.

    Args:
        first: the number of the array that holds it where none is larger than the smallest number.
    """
    best, places = parts[0], jnp.broadcast_to(jnp.asarray(first, np.int32), parts[0].shape)
    for number, part in enumerate(parts[1:], 1):
        better = part > best
        if part.dtype.kind not in "iub":
            better |= jnp.isnan(part)
        best, places = jnp.where(better, part, best), jnp.where(better, np.int32(number), places)
    return best, places


# ---- the derivative


class Windows(NamedTuple):
    """Over the last dimensions of an image: how many there are, their size, the steps between them, and the room before the image.

    ``first``: of several elements that are the largest, the first one counts, and not any of them.
    """

    sizes: Steps
    kernel: Steps
    stride: Steps
    before: Steps
    first: bool


picked_p, spread_p = Primitive("torchlike_picked"), Primitive("torchlike_spread")


def picked_by_largest(image: Array, other: Array, windows: Windows) -> Array:
    """The elements of ``other`` at the places where ``image`` has the largest of each window: the first one, or the last NaN."""
    return picked_p.bind(image, other, windows=windows)


@picked_p.def_abstract_eval
def _picked(image: ShapedArray, other: ShapedArray, *, windows: Windows) -> ShapedArray:
    return ShapedArray((*image.shape[: image.ndim - len(windows.sizes)], *windows.sizes), other.dtype)


@spread_p.def_abstract_eval
def _spread(image: ShapedArray, numbers: ShapedArray, *, windows: Windows) -> ShapedArray:
    return ShapedArray(image.shape, numbers.dtype)


# ---- derivatives and batches: each is linear in its second operand, and the other one is its transpose


def _declare(primitive: Primitive, transpose: Primitive) -> None:
    def transposed(cotangent: Array, image: Array, _: object, *, windows: Windows) -> tuple[None, Array]:
        return None, transpose.bind(image, cotangent, windows=windows)

    def tangent(t: Array, image: Array, _: object, *, windows: Windows) -> Array:
        return primitive.bind(image, t, windows=windows)

    def batched(operands: Any, places: Any, *, windows: Windows) -> tuple[Array, int]:
        size = next(a.shape[p] for a, p in zip(operands, places, strict=True) if p is not None)
        image, other = (
            jnp.broadcast_to(a, (size, *a.shape)) if p is None else jnp.moveaxis(a, p, 0)
            for a, p in zip(operands, places, strict=True)
        )
        return primitive.bind(image, other, windows=windows), 0

    # What runs outside of any trace, as in tests of JAX's own transforms.
    primitive.def_impl(jax.jit(primitive.bind, static_argnames="windows"))
    ad.deflinear2(primitive, transposed)
    ad.defjvp(primitive, None, tangent)
    batching.primitive_batchers[primitive] = batched


_declare(picked_p, spread_p)
_declare(spread_p, picked_p)

# ---- how a program computes them


def by_places(image: Array, other: Array, *, windows: Windows) -> Array:
    """``picked_by_largest`` by one image for each place of a window."""
    moves = (*windows[:4], (1,) * len(windows.sizes))
    _, places = first_largest(elements(image, *moves, low(image.dtype)), first_inside(*moves))
    zero = jnp.zeros((), other.dtype)
    parts = enumerate(elements(other, *moves, zero))
    total = zero
    for number, part in parts:
        total = total + jnp.where(places == number, part, zero)
    return total


def spread_by_places(image: Array, numbers: Array, *, windows: Windows) -> Array:
    """The transpose of ``by_places``: the numbers, added at these places."""
    places = jax.linear_transpose(
        lambda other: by_places(image, other, windows=windows), jax.ShapeDtypeStruct(image.shape, numbers.dtype)
    )
    return places(numbers)[0]


def _lower_spread(ctx: Any, image: Any, numbers: Any, *, windows: Windows) -> Any:
    if windows.first:
        return mlir.lower_fun(spread_by_places, multiple_results=False)(ctx, image, numbers, windows=windows)
    lengths = ctx.avals_in[0].shape
    lead = len(lengths) - len(windows.sizes)
    behind = room_behind(*windows[:4], (1,) * len(windows.sizes), lengths[lead:])
    room = [(0, 0)] * lead + list(zip(windows.before, behind, strict=True))
    kind, of_numbers = (ir.RankedTensorType(x.type).element_type for x in (image, numbers))
    one, number = (ir.RankedTensorType.get([], each) for each in (kind, of_numbers))
    zero = stablehlo.constant(ir.DenseElementsAttr.get_splat(number, ir.FloatAttr.get(of_numbers, 0.0)))
    sizes = ir.RankedTensorType.get([len(lengths), 2], ir.IntegerType.get_signless(64))
    pads = [ir.IntegerAttr.get(ir.IntegerType.get_signless(64), n) for pair in room for n in pair]
    spread = stablehlo.SelectAndScatterOp(
        ir.RankedTensorType.get(lengths, of_numbers),
        image,
        numbers,
        zero,
        window_dimensions=ir.DenseI64ArrayAttr.get((1,) * lead + windows.kernel),
        window_strides=ir.DenseI64ArrayAttr.get((1,) * lead + windows.stride),
        padding=ir.DenseElementsAttr.get(pads, sizes),
    )
    with ir.InsertionPoint(spread.select.blocks.append(one, one)) as here:
        chosen, next_one = here.block.arguments
        # The next one is chosen if it is larger, or NaN.
        larger = stablehlo.compare(next_one, chosen, stablehlo.ComparisonDirectionAttr.get("GT"))
        is_nan = stablehlo.compare(next_one, next_one, stablehlo.ComparisonDirectionAttr.get("NE"))
        stablehlo.return_([stablehlo.not_(stablehlo.or_(larger, is_nan))])
    with ir.InsertionPoint(spread.scatter.blocks.append(number, number)) as here:
        stablehlo.return_([stablehlo.add(*here.block.arguments)])
    return spread.results


mlir.register_lowering(picked_p, mlir.lower_fun(by_places, multiple_results=False))
mlir.register_lowering(spread_p, _lower_spread)
