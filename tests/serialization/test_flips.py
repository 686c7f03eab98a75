"""If any single bit of a file is flipped, loading raises an error or gives the same tensors.

The bits whose change is not noticed do not describe the tensors: padding; times, versions, flags and repeated fields in the header of each
record and in the list of records; the fields for several disks and for a comment at the end of the archive; the records
``.format_version`` and ``.storage_alignment``, which are written for other programs. A mapped file is not read, so its elements may
change too.
"""

import io
import zipfile

import numpy as np
import pytest

import torchlike as torch
from tests.serialization.test_refusals import archive, saved

SAVED = saved({"a": torch.arange(3.0), "b": [torch.ones(2, 2, dtype=torch.int32).t(), 1.5, "x"]})
REFUSED = (RuntimeError, ValueError, EOFError, TypeError, torch.serialization._load.pickle.UnpicklingError)


def turned(data):
    """The file as a machine of the other byte order writes it."""
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        records = {name.partition("/")[2]: opened.read(name) for name in opened.namelist()}
    for name in records:
        if name.startswith("data/"):
            records[name] = np.frombuffer(records[name], np.uint32).byteswap().tobytes()
    return archive(records.pop("data.pkl"), **{**records, "byteorder": b"big"}).getvalue()


def places_of_data(data):
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        for info in opened.infolist():
            if "/data/" in info.filename:
                start = data.index(opened.read(info), info.header_offset + 30)
                yield from range(start, start + info.file_size)


def seen(loaded):
    a, (b, *others) = loaded["a"], loaded["b"]
    return [(t.dtype, t.shape, t.stride(), t.tolist()) for t in (a, b)], others, list(loaded)


@pytest.mark.costly
@pytest.mark.recorded
@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("data", [SAVED, turned(SAVED)], ids=["as written here", "of the other byte order"])
def test_a_flipped_bit_is_noticed_or_does_no_harm(tmp_path, data, mapped):
    path = tmp_path / "x.pt"
    unread = {*places_of_data(data)} if mapped else set()
    expected, harmless = seen(torch.load(io.BytesIO(data))), 0
    for place in range(len(data)):
        for bit in (1 << place % 8, 1 << (place + 3) % 8):
            flipped = bytearray(data)
            flipped[place] ^= bit
            path.write_bytes(flipped)
            try:
                found = seen(torch.load(path, mmap=mapped))
            except REFUSED:
                continue
            if place not in unread:
                assert found == expected, f"byte {place}, bit {bit}"
                harmless += 1
    assert 0 < harmless < len(data) * 2
