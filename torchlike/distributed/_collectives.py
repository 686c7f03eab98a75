"""Collectives as recorded operations. A program runs each at the place where it was called."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..engine.aval import CPU, Aval
from ..engine.collective import AXIS, Group
from ..engine.kernel import Kernel
from ..engine.recorder import recorder
from ..engine.trace import Operation
from ..engine.value import Value
from ._groups import ReduceOp

__all__ = ["Collective", "placed", "record", "reduce_one"]

Compute = Callable[..., Sequence[Array]]


class Collective(Operation):
    """One exchange of arrays among the processes of a group.

    ``compute(size, *static, arrays)`` returns the results of this process. It is traced under the named axis ``AXIS``.
    """

    def __init__(self, name: str, compute: Compute) -> None:
        super().__init__()
        self.name, self.compute = name, compute

    def kernel(self, static: tuple[object, ...], args: tuple[object, ...], avals: tuple[Aval, ...]) -> Kernel:
        return self.kernels.get((static, avals), lambda: self._lower(static, avals))

    def _lower(self, static: tuple[Any, ...], avals: tuple[Aval, ...]) -> Kernel:
        group, *others = static
        if not group.on_cpu or any(aval.placement.platform != "cpu" for aval in avals):
            raise NotImplementedError("torchlike does not support collectives of tensors that are not on the CPU yet")

        def collective(*arrays: Array) -> tuple[Array, ...]:
            return tuple(self.compute(group.size, *others, arrays))

        words = ", ".join(
            [
                *(option.name if isinstance(option, ReduceOp) else str(option) for option in others),
                *map(repr, avals[:4]),
            ]
        )
        call = f"{self.name}({words}{', ...' if len(avals) > 4 else ''})"
        return Kernel(self.name, collective, avals, CPU, group=group, call=call)


def record(op: Collective, group: Group, static: tuple[object, ...], values: Sequence[Value]) -> list[Value]:
    """Records a collective and returns the results of this process as pending values."""
    own_recorder = recorder()
    if own_recorder.group() not in (None, group):
        # A program is compiled for the devices of one group.
        own_recorder.flush("a collective of another group follows", hot=True)
    group.note_call()
    return own_recorder.record(op, (group, *static), list(values), ())[1]


# ---- the computations. Narrow dtypes that the transport does not support are reduced in wider ones.

_BITS = {ReduceOp.BAND: jnp.bitwise_and, ReduceOp.BOR: jnp.bitwise_or, ReduceOp.BXOR: jnp.bitwise_xor}


def reduce_one(op: ReduceOp, size: int, x: Array) -> Array:
    """Reduces the arrays of all processes."""
    if x.dtype == jnp.bool_:
        if op in (ReduceOp.SUM, ReduceOp.MAX, ReduceOp.BOR):
            # As int32, which the transport knows. The sum of bools is their "or" in PyTorch, and so is the largest.
            return lax.pmax(x.astype(jnp.int32), AXIS).astype(bool)
        if op in (ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.BAND):
            return lax.pmin(x.astype(jnp.int32), AXIS).astype(bool)
        return (lax.psum(x.astype(jnp.int32), AXIS) % 2).astype(bool)
    if op is ReduceOp.SUM:
        return lax.psum(x, AXIS)
    if op is ReduceOp.AVG:
        return lax.psum(x, AXIS) / jnp.asarray(size, x.dtype)
    if op in (ReduceOp.MIN, ReduceOp.MAX):
        return (lax.pmin if op is ReduceOp.MIN else lax.pmax)(x, AXIS)
    # JAX has no exchange that multiplies or combines bits, so each process gathers all arrays and reduces them itself, in the same order.
    parts = lax.all_gather(x, AXIS)
    if op is ReduceOp.PRODUCT:
        return jnp.prod(parts, axis=0, dtype=x.dtype)
    result = parts[0]
    for term in parts[1:]:
        result = _BITS[op](result, term)
    return result


def placed(arrays: Sequence[Array], offsets: Sequence[int], size: int) -> Array:
    """The elements of arrays of one dtype, each array at its place in a vector, with zeros between.

    Each array is written into its place. XLA fuses ``concatenate`` with the operations before it on CPUs, and then asks for every element
    from which array it comes: that takes ten times as long as the copies.
    """
    # Without the barrier XLA makes the first write a padding, whose elements are as slow.
    flat = lax.optimization_barrier(jnp.zeros(size, arrays[0].dtype))
    for offset, array in zip(offsets, arrays, strict=True):
        flat = lax.dynamic_update_slice(flat, array.reshape(-1), (offset,))
    return flat


def _joined(arrays: Sequence[Array]) -> Array:
    sizes = [array.size for array in arrays]
    return placed(arrays, [0, *itertools.accumulate(sizes)][:-1], sum(sizes))


def _all_reduce(size: int, op: ReduceOp, arrays: Sequence[Array]) -> list[Array]:
    """Reduces each array over all processes. Arrays of one dtype are joined and sent together."""
    if len(arrays) == 1:
        return [reduce_one(op, size, arrays[0])]
    # One exchange instead of one for each array, since each exchange waits for the slowest process.
    flat = reduce_one(op, size, _joined(arrays))
    parts = jnp.split(flat, np.cumsum([array.size for array in arrays])[:-1])
    return [reduced.reshape(array.shape) for reduced, array in zip(parts, arrays, strict=True)]


def _broadcast(size: int, source: int, arrays: Sequence[Array]) -> list[Array]:
    """Broadcasts by a sum in which only the source's array is not zero. It sums the bits as integers, which preserves NaN and -0.0."""
    is_source = lax.axis_index(AXIS) == source
    bits = [_bits(array) for array in arrays]
    results: list[Array] = list(arrays)
    # Sorted, because all processes must send the same things in the same order.
    for dtype in sorted({array.dtype for array in bits}, key=str):
        places = [n for n, each in enumerate(bits) if each.dtype == dtype]
        flat = _joined([bits[n] for n in places])
        flat = lax.psum(jnp.where(is_source, flat, jnp.zeros_like(flat)), AXIS)
        parts = jnp.split(flat, np.cumsum([bits[n].size for n in places])[:-1])
        for n, received in zip(places, parts, strict=True):
            results[n] = _from_bits(received.reshape(bits[n].shape), arrays[n])
    return results


def _bits(array: Array) -> Array:
    if array.dtype == jnp.bool_:
        return array.astype(jnp.int32)
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        # XLA does not convert complex numbers to bits.
        array = jnp.stack([array.real, array.imag])
    if array.dtype.itemsize < 4:
        unsigned = {1: jnp.uint8, 2: jnp.uint16}[array.dtype.itemsize]
        return lax.bitcast_convert_type(array, unsigned).astype(jnp.int32)
    return lax.bitcast_convert_type(array, {4: jnp.int32, 8: jnp.int64}[array.dtype.itemsize])


def _from_bits(bits: Array, like: Array) -> Array:
    if like.dtype == jnp.bool_:
        return bits.astype(bool)
    if jnp.issubdtype(like.dtype, jnp.complexfloating):
        real, imag = lax.bitcast_convert_type(bits, like.real.dtype)
        return lax.complex(real, imag)
    if like.dtype.itemsize < 4:
        bits = bits.astype({1: jnp.uint8, 2: jnp.uint16}[like.dtype.itemsize])
    return lax.bitcast_convert_type(bits, like.dtype)


def _all_gather(size: int, arrays: Sequence[Array]) -> list[Array]:
    """Stacks the arrays of all processes along a new first dimension."""
    return [lax.all_gather(array, AXIS) for array in arrays]


def _reduce_scatter(size: int, op: ReduceOp, arrays: Sequence[Array]) -> list[Array]:
    """Reduces an array with one row for each process; each process gets its row of the result."""
    (x,) = arrays
    is_wide = x.dtype.itemsize >= 4 and x.dtype != jnp.bool_
    if op is ReduceOp.SUM and is_wide:
        return [lax.psum_scatter(x, AXIS)]
    if op is ReduceOp.AVG and is_wide and jnp.issubdtype(x.dtype, jnp.inexact):
        return [lax.psum_scatter(x, AXIS) / jnp.asarray(size, x.dtype)]
    return [lax.dynamic_index_in_dim(reduce_one(op, size, x), lax.axis_index(AXIS), keepdims=False)]


def _all_to_all(size: int, arrays: Sequence[Array]) -> list[Array]:
    """Sends row i of an array to process i."""
    return [lax.all_to_all(array, AXIS, 0, 0) for array in arrays]


ALL_REDUCE = Collective("all_reduce", _all_reduce)
BROADCAST = Collective("broadcast", _broadcast)
ALL_GATHER = Collective("all_gather", _all_gather)
REDUCE_SCATTER = Collective("reduce_scatter", _reduce_scatter)
ALL_TO_ALL = Collective("all_to_all", _all_to_all)
