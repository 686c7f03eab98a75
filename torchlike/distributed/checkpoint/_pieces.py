"""The files of a checkpoint: some hold the elements of all tensors in pieces, another the position of each piece.

Of several processes each writes a data file. ``.metadata`` is JSON. It names the data files and is replaced last, in one step of the file
system. So an interrupted save leaves the previous checkpoint intact.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from ..._core import dtypes
from ...engine.aval import Meshed
from ...engine.jax_settings import tracing
from ...engine.value import Value

__all__ = [
    "Piece", "Saved", "Snapshots", "array_of", "data_name", "joined", "next_number", "read", "snapshot", "value_of", "write_data",
    "write_metadata",
]  # fmt: skip

METADATA, VERSION = ".metadata", 2
# Each piece begins at a multiple of this many bytes.
ALIGNMENT = 64


class Piece(NamedTuple):
    """A part of a tensor: its start along each dimension, its shape, the position of its elements in a file, and the file's number."""

    start: tuple[int, ...]
    shape: tuple[int, ...]
    offset: int
    file: int = 0


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


Snapshots = dict[str, tuple[str, tuple[int, ...], Callable[[], Iterator[tuple[tuple[int, ...], np.ndarray]]]]]


def next_number(folder: Path) -> int:
    """A number that no data file of the folder has."""
    before = folder.glob("*.distcp*")
    numbers = [int(digits) for each in before if (digits := each.name.partition(".")[0].rpartition("_")[2]).isdecimal()]
    return max(numbers, default=-1) + 1


def write_data(folder: Path, rank: int, number: int, tensors: Snapshots) -> dict[str, Saved]:
    """Writes the data file of a process. It has its name when it is complete.

    Args:
        tensors: dtype, shape and pieces (see ``snapshot``) by name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data, saved = folder / data_name(rank, number), {}
    temporary = data.with_suffix(".distcp.tmp")
    with open(temporary, "wb") as file:
        for name, (dtype, shape, pieces) in tensors.items():
            written_pieces = []
            for start, piece in pieces():
                file.write(bytes(-file.tell() % ALIGNMENT))
                written_pieces.append(Piece(start, piece.shape, file.tell(), rank))
                file.write(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)
            saved[name] = Saved(dtype, shape, tuple(written_pieces))
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, data)
    return saved


def data_name(rank: int, number: int) -> str:
    """The name of the data file of a process."""
    return f"__{rank}_{number}.distcp"


def joined(parts: Sequence[dict[str, Saved]]) -> dict[str, Saved]:
    """The tensors with the pieces of all processes."""
    found: dict[str, Saved] = {}
    for part in parts:
        for name, saved in part.items():
            earlier = found[name].pieces if name in found else ()
            found[name] = saved._replace(pieces=earlier + saved.pieces)
    return found


def write_metadata(folder: Path, names: Sequence[str], tensors: dict[str, Saved], others: dict[str, Any]) -> None:
    """Makes data files the checkpoint, in place of the one before.

    Args:
        others: values that JSON can represent, by name.
    """
    description = {"version": VERSION, "data": list(names), "tensors": tensors, "others": others}
    temporary = folder / f"{METADATA}.tmp"
    with open(temporary, "w") as file:
        json.dump(description, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, folder / METADATA)
    for older in folder.glob("*.distcp*"):
        if older.name not in names:
            older.unlink(missing_ok=True)


def read(folder: Path) -> tuple[list[Path], dict[str, Saved], dict[str, Any]]:
    """Returns the data files of a checkpoint, its tensors and its other values.

    Raises:
        FileNotFoundError: the folder has no checkpoint. NotImplementedError: PyTorch wrote it.
    """
    text = (folder / METADATA).read_bytes()
    if not text.startswith(b"{"):
        raise NotImplementedError(
            "torchlike does not support checkpoints that PyTorch's torch.distributed.checkpoint has written yet"
        )
    description = json.loads(text)
    if description["version"] not in (1, VERSION):
        raise NotImplementedError(f"torchlike does not support version {description['version']} of its checkpoints")
    tensors = {
        name: Saved(dtype, tuple(shape), tuple(Piece(tuple(start), tuple(size), *at) for start, size, *at in pieces))
        for name, (dtype, shape, pieces) in description["tensors"].items()
    }
    names = [description["data"]] if description["version"] == 1 else description["data"]  # 1 had one file
    return [folder / name for name in names], tensors, description["others"]


def array_of(files: Sequence[Path], saved: Saved, index: tuple[slice, ...], shape: tuple[int, ...]) -> np.ndarray:
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
        elements = np.memmap(files[piece.file], np.uint8, "r", piece.offset, (count,)).view(dtype).reshape(piece.shape)
        there = tuple(slice(a - b, c - b) for a, b, c in zip(low, begin, high, strict=True))
        here = tuple(slice(a - b, c - b) for a, b, c in zip(low, piece.start, high, strict=True))
        result[there] = elements[here]
    return result


def value_of(files: Sequence[Path], saved: Saved, like: Value) -> Value:
    """Reads a tensor of the checkpoint in the layout of a value with the same shape and dtype. Each device reads its part."""
    placement = like.aval.placement
    if not isinstance(placement, Meshed):
        everything = tuple(slice(0, n) for n in saved.shape)
        return Value.on_host(array_of(files, saved, everything, saved.shape), placement)
    like.finish()
    aval, placement = like.aval, like.aval.placement
    stored, sharding = placement.stored(saved.shape), placement.decided.sharding

    def part(index: Any) -> np.ndarray:
        index = tuple(slice(*bounds.indices(n)) for bounds, n in zip(index, stored, strict=True))
        return array_of(files, saved, index, tuple(bounds.stop - bounds.start for bounds in index))

    return Value.over(aval, tracing(jax.make_array_from_callback)(stored, sharding, part))
