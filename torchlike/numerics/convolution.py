"""A primitive of JAX for convolutions and their gradients, so that each platform computes them in the way that is fastest there.

Its parameter is a ``Geometry``, which names the one of three arrays that is computed from the other two. The derivatives of each are
the two others again, to any order. On a CPU with oneDNN, oneDNN computes it; elsewhere XLA does.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ..engine import onednn
from ..engine.geometry import Geometry
from .convolution_ways import by_cudnn, by_tpu, by_xla, for_processors
from .half_precision import is_half

convolution_p = Primitive("torchlike_convolution")


def convolve(first: Array, second: Array, geometry: Geometry, rounded: bool = True) -> Array:
    """The array that ``geometry.result`` names, of the two others in the order x, w, y.

    Half types are summed in float32, and rounded or left so.
    """
    return convolution_p.bind(first, second, geometry=geometry, wide=not rounded and is_half(first))


# ---- shapes, derivatives, batches


@convolution_p.def_abstract_eval
def _abstract(first: ShapedArray, second: object, *, geometry: Geometry, wide: bool) -> ShapedArray:
    return ShapedArray(geometry.shape(geometry.result), _dtype(first, wide))


def _dtype(first: Any, wide: bool) -> np.dtype:
    """The dtype of the result."""
    return np.dtype(np.float32) if wide else np.dtype(first.dtype)


def _gradient(place: int) -> Any:
    """The rule of the operand at a place: its array is computed from the cotangent and the other operand."""

    def rule(cotangent: Array, *operands: Array, geometry: Geometry, wide: bool) -> Array:
        operand, other = geometry.operands[place], operands[1 - place]
        # The cotangent of a result in float32, too, comes from what was rounded after it.
        arrays = {geometry.result: cotangent.astype(other.dtype), geometry.operands[1 - place]: other}
        turned = geometry._replace(result=operand)
        return convolve(arrays[turned.operands[0]], arrays[turned.operands[1]], turned)

    return rule


ad.defbilinear(convolution_p, _gradient(0), _gradient(1))


def _batched(operands: Any, places: Any, *, geometry: Geometry, wide: bool) -> tuple[Array, int]:
    """The rule for ``vmap``: several convolutions as one, in a way that depends on whether they share the images or the kernel."""
    size = next(a.shape[p] for a, p in zip(operands, places, strict=True) if p is not None)
    # At least one operand has the batch, and so has the result.
    batched = {geometry.result}
    arrays = {}
    for name, array, place in zip(geometry.operands, operands, places, strict=True):
        if place is not None:
            batched.add(name)
            array = jnp.moveaxis(array, place, 0)
        arrays[name] = array
    x, w, y, groups = geometry.x, geometry.w, geometry.y, geometry.groups
    # Where the batch goes in each array: in front of the images, or of the channels of each group, or it makes groups.
    if batched == {"x", "y"}:
        ways = {"x": (1, 0), "y": (1, 0)}
        x, y = (size * x[0], *x[1:]), (size * y[0], *y[1:])
    elif batched == {"w", "y"}:
        ways = {"w": (groups, 0), "y": (groups, 1)}
        w, y = (size * w[0], *w[1:]), (y[0], size * y[1], *y[2:])
    elif batched == {"x", "w"}:
        ways = {"x": (groups, 1), "w": (1, 1)}
        x, w = (x[0], size * x[1], *x[2:]), (w[0], size * w[1], *w[2:])
    else:
        ways = {"x": (1, 1), "w": (1, 0), "y": (1, 1)}
        groups = size * groups
        x, w, y = (x[0], size * x[1], *x[2:]), (size * w[0], *w[1:]), (y[0], size * y[1], *y[2:])
    merged = geometry._replace(x=x, w=w, y=y, groups=groups)
    first, second = (_merge(arrays[n], *ways[n]) if n in batched else arrays[n] for n in geometry.operands)
    return _split(convolve(first, second, merged, not wide), size, *ways[geometry.result]), 0


def _merge(array: Array, groups: int, axis: int) -> Array:
    """The leading dimension becomes part of dimension ``axis`` of the others, within each of so many groups."""
    shape = list(array.shape[1:])
    parts = array.reshape(array.shape[0], *shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
    moved = jnp.moveaxis(parts, 0, axis + 1)
    return moved.reshape(*shape[:axis], array.shape[0] * shape[axis], *shape[axis + 1 :])


def _split(array: Array, size: int, groups: int, axis: int) -> Array:
    """The inverse of ``_merge``."""
    shape = list(array.shape)
    parts = array.reshape(*shape[:axis], groups, size, shape[axis] // size // groups, *shape[axis + 1 :])
    moved = jnp.moveaxis(parts, axis + 1, 0)
    return moved.reshape(size, *shape[:axis], shape[axis] // size, *shape[axis + 1 :])


batching.primitive_batchers[convolution_p] = _batched


# ---- how a program computes it


def _by_fastest(first: Array, second: Array, geometry: Geometry, wide: bool) -> Array:
    call = onednn.call(onednn.Convolution(geometry, np.dtype(first.dtype), _dtype(first, wide)))
    return for_processors(first, second, geometry, wide) if call is None else call(first, second)[0]


def _lower(way: Any) -> Any:
    return mlir.lower_fun(lambda a, b, *, geometry, wide: way(a, b, geometry, wide), multiple_results=False)


def is_divided(ctx: Any) -> bool:
    """Whether XLA divides the program that is lowered among several devices. A call of oneDNN it would not: each would compute all."""
    context = ctx.module_context.axis_context
    devices = getattr(context, "num_devices", None)
    if devices is not None:
        return devices > 1
    # Within ``shard_map``, over all axes of the mesh, the function is that of one device.
    return set(context.mesh.axis_names) != set(context.manual_axes)


_ON_ONE_DEVICE, _ON_SEVERAL = _lower(_by_fastest), _lower(for_processors)


def _lower_for_processors(ctx: Any, *operands: Any, geometry: Geometry, wide: bool) -> Any:
    return (_ON_SEVERAL if is_divided(ctx) else _ON_ONE_DEVICE)(ctx, *operands, geometry=geometry, wide=wide)


# What runs outside of any trace, as in tests of JAX's own transforms.
convolution_p.def_impl(jax.jit(convolve, static_argnames=("geometry", "rounded")))
mlir.register_lowering(convolution_p, _lower(by_xla))
mlir.register_lowering(convolution_p, _lower_for_processors, platform="cpu")
mlir.register_lowering(convolution_p, _lower(by_cudnn), platform="cuda")
mlir.register_lowering(convolution_p, _lower(by_tpu), platform="tpu")
