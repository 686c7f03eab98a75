"""Options of save and load, and the locations of storages."""

import mmap

import pytest

import torchlike as torch
from torchlike import serialization


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
