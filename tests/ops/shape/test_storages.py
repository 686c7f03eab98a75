"""Storages as objects: copies, pickles, buffers, bytes turned round, and storages without elements on the meta device."""

import copy
import pickle
import warnings

import numpy as np
import pytest

import torchlike as torch

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")


@pytest.mark.parametrize("name", ["storage", "untyped_storage"])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_copied_storage_has_memory_of_its_own(name, copied):
    x = torch.tensor([1.0, 2.0])
    storage = getattr(x, name)()
    other = copied(storage)
    assert type(other) is type(storage) and other.tolist() == storage.tolist()
    other.fill_(0)
    assert x.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", ["storage", "untyped_storage"])
@pytest.mark.parametrize("first", [0, 1], ids=["tensor first", "storage first"])
def test_what_shares_memory_shares_it_in_a_deep_copy(name, first):
    x = torch.tensor([1.0, 2.0])
    pair = copy.deepcopy([x, getattr(x, name)()][:: -1 if first else 1])
    copied, storage = pair[:: -1 if first else 1]
    copied.fill_(7)
    assert storage.tolist() == getattr(torch.full((2,), 7.0), name)().tolist() and x.tolist() == [1.0, 2.0]


def test_slices_of_elements_are_written():
    storage = torch.zeros(4).storage()
    for index, value, expected in (
        (slice(1, 3), 5, [0, 5, 5, 0]),
        (slice(0, 4, 2), 7, [7, 5, 7, 0]),
        (slice(None), 2, [2, 2, 2, 2]),
    ):
        storage[index] = value
        assert storage.tolist() == expected


def test_bytes_are_turned_round_in_each_element():
    cases = {
        torch.float64: [63, 240] + [0] * 6,
        torch.int16: [0, 1],
        torch.complex64: [63, 128] + [0] * 6,
        torch.bool: [1],
    }
    for dtype, expected in cases.items():
        storage = torch.ones(2, dtype=dtype).untyped_storage()
        storage.byteswap(dtype)
        assert storage.tolist() == expected * 2


def test_storages_are_made_from_buffers():
    make, buffer = torch.UntypedStorage.from_buffer, bytearray(b"\1\2\3\4")
    assert make(buffer, dtype=torch.uint8).tolist() == [1, 2, 3, 4]
    assert make(buffer, "big", dtype=torch.int16).tolist() == [2, 1, 4, 3]
    assert make(buffer, "native", count=1, offset=2, dtype=torch.int16).tolist() == [3, 4]
    for call, kind, words in (
        (
            lambda: make(buffer, dtype=torch.int16),
            RuntimeError,
            "function missing required argument 'byte_order' (pos 2)",
        ),
        (lambda: make(buffer), RuntimeError, "argument 'dtype' cannot be None"),
        (
            lambda: make(buffer[:3], "native", dtype=torch.int16),
            ValueError,
            "buffer size (3) must be a multiple of element size (2)",
        ),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert str(caught.value) == words


def test_storages_on_meta_have_a_size_and_no_elements():
    typed, untyped = torch.empty(3, device="meta").storage(), torch.UntypedStorage(12, device="meta")
    assert (typed.size(), untyped.size(), typed.data_ptr(), untyped.device.type) == (3, 12, 0, "meta")
    assert repr(typed) == "...\n[torch.storage.TypedStorage(dtype=torch.float32, device=meta) of size 3]"
    assert repr(untyped) == "...\n[torch.storage.UntypedStorage(device=meta) of size 12]"
    untyped[0] = typed[0] = 1  # nothing is written
    for storage in (typed, untyped):
        assert copy.deepcopy(storage).device.type == "meta"
        for call in (lambda s: s[0], lambda s: s.tolist(), list):
            with pytest.raises(NotImplementedError) as caught:
                call(storage)
            assert str(caught.value) == "Not available for 'meta' device type"


def test_a_storage_gets_another_size():
    x = torch.arange(4.0)
    part, same = x[1:3], x.detach()
    storage = x.untyped_storage()
    assert storage.resize_(32) is storage and storage.nbytes() == 32 and storage.resizable()
    assert x.tolist() == same.tolist() == [0, 1, 2, 3] and part.tolist() == [1, 2]
    assert not x._is_view() and part._base is x
    part.add_(10)
    x.mul_(2)
    assert x.tolist() == same.tolist() == [0, 22, 24, 6] and part.tolist() == [22, 24]
    assert x.resize_(8)[:4].tolist() == [0, 22, 24, 6] and x.data_ptr() + 4 == part.data_ptr()


def test_memory_that_is_dropped_comes_back():
    w = torch.ones(3)
    w.untyped_storage().resize_(0)
    assert w.untyped_storage().nbytes() == 0 and w.shape == (3,)
    w.untyped_storage().resize_(12)
    assert w.copy_(torch.arange(3.0)).tolist() == [0, 1, 2] and w.untyped_storage().nbytes() == 12


@pytest.mark.parametrize("attribute", [False, True])
def test_gradients_go_through_a_tensor_whose_memory_has_grown(attribute):
    y = torch.ones(2, 2, requires_grad=True)
    if attribute:
        y.note = "the attributes of such a tensor may be elsewhere"  # pyright: ignore[reportAttributeAccessIssue]
    z = y * 2
    y.untyped_storage().resize_(100)
    z.sum().backward()
    (y * y).sum().backward()
    assert y.grad.tolist() == [[4, 4], [4, 4]] and y.is_leaf


def test_typed_storages_are_resized_in_elements():
    with warnings.catch_warnings(action="ignore"):
        storage = torch.ones(2).storage()
        assert storage.resize_(10) is None and len(storage) == 10 and storage.resizable()
        meta = torch.empty(3, device="meta").storage()
        assert meta.resize_(5) is None and meta.size() == 5


def test_memory_of_numpy_keeps_its_size():
    x = torch.from_numpy(np.ones(3))
    assert not x.untyped_storage().resizable()
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        x.untyped_storage().resize_(100)


def test_a_memory_has_one_object():
    x = torch.ones(2)
    storage = x.untyped_storage()
    assert storage is x.untyped_storage() and storage is x[1:].untyped_storage()


def test_storages_of_one_memory_have_one_number():
    x, other = torch.ones(3), torch.ones(3)
    same = [x.storage(), x.untyped_storage(), x[1:].storage(), x.view(3, 1).storage().untyped()]
    assert {each._cdata for each in same} == {x.storage()._cdata} and other.storage()._cdata != x.storage()._cdata


def test_the_names_of_typed_storages_are_known_by_dtype():
    names = torch.storage._dtype_to_storage_type_map()
    assert names[torch.float32] == "FloatStorage" and names[torch.bool] == "BoolStorage"
    assert all(torch.storage._storage_type_to_dtype_map()[name] is dtype for dtype, name in names.items())


@pytest.mark.parametrize("name", ["float64", "bfloat16", "complex64", "uint8", "bool"])
def test_a_tensor_names_the_old_class_of_its_storage(name):
    dtype = getattr(torch, name)
    kind = torch.zeros(2, dtype=dtype).storage_type()
    assert kind is getattr(torch, torch.storage._dtype_to_storage_type_map()[dtype])
    assert kind(2).dtype is dtype and isinstance(torch.zeros(2, dtype=dtype).storage(), kind)
