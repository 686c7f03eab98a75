"""The files of a checkpoint: one holds the elements of all tensors in pieces, the other the position of each piece.

``.metadata`` is JSON. It names the data file and is replaced last, in one step of the file system. So an interrupted save leaves
the previous checkpoint intact.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from ..._core import dtypes
from ...engine.aval import Meshed
from ...engine.jax_settings import tracing
from ...engine.value import Value

__all__ = ["Piece", "Saved", "array_of", "read", "snapshot", "value_of", "write"]

METADATA, VERSION = ".metadata", 1
# Each piece begins at a multiple of this many bytes.
ALIGNMENT = 64


class Piece(NamedTuple):
    """A part of a tensor: its start along each dimension, its shape, and the position of its elements in the file."""

    start: tuple[int, ...]
    shape: tuple[int, ...]
    offset: int


class Saved(NamedTuple):
    """A tensor of a checkpoint."""

    dtype: str
    shape: tuple[int, ...]
    pieces: tuple[Piece, ...]


def snapshot(value: Value) -> Callable[[], Iterator[tuple[tuple[int, ...], np.ndarray]]]:
    """Returns a function that yields the pieces of a value as of now, with their starts: one piece for each device."""
    array = value.finish()
    value.pin()  # a later step must not reuse the memory
    shape = value.aval.shape
    if not isinstance(value.aval.placement, Meshed) or isinstance(array, np.ndarray):
        return lambda: iter([((0,) * len(shape), value.numpy())])

    def pieces() -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
        for shard in array.addressable_shards:
            if shard.replica_id:
                continue
            start = tuple(bounds.start or 0 for bounds in shard.index)
            inside = tuple(slice(0, max(0, n - begin)) for n, begin in zip(shape, start, strict=True))
            piece = np.asarray(shard.data)[inside]
            if piece.size or not any(start):
                yield start, piece

    return pieces


def write(folder: Path, tensors: dict[str, tuple[str, tuple[int, ...], Any]], others: dict[str, Any]) -> None:
    """Writes a checkpoint, which replaces the previous one.

    Args:
        tensors: dtype, shape and pieces (see ``snapshot``) by name.
        others: values that JSON can represent, by name.
    """
    text = json.dumps(others)  # a value that JSON cannot represent raises before anything is written
    folder.mkdir(parents=True, exist_ok=True)
    before = list(folder.glob("*.distcp"))
    numbers = [int(digits) for older in before if (digits := older.stem.rpartition("_")[2]).isdecimal()]
    data = folder / f"__0_{max(numbers, default=-1) + 1}.distcp"
    saved = {}
    with open(data, "wb") as file:
        for name, (dtype, shape, pieces) in tensors.items():
            written_pieces = []
            for start, piece in pieces():
                file.write(bytes(-file.tell() % ALIGNMENT))
                written_pieces.append(Piece(start, piece.shape, file.tell()))
                file.write(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)
            saved[name] = Saved(dtype, shape, tuple(written_pieces))
        file.flush()
        os.fsync(file.fileno())
    description = {"version": VERSION, "data": data.name, "tensors": saved, "others": json.loads(text)}
    temporary = folder / f"{METADATA}.tmp"
    with open(temporary, "w") as file:
        json.dump(description, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, folder / METADATA)
    for older in before:
        older.unlink(missing_ok=True)


def read(folder: Path) -> tuple[Path, dict[str, Saved], dict[str, Any]]:
    """Returns the data file of a checkpoint, its tensors and its other values.

    Raises:
        FileNotFoundError: the folder has no checkpoint. NotImplementedError: PyTorch wrote it.
    """
    text = (folder / METADATA).read_bytes()
    if not text.startswith(b"{"):
        raise NotImplementedError(
            "torchlike does not support checkpoints that PyTorch's torch.distributed.checkpoint has written yet"
        )
    description = json.loads(text)
    if description["version"] != VERSION:
        raise NotImplementedError(f"torchlike does not support version {description['version']} of its checkpoints")
    tensors = {
        name: Saved(dtype, tuple(shape), tuple(Piece(tuple(start), tuple(size), at) for start, size, at in pieces))
        for name, (dtype, shape, pieces) in description["tensors"].items()
    }
    return folder / description["data"], tensors, description["others"]


def array_of(file: Path, saved: Saved, index: tuple[slice, ...], shape: tuple[int, ...]) -> np.ndarray:
    """Reads a part of a tensor from the pieces that overlap it. Elements of the part that lie outside the tensor are zero.

    Args:
        shape: the shape of the part.
    """
    dtype = getattr(dtypes, "bool_" if saved.dtype == "bool" else saved.dtype).numpy
    begin = tuple(bounds.start or 0 for bounds in index)
    result = np.zeros(shape, dtype)
    for piece in saved.pieces:
        low = [max(a, b) for a, b in zip(begin, piece.start, strict=True)]
        high = [min(a + n, b + m) for a, n, b, m in zip(begin, shape, piece.start, piece.shape, strict=True)]
        if any(a >= b for a, b in zip(low, high, strict=True)):
            continue
        count = int(np.prod(piece.shape, dtype=np.int64)) * dtype.itemsize
        elements = np.memmap(file, np.uint8, "r", piece.offset, (count,)).view(dtype).reshape(piece.shape)
        there = tuple(slice(a - b, c - b) for a, b, c in zip(low, begin, high, strict=True))
        here = tuple(slice(a - b, c - b) for a, b, c in zip(low, piece.start, high, strict=True))
        result[there] = elements[here]
    return result


def value_of(file: Path, saved: Saved, like: Value) -> Value:
    """Reads a tensor of the checkpoint in the layout of a value with the same shape and dtype. Each device reads its part."""
    placement = like.aval.placement
    if not isinstance(placement, Meshed):
        everything = tuple(slice(0, n) for n in saved.shape)
        return Value.on_host(array_of(file, saved, everything, saved.shape), placement)
    like.finish()
    aval, placement = like.aval, like.aval.placement
    stored, sharding = placement.stored(saved.shape), placement.decided.sharding

    def part(index: Any) -> np.ndarray:
        index = tuple(slice(*bounds.indices(n)) for bounds, n in zip(index, stored, strict=True))
        return array_of(file, saved, index, tuple(bounds.stop - bounds.start for bounds in index))

    return Value.over(aval, tracing(jax.make_array_from_callback)(stored, sharding, part))
