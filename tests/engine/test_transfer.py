"""Arrays of the host that are copied to a device."""

import jax
import ml_dtypes
import numpy as np
import pytest
from jax.core import Tracer

from torchlike.engine.aval import CPU
from torchlike.engine.memory import transfer
from torchlike.engine.memory.transfer import put

FLOATS = np.arange(24.0).reshape(2, 3, 4)
ARRAYS = {
    "of 64 bits": FLOATS,
    "of integers": np.arange(5),
    "of bool": np.arange(6) % 2 == 0,
    "of complex numbers": np.arange(5) * 1j,
    "of bfloat16": np.ones(3, ml_dtypes.bfloat16),
    "of float8": np.ones(3, ml_dtypes.float8_e4m3fn),
    "of no dimensions": np.array(7, np.int16),
    "of no elements": np.zeros((0, 3), np.float32),
    "with negative strides": FLOATS[::-1, :, ::2],
    "in the order of Fortran": np.asfortranarray(FLOATS[0]),
    "that repeats an element": np.broadcast_to(np.float32(3), (2, 2)),
    "that must not be written to": np.frombuffer(b"12345678", np.uint8),
    "that is large": np.arange(2**20, dtype=np.float32),
}


@pytest.fixture(params=["directly", "by device_put"])
def way(request, monkeypatch):
    """The function of JAX's that copies: its own, and the one that another version has."""
    if request.param == "by device_put":
        monkeypatch.setattr(transfer, "_put", None)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_elements_and_dtype_are_kept(array):
    there = put(array, CPU)
    assert there.dtype == array.dtype and there.shape == array.shape
    assert np.asarray(there).tobytes() == array.tobytes()
    assert there.devices() == {CPU.device} and there.committed


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("size", [1, 1000, 2**20])
def test_the_copy_shares_no_memory(size):
    for start in range(0, 16, 3):  # XLA takes memory over only where it is aligned
        array = np.zeros(size + 16, np.float32)[start : start + size]
        there = put(array, CPU)
        array[:] = 1
        assert not np.asarray(there).any()


@pytest.mark.usefixtures("way")
def test_a_copy_takes_no_part_in_a_trace():
    seen = []

    @jax.jit
    def traced(x):
        seen.append(put(np.ones(2), CPU))
        return x

    traced(1.0)
    assert not isinstance(seen[0], Tracer) and seen[0].dtype == np.float64
