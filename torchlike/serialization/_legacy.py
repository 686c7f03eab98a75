"""The format before PyTorch 1.6: pickles one after the other, and after them the memory of each storage."""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ._bounds import described
from ._names import storage_dtype
from ._pickler import Pickler
from ._safe_unpickler import SafeUnpickler, Survey, as_texts, unsafe_pickle

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
_SIZES = {"short": 2, "int": 4, "long": 4}


def write_legacy(obj: object, file: Any, protocol: int) -> None:
    """Writes an object in this format."""
    system = {"protocol_version": PROTOCOL, "little_endian": sys.byteorder == "little", "type_sizes": _SIZES}
    text = io.BytesIO()
    pickler = Pickler(text, protocol, legacy=True)
    pickler.dump(obj)
    for part in (MAGIC, PROTOCOL, system):
        file.write(pickle.dumps(part, protocol))
    file.write(text.getvalue())
    file.write(pickle.dumps(sorted(pickler.memory), protocol))
    for key in sorted(pickler.memory):
        data = pickler.memory[key]
        file.write(struct.pack("<q", data.size))
        file.write(data.view(np.uint8).data)


def read_legacy(
    file: Any,
    unpickle: Callable[[object, Callable[[tuple[object, ...]], object]], object],
    restore: Any,
    safe: bool = True,
) -> Any:
    """Reads an object in this format.

    Args:
        unpickle: reads one pickle from the file; its argument converts a reference to a storage.
        safe: whether what is no such file is not unpickled either.
        restore: makes memory from raw data, its location and the dtype in the file.
    """
    _check_head(file, safe)
    start = file.tell()
    # The memory comes after the pickle that needs it. A first pass, which calls nothing, finds the size of each storage.
    memories_named: dict[str, tuple[Any, ...]] = {}
    Survey(file, lambda mention: _note(memories_named, mention)).load()
    keys = _plain(file)
    if (
        not isinstance(keys, list)
        or not {type(key) for key in keys} <= {str, bytes, int}
        or not set(keys) <= set(memories_named)
    ):
        raise RuntimeError("the file names storages that no tensor lies in: the file might be corrupted")
    memories = {key: restore(_data(file, memories_named[key]), memories_named[key]) for key in keys}
    end = file.tell()
    file.seek(start)

    def persistent(mention: tuple[object, ...]) -> Any:
        mention = as_texts(mention)
        if mention[0] == "module":  # a class with its source text, which PyTorch compares with the current one
            return mention[1]
        if mention[2] not in memories:
            raise RuntimeError(f"the file does not hold the storage {mention[2]!r} that a tensor lies in")
        return memories[mention[2]].piece(_storage_part(mention))

    result = unpickle(file, persistent)
    file.seek(end)
    return result


def _check_head(file: object, safe: bool) -> None:
    # What is no pickle at all is found here. The words are those of the unpickler.
    magic = _plain(file) if safe else pickle.load(file)  # pyright: ignore[reportArgumentType]
    if magic != MAGIC:
        raise RuntimeError("Invalid magic number; corrupt file?")
    protocol = _plain(file)
    if protocol != PROTOCOL:
        raise RuntimeError(f"Invalid protocol version: {described(protocol)}")
    system = _plain(file)
    if not isinstance(system, dict) or not system.get("little_endian", True):
        raise NotImplementedError("torchlike does not read files in the legacy format of big-endian machines")


def _plain(file: object) -> Any:
    def persistent(mention: object) -> Any:
        raise unsafe_pickle("a storage is mentioned where none can be")

    return SafeUnpickler(file, persistent).load()


def _note(mentioned: dict[str, tuple[object, ...]], mention: object) -> None:
    if not isinstance(mention, tuple) or not mention:
        raise unsafe_pickle(f"saved_id must be a tuple, got {type(mention).__name__}")
    if mention[0] != "storage":
        return
    _storage_part(mention)
    mentioned.setdefault(mention[2], mention)


def _storage_part(mention: tuple[Any, ...]) -> tuple[int, int] | None:
    """The elements of the memory that belong to a storage, if not all do: PyTorch before 0.4 wrote such storages."""
    if len(mention) < 6 or mention[5] is None:
        return None
    _, first, count = mention[5]
    if not all(type(n) is int and n >= 0 for n in (first, count, mention[4])) or first + count > mention[4]:
        raise RuntimeError(
            f"a storage is said to be {count} elements from {first} on of {mention[4]}: the file might be corrupted"
        )
    return first, count


def _data(file: Any, mention: tuple[object, ...]) -> np.ndarray:
    dtype = storage_dtype(mention[1])
    head = file.read(8)
    if len(head) < 8:
        raise RuntimeError(f"unexpected EOF, expected {8 - len(head)} more bytes. The file might be corrupted.")
    (count,) = struct.unpack("<q", head)
    if count != mention[4]:
        raise RuntimeError(f"a storage of {mention[4]} elements is written with {count}: the file might be corrupted")
    size = count * (1 if dtype is None else dtype.itemsize)
    # Never read more bytes than the file has: a damaged size could exceed the memory.
    data = file.read(size) if 0 <= size <= _bytes_left(file) else b""
    if len(data) < size:
        raise RuntimeError(
            f"unexpected EOF, expected {size - min(size, _bytes_left(file))} more bytes. The file might be corrupted."
        )
    return np.frombuffer(data, np.uint8)


def _bytes_left(file: Any) -> int:
    """The number of bytes from the current position to the end of the file."""
    position = file.tell()
    file.seek(0, io.SEEK_END)
    end = file.tell()
    file.seek(position)
    return end - position
