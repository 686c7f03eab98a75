"""The IDX format: a magic number, the sizes of the dimensions, and the elements, all big-endian; often gzipped."""

import gzip
import lzma
import math
import struct
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

__all__ = ["find_idx", "read_idx"]

# The third byte of the magic number says the type of the elements.
TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}

# By suffix: how to open a packed file, what it is called, and the largest possible ratio of unpacked to packed size. The sample that is
# part of the package is packed by LZMA, which takes an eighth less than gzip.
PACKED = {".gz": (gzip.open, "gzip", 1032), ".xz": (lzma.open, "xz", 8192)}
# The end of the name where each picture lies column by column, and all pictures in the order of their labels, as in that sample: pictures
# of clothes take a twentieth less so.
BY_COLUMNS_AND_LABELS = ".ordered.xz"


def find_idx(folder: str | Path, name: str) -> Path | None:
    """``folder/name``, or ``folder/name.gz``, or ``folder/name.xz``, or None if none exists."""
    paths = [Path(folder, f"{name}{suffix}") for suffix in ("", *PACKED, BY_COLUMNS_AND_LABELS)]
    return next((path for path in paths if path.is_file()), None)


def read_idx(path: str | Path) -> np.ndarray:
    """Reads an IDX file, packed if its name ends in ``.gz`` or ``.xz``, into an array of the machine's byte order.

    Raises:
        RuntimeError: the file is damaged or incomplete. The text has its name and what it should contain.

    Source: http://yann.lecun.com/exdb/mnist/ (the format is described at its end)
    """
    path = Path(path)
    unpack, kind, limit = PACKED.get(path.suffix, (None, "", None))
    try:
        with path.open("rb") if unpack is None else unpack(path) as file:
            array = _read(file, path, limit)
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise _damaged(path, f"a whole {kind} file", f"one that cannot be unpacked ({error})") from None
    return _in_first_order(array, path) if path.name.endswith(BY_COLUMNS_AND_LABELS) else array


def _in_first_order(packed: np.ndarray, path: Path) -> np.ndarray:
    """Pictures as they lay before they were packed. The file of their labels lies beside theirs."""
    pictures = np.empty_like(packed)
    name = path.name.removesuffix(BY_COLUMNS_AND_LABELS).replace("images-idx3", "labels-idx1")
    labels = find_idx(path.parent, name)
    if labels is None:
        raise _damaged(path, f"the labels {name} beside it, in whose order it lies", "none")
    pictures[np.argsort(read_idx(labels), kind="stable")] = packed.swapaxes(-2, -1)
    return pictures


def _read(file: Any, path: Path, limit: int | None) -> np.ndarray:
    """``limit``: how much larger the contents of a packed file can be than the file; None: it is not packed."""
    magic = file.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in TYPES:
        raise _damaged(path, "an IDX file (two zero bytes, a type, a number of dimensions)", f"{magic!r} at its start")
    sizes = file.read(4 * magic[3])
    if len(sizes) < 4 * magic[3]:
        raise _damaged(path, f"the sizes of {magic[3]} dimensions", f"only {len(sizes)} bytes of them")
    shape = struct.unpack(f">{magic[3]}I", sizes)
    dtype = np.dtype(TYPES[magic[2]])
    header, size = 4 + len(sizes), math.prod(shape) * dtype.itemsize
    expected = f"{' x '.join(map(str, shape))} elements of {dtype.newbyteorder('=')}, {size} bytes after the header"

    # Checked before memory is allocated, since a damaged header may contain any size.
    file_size = path.stat().st_size
    if limit is not None and file_size * limit < size:
        raise _damaged(path, expected, f"a packed file of {file_size} bytes, which cannot hold them")
    if limit is None and file_size != header + size:
        raise _damaged(path, expected, str(file_size - header))
    array = np.empty(shape, dtype)
    count = _fill(file, array)
    if count < size:
        raise _damaged(path, expected, f"{count}: it is cut short")
    if file.read(1):
        raise _damaged(path, expected, "more")
    return array if dtype.itemsize == 1 else array.astype(dtype.newbyteorder("="))


def _fill(file: BinaryIO, array: np.ndarray) -> int:
    """Reads into the array until it is full or the file ends; returns the number of bytes read."""
    target = array.reshape(-1).view(np.uint8).data
    filled = 0
    while filled < len(target) and (n := file.readinto(target[filled:])):  # pyright: ignore[reportAttributeAccessIssue]
        filled += n
    return filled


def _damaged(path: Path, expected: str, contents: str) -> RuntimeError:
    return RuntimeError(
        f"{path} is damaged: wanted {expected}, got {contents}. Delete it, then download=True gets it anew"
    )
