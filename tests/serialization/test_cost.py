"""Files that would take unlimited time or memory, or end the process, are refused in time proportional to their length."""

import io
import pickle
import struct
import time
import zipfile

import pytest

import torchlike as torch
from tests.serialization.test_refusals import HEAD, archive, named, text

DEEP = b"]()" + b"\x85" * 100_000 + b"q\x00e"  # a tuple in a tuple in a tuple, kept in the memo
DOUBLED = b"]()q\x00" + b"h\x00h\x00\x86q\x00" * 60 + b"e"  # 2**60 empty tuples, in 400 bytes
KEPT = b"h\x00"
SET, ORDERED = named("builtins", "set"), named("collections", "OrderedDict")
NO_SENSE = "the pickle makes no sense "
A_KEY = NO_SENSE + r"\(ValueError: a key has more than 1000 parts\)"
TOO_MUCH = NO_SENSE + r"\(ValueError: it asks for far more than it holds\)"
NO_NAME = NO_SENSE + r"\(ValueError: a storage is mentioned by what is no name\)"

COSTLY = {
    "marks": (b"(" * 5_000_000, NO_SENSE + r"\(ValueError: more than 65536 marks are open\)"),
    "a deep key": (DEEP + b"}" + KEPT + b"Ns.", A_KEY),
    "a doubled key": (DOUBLED + b"}" + KEPT + b"Ns.", A_KEY),
    "doubled keys at once": (DOUBLED + b"}(" + KEPT + b"Nu.", A_KEY),
    "a doubled member of a set": (DOUBLED + SET + b"]" + KEPT + b"a\x85R.", A_KEY),
    "doubled things to count": (DOUBLED + named("collections", "Counter") + b"]" + KEPT + b"a\x85R.", A_KEY),
    "a doubled key of pairs": (DOUBLED + ORDERED + b"](" + KEPT + b"N\x86e\x85R.", A_KEY),
    "attributes as pairs": (DOUBLED + ORDERED + b")R](" + KEPT + b"N\x86eb.", NO_SENSE + r"\(TypeError: attributes come in a dict"),
    "a doubled function": (DOUBLED + KEPT + b")R.", "Trying to call reduce for unrecognized function a tuple of 2"),
    "a doubled class": (DOUBLED + KEPT + b")\x81.", "but got a tuple of 2"),
    "a doubled codec": (
        DOUBLED + named("_codecs", "encode") + text("a") + KEPT + b"\x86R.",
        "written by the codec 'a tuple of 2', which is not allowed",
    ),
    "a doubled storage": (
        DOUBLED + b"(" + text("storage") + named("torch", "FloatStorage") + KEPT + text("cpu") + b"K\x04tQ.", NO_NAME
    ),
    "a doubled place": (
        DOUBLED + b"(" + text("storage") + named("torch", "FloatStorage") + text("0") + KEPT + b"K\x04tQ.", NO_NAME
    ),
    "copies of a text": (
        named("_codecs", "encode") + b"q\x00" + text("a" * 100_000) + text("latin1") + b"\x86q\x01" + b"h\x00h\x01R" * 100_000 + b".",
        TOO_MUCH,
    ),
    "copies of a set": (
        SET + b"q\x00](" + b"".join(b"M" + i.to_bytes(2, "little") for i in range(2**16)) + b"e\x85q\x01" + b"h\x00h\x01R" * 20_000 + b".",
        TOO_MUCH,
    ),
    "one long key again and again": (
        b"](("+ b"K\x01" * 900 + b"tq\x00e}(" + b"h\x00N" * 100_000 + b"u.", TOO_MUCH
    ),
}  # fmt: skip


@pytest.mark.recorded
@pytest.mark.parametrize("name", COSTLY)
def test_what_would_cost_far_more_than_it_says_is_refused_at_once(name):
    pickled, why = COSTLY[name]
    file = archive(HEAD + pickled)
    began = time.process_time()
    with pytest.raises(pickle.UnpicklingError, match=why):
        torch.load(file)
    assert time.process_time() - began < 3


@pytest.mark.recorded
def test_costly_names_of_legacy_storages_are_refused():
    def legacy(keys):
        parts = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}]
        return io.BytesIO(b"".join(pickle.dumps(part, 2) for part in parts) + HEAD + b"}." + HEAD + keys)

    assert torch.load(legacy(b"].")) == {}
    with pytest.raises(RuntimeError, match="the file names storages that no tensor lies in"):
        torch.load(legacy(DOUBLED + b"]" + KEPT + b"a."))


@pytest.mark.recorded
def test_a_legacy_storage_that_cannot_be_there_is_not_asked_for(tmp_path):
    count = 2**60
    mention = b"(" + text("storage") + named("torch", "FloatStorage") + text("0") + text("cpu")
    mention += b"\x8a\x08" + count.to_bytes(8, "little") + b"NtQ"
    parts = [0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}]
    path = tmp_path / "x.pt"
    path.write_bytes(
        b"".join(pickle.dumps(part, 2) for part in parts) + HEAD + mention + b"." + pickle.dumps(["0"], 2)
        + count.to_bytes(8, "little") + bytes(16)
    )  # fmt: skip
    with pytest.raises(RuntimeError, match=rf"^unexpected EOF, expected {4 * count - 16} more bytes"):
        torch.load(path)


@pytest.mark.recorded
def test_deep_objects_that_can_be_saved_can_be_loaded():
    value, pairs = [], ()
    for _ in range(5000):
        value, pairs = [value, {}], (pairs, 1)
    file = io.BytesIO()
    torch.save([value, pairs, {(1, (2, (3, "a"))): 1}, {*range(1000)}], file)
    file.seek(0)
    loaded, others, keys, numbers = torch.load(file)
    depth = 0
    while loaded:
        loaded, others, depth = loaded[0], others[0], depth + 1
    assert depth == 5000 and others == ()
    assert keys == {(1, (2, (3, "a"))): 1} and len(numbers) == 1000


@pytest.mark.recorded
def test_records_that_overlap_are_refused():
    """The directory of a small file can list its one large record many times."""
    made = archive(HEAD + b"N.", **{"data/0": bytes(100), "data/1": bytes(100)})
    data = made.getvalue()
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        first, second = (opened.getinfo(f"archive/data/{n}").header_offset for n in (0, 1))
    at = data.rindex(struct.pack("<I", second), 0, data.rindex(b"archive/data/1"))
    moved = data[:at] + struct.pack("<I", first) + data[at + 4 :]
    with pytest.raises(RuntimeError, match="failed reading zip archive: two records are in one place"):
        torch.load(io.BytesIO(moved))
    size = data.rindex(struct.pack("<II", 100, 100), 0, data.rindex(b"archive/data/0"))
    longer = data[:size] + struct.pack("<II", 300, 300) + data[size + 8 :]
    with pytest.raises(RuntimeError, match="archive/data/0 reaches into what comes after it"):
        torch.load(io.BytesIO(longer))
