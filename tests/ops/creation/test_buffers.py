"""Tensors over memory that others have made: buffers, storages, capsules, numbers of NumPy; and memory in another order of dimensions."""

import array
from typing import Any

import numpy as np
import pytest

import torchlike as torch
from torchlike.utils.dlpack import to_dlpack

BYTES = b"\x00\x00\x80\x3f\x00\x00\x00\x40"  # 1.0 and 2.0 in float32


def shown(values: Any, dtype: Any) -> memoryview:
    return memoryview(np.array(values, dtype))  # pyright: ignore[reportArgumentType]


BUFFERS = {
    "bytes": (lambda: BYTES, [1.0, 2.0]),
    "bytearray": (lambda: bytearray(BYTES), [1.0, 2.0]),
    "memoryview": (lambda: memoryview(bytearray(BYTES)), [1.0, 2.0]),
    "array of float64": (lambda: array.array("d", [1.0, 2.0]), [0.0, 1.875, 0.0, 2.0]),
    "memoryview of complex": (lambda: shown([1, 1], np.complex64), [1.0, 0.0, 1.0, 0.0]),
    "memoryview of a matrix": (lambda: shown([[1.0, 2.0]], np.float32), [1.0, 2.0]),
}


@pytest.mark.filterwarnings("ignore:The given buffer is not writable")
@pytest.mark.parametrize("name", BUFFERS)
def test_asarray_takes_the_bytes_of_a_buffer(name):
    make, expected = BUFFERS[name]
    assert torch.asarray(make()).tolist() == expected
    assert torch.asarray(make(), copy=False).tolist() == expected
    raw = torch.asarray(make(), dtype=torch.uint8)
    assert bytes(raw.tolist()) == bytes(make())


def test_asarray_shares_memory_with_a_buffer():
    buffer = bytearray(8)
    x = torch.asarray(buffer, dtype=torch.float32)
    x[0] = 1
    assert buffer == BYTES[:4] + bytes(4)
    buffer[4:] = BYTES[4:]
    assert x.tolist() == [1.0, 2.0]
    y = torch.asarray(buffer, dtype=torch.float32, copy=True)
    y[0] = 5
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        (
            bytearray(7),
            ValueError,
            "buffer length (7 bytes) after offset (0 bytes) must be a multiple of element size (4)",
        ),
        (b"", ValueError, "both buffer length (0) and count (-1) must not be 0"),
        (shown(range(6), np.int64)[::2], RuntimeError, "could not retrieve buffer from object"),
    ],
)
def test_asarray_refuses_buffers_that_hold_no_elements(given, kind, words):
    with pytest.raises(kind) as caught:
        torch.asarray(given)
    assert str(caught.value) == words


def test_asarray_does_not_alias_a_number_of_numpy():
    assert torch.asarray(np.float64(3.0)).dtype is torch.float64
    with pytest.raises(RuntimeError, match="can't alias NumPy scalars"):
        torch.asarray(np.float64(3.0), copy=False)


def test_asarray_takes_a_capsule():
    assert torch.asarray(to_dlpack(torch.ones(2))).tolist() == [1.0, 1.0]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_tensors_over_storages():
    x = torch.arange(4)
    assert torch.tensor(x.untyped_storage()).tolist() == [0, 1, 2, 3]
    assert torch.as_tensor(x.untyped_storage(), dtype=torch.int32).tolist() == [0, 0, 1, 0, 2, 0, 3, 0]
    assert torch.tensor(torch.ones(2).storage()).tolist() == [1.0, 1.0]
    torch.tensor(x.untyped_storage())[0] = 9  # the memory is shared
    assert x.tolist() == [9, 1, 2, 3]
    for dtype in (None, torch.float32):
        with pytest.raises(RuntimeError) as caught:
            torch.tensor(x.storage(), dtype=dtype)
        assert str(caught.value) == "Expected a Storage of type Float or an UntypedStorage, but got Long"
    with pytest.raises(ValueError, match="can't alias arbitrary sequence into a tensor."):
        torch.asarray(x.untyped_storage(), copy=False)


def test_memory_in_another_order_of_dimensions():
    last = torch.channels_last
    assert torch.empty(2, 3, 2, 2, memory_format=last).stride() == (12, 1, 6, 3)
    assert torch.empty_like(torch.ones(2, 3, 2, 2), memory_format=last).stride() == (12, 1, 6, 3)
    assert torch.empty(2, 3, 2, 2, memory_format=last, requires_grad=True).is_leaf
    x = torch.arange(24.0).resize_(2, 3, 2, 2, memory_format=last)
    assert x.stride() == (12, 1, 6, 3) and x.flatten()[:5].tolist() == [0.0, 3.0, 6.0, 9.0, 1.0]
    y = torch.arange(24.0).reshape(2, 3, 2, 2).resize_(2, 3, 2, 2, memory_format=last)
    assert torch.equal(x, y) and y.is_contiguous(memory_format=last)
    for layout, strides in ((None, (12, 4, 2, 1)), (torch.preserve_format, (12, 1, 6, 3)), (last, (12, 1, 6, 3))):
        assert torch.empty(1).resize_as_(x, memory_format=layout).stride() == strides
    for call in (lambda: torch.empty(2, memory_format=torch.preserve_format),):
        with pytest.raises(RuntimeError, match="unsupported memory format Preserve"):
            call()
