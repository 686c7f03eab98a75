"""Options of save and load, and the locations of storages."""

import io
import mmap
import warnings
import zipfile

import pytest

import torchlike as torch
from torchlike import serialization
from torchlike.serialization._rebuild import _rebuild_sparse_tensor


def test_the_place_of_a_storage():
    storage = torch.ones(2).untyped_storage()
    assert serialization.location_tag(storage) == "cpu"
    assert serialization.default_restore_location(storage, "cpu") is storage
    with pytest.raises(RuntimeError, match=r"don't know how to restore data location of .* \(tagged with foo\)"):
        serialization.default_restore_location(storage, "foo")


def test_registered_packages_come_first(monkeypatch):
    monkeypatch.setattr("torchlike.serialization._options._packages", [])
    storage, other = torch.ones(2).untyped_storage(), torch.zeros(2).untyped_storage()
    serialization.register_package(20, lambda s: "later", lambda s, place: None)
    serialization.register_package(10, lambda s: "shelf", lambda s, place: other if place == "shelf" else None)
    assert serialization.location_tag(storage) == "shelf"
    assert serialization.default_restore_location(storage, "shelf") is other
    assert serialization.default_restore_location(storage, "cpu") is storage


def test_settings_are_kept():
    assert serialization.get_default_load_endianness() is None and serialization.get_crc32_options() is True
    serialization.set_default_load_endianness(serialization.LoadEndianness.LITTLE)
    assert serialization.get_default_load_endianness() is serialization.LoadEndianness.LITTLE
    serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="^Invalid argument type in function set_default_load_endianness$"):
        serialization.set_default_load_endianness(3)  # pyright: ignore[reportArgumentType]
    with serialization.set_default_mmap_options(mmap.MAP_PRIVATE):
        assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    with pytest.raises(NotImplementedError, match="MAP_SHARED"):
        serialization.set_default_mmap_options(mmap.MAP_SHARED)


def test_elements_can_be_left_out(tmp_path):
    values, path = {"a": torch.arange(4.0), "b": torch.ones(2, dtype=torch.int64)}, tmp_path / "x.pt"
    torch.save(values, path)
    whole = path.stat().st_size
    with serialization.skip_data():
        torch.save(values, path)
        assert torch.load(path)["a"].shape == (4,)
    assert path.stat().st_size == whole
    assert {name: tensor.tolist() for name, tensor in torch.load(path).items()} == {"a": [0] * 4, "b": [0] * 2}
    torch.save(values, path)
    assert torch.load(path)["a"].tolist() == [0, 1, 2, 3]


class Bare:
    """A file with no more methods than ``torch.save`` and ``torch.load`` call."""

    def __init__(self):
        self.memory = io.BytesIO()
        for name in ("write", "flush", "read", "readline", "seek", "tell"):
            setattr(self, name, getattr(self.memory, name))


def test_files_need_not_say_that_they_are_seekable():
    file = Bare()
    torch.save(torch.ones(2), file)
    file.seek(0)  # pyright: ignore[reportAttributeAccessIssue]
    assert torch.load(file).tolist() == [1, 1]


def test_checksums_are_left_out_if_a_program_wants_that():
    torch.serialization.set_crc32_options(False)
    try:
        file = io.BytesIO()
        torch.save(torch.ones(2), file)
    finally:
        torch.serialization.set_crc32_options(True)
    assert {info.CRC for info in zipfile.ZipFile(file).infolist()} == {0}
    file.seek(0)
    assert torch.load(file).tolist() == [1, 1]


def test_files_that_name_no_byte_order_have_the_one_that_is_set():
    whole, bare = io.BytesIO(), io.BytesIO()
    torch.save(torch.tensor([1, 256]), whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(bare, "w") as target:
        for info in source.infolist():
            if not info.filename.endswith("byteorder"):
                target.writestr(info.filename, source.read(info))
    seen = {}
    for order in (None, torch.serialization.LoadEndianness.LITTLE, torch.serialization.LoadEndianness.BIG):
        torch.serialization.set_default_load_endianness(order)
        try:
            bare.seek(0)
            seen[order] = torch.load(bare).tolist()
        finally:
            torch.serialization.set_default_load_endianness(None)
    assert [*seen.values()] == [[1, 256], [1, 256], [1 << 56, 1 << 48]]


def test_empty_memory_has_any_dtype():
    empty = torch.tensor([])
    with warnings.catch_warnings(action="ignore"):
        storage = torch.TypedStorage(wrap_storage=empty.untyped_storage(), dtype=torch.int64)
    file = io.BytesIO()
    torch.save([empty, storage], file)
    file.seek(0)
    assert len(torch.load(file)) == 2


class Rebuilt:
    def __reduce_ex__(self, protocol):
        layout = torch.sparse_coo, (torch.tensor([[0, 1]]), torch.ones(2), torch.Size([3]))
        return _rebuild_sparse_tensor, layout


def test_pytorchs_functions_that_rebuild_tensors_may_be_in_a_reduction():
    file = io.BytesIO()
    torch.save({"x": Rebuilt()}, file)
    file.seek(0)
    assert torch.load(file)["x"].to_dense().tolist() == [1, 1, 0]
