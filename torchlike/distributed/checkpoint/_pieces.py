"""The files of a checkpoint: one with the elements of all tensors, piece by piece, and one that says where each piece is.

``.metadata`` is JSON. It names the data file and is replaced last, in one step of the file system. So a save that is interrupted leaves
the checkpoint as it was.
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
# So many bytes each piece begins at a multiple of.
ALIGNMENT = 64


class Piece(NamedTuple):
    """A part of a tensor: where it begins along each dimension, its shape, and where its elements are in the file."""

    start: tuple[int, ...]
    shape: tuple[int, ...]
    offset: int


class Saved(NamedTuple):
    """A tensor of a checkpoint."""

    dtype: str
    shape: tuple[int, ...]
    pieces: tuple[Piece, ...]


def snapshot(value: Value) -> Callable[[], Iterator[tuple[tuple[int, ...], np.ndarray]]]:
    """What a value holds now: a function that gives its pieces with their starts. Each device's part is taken by itself."""
    array = value.finish()
    value.pin()  # a later step must not take over the memory
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
    """Writes a checkpoint in place of the one that is there.

    Args:
        tensors: dtype, shape and pieces (see ``snapshot``) by name.
        others: what JSON can hold, by name.
    """
    text = json.dumps(others)  # what it cannot hold raises before anything is written
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
    """The data file of a checkpoint, its tensors and what else it holds.

    Raises:
        FileNotFoundError: there is none. NotImplementedError: PyTorch has written it.
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
    """A part of a tensor, read from the pieces that it meets. ``shape``: of the part; zeros stand for what lies outside the tensor."""
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
    """A tensor of the checkpoint, laid out as a value of its shape and dtype is. Each device reads its part."""
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
