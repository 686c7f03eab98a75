"""Archives record by record, and fake tensors that are saved as room for real ones."""

import io
import sys
from typing import Any

import pytest

import torchlike as torch
from torchlike import serialization
from torchlike._subclasses import FakeTensorMode

RECORDS = {"a": b"12039810948234589", "b/c": b"", "note": b"words"}


@pytest.mark.parametrize("is_path", [True, False])
def test_records_come_back(tmp_path, is_path):
    place: Any = tmp_path / "some.pt" if is_path else io.BytesIO()
    with serialization._open_zipfile_writer(place) as writer:
        for name, data in RECORDS.items():
            writer.write_record(name, data, len(data))
        writer.write_record("text", "longer than this", 6)
        writer.write_record("storage", torch.tensor([1, 2], dtype=torch.uint8).untyped_storage(), 2)
        writer.write_record_metadata("room", 4)
        assert writer.get_all_written_records() == {*RECORDS, "text", "storage", "room"}
        assert writer.archive_name() == ("some" if is_path else "archive")
    expected = RECORDS | {"text": b"longer", "storage": b"\1\2", "room": bytes(4)}
    with serialization._open_file_like(place, "rb") as file, serialization._open_zipfile_reader(file) as reader:
        file.seek(0)
        whole = file.read()
        assert reader.get_all_records() == [*expected, "version", "byteorder"]
        for name, data in expected.items():
            offset = reader.get_record_offset(name)
            assert reader.get_record(name) == data == whole[offset : offset + len(data)]
            assert reader.has_record(name) and reader.get_record_size(name) == len(data)
        assert reader.get_record("byteorder") == sys.byteorder.encode() and not reader.has_record("c")
        with pytest.raises(RuntimeError, match="failed locating file c: file not found"):
            reader.get_record("c")


def test_a_checkpoint_may_be_written_record_by_record():
    saved, made = io.BytesIO(), io.BytesIO()
    torch.save({"w": torch.ones(3)}, saved)
    with serialization._open_zipfile_reader(saved) as reader, serialization._open_zipfile_writer(made) as writer:
        data = reader.get_record("data.pkl")
        writer.write_record("data.pkl", data, len(data))
        writer.write_record_metadata("data/0", reader.get_record_size("data/0"))
    assert torch.load(io.BytesIO(made.getvalue()))["w"].tolist() == [0, 0, 0]


def test_fake_tensors_become_room_for_real_ones():
    with FakeTensorMode():
        t = torch.randn(2, 3, dtype=torch.float64)
        parts = {"t": t, "view": t.view(-1), "row": t[1]}
    file = io.BytesIO()
    with serialization.skip_data(materialize_fake_tensors=True):
        torch.save(parts, file)
    loaded = torch.load(io.BytesIO(file.getvalue()))
    assert {name: (type(each), each.shape, each.dtype) for name, each in loaded.items()} == {
        name: (torch.Tensor, each.shape, torch.float64) for name, each in parts.items()
    }
    loaded["t"].fill_(5.0)
    assert loaded["row"].tolist() == [5, 5, 5] and loaded["view"].sum() == 30
    assert not serialization._options.skipping.materializes  # pyright: ignore[reportAttributeAccessIssue]
