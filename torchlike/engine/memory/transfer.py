"""Copies arrays of the host to a device: a batch, a number, a state that NumPy computed."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray, Tracer

from ..aval import Meshed, Placement
from ..described import sent
from ..jax_settings import drop_what_was_sent, with_64_bits
from ..threads import refuse_xla, state

try:
    from jax._src.lib import _jax  # pyright: ignore[reportPrivateImportUsage]

    # What ``jax.device_put`` comes to after some forty calls of Python, which take ten times as long as copying a small array.
    # It takes part in no trace of the user's. The array is copied within the call: nobody holds the host's afterwards.
    _put: Any = functools.partial(
        _jax.batched_device_put,
        committed=True,
        host_buffer_semantics=_jax.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL,
        enable_x64=True,
    )
except (ImportError, AttributeError):  # another version of JAX has no such function
    _put = None

# After so many bytes JAX drops the host's arrays, see ``drop_what_was_sent``. On a CPU, where copying takes no longer than waiting for
# it, it is waited for.
MAX_SENT_BYTES = 8 * 2**20


class _Sent:
    """``nbytes``: what was copied to devices since the host's arrays were dropped."""

    nbytes = 0


def put(array: np.ndarray, placement: Placement) -> jax.Array:
    """Copies a host array to a device with its dtype kept, 64-bit types included."""
    if state.by_numpy_alone:
        refuse_xla("a JAX array")
    if placement.described:
        return sent(array, placement)  # pyright: ignore[reportReturnType]
    if _put is not None and not isinstance(placement, Meshed):
        return _put(_shaped(array.shape, array.dtype), placement.sharding, (array,), (placement.device,))
    return _put_by_jax(array, placement)


@functools.lru_cache(maxsize=4096)
@with_64_bits
def _shaped(shape: tuple[int, ...], dtype: np.dtype) -> ShapedArray:
    return ShapedArray(shape, dtype)


@with_64_bits
def _put_by_jax(array: np.ndarray, placement: Placement) -> jax.Array:
    """The same over several devices, and in other versions of JAX."""
    stored = placement.stored(array.shape)
    if stored != array.shape:
        array = np.pad(array, [(0, more - n) for more, n in zip(stored, array.shape, strict=True)])
    array = np.array(array)  # on a CPU, JAX takes over the memory of an aligned array, even where it is told not to
    there = jax.device_put(array, placement.sharding)
    if isinstance(there, Tracer):  # the user may be inside a JAX trace, in which this array takes no part
        with jax.ensure_compile_time_eval():
            there = jax.device_put(array, placement.sharding)
    _Sent.nbytes += array.nbytes
    if _Sent.nbytes >= MAX_SENT_BYTES:
        _Sent.nbytes = 0
        if placement.platform == "cpu":
            there.block_until_ready()
        drop_what_was_sent()
    return there
