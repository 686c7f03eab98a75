"""Files as memory: storages whose contents are in a mapped file."""

from __future__ import annotations

import mmap
import os

import numpy as np

from ..engine.value import Value
from .storage import HostMemory, Storage


class MappedMemory(HostMemory):
    """The bytes of a file. ``filename``: None where what is written stays out of the file."""

    __slots__ = ("filename",)

    def __init__(self, array: np.ndarray, filename: str | None) -> None:
        super().__init__(array, None)
        self.filename = filename


def mapped(filename: str, shared: bool, nbytes: int, dtype: np.dtype) -> Storage:
    """A storage over the first bytes of a file, as elements of a dtype.

    Args:
        shared: what is written goes into the file, which is made, or made longer, where that is needed.

    Raises:
        RuntimeError: the file cannot be opened, or is too short.
    """
    try:
        file = os.open(filename, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY, 0o600)
    except OSError as error:
        mode = "read-write" if shared else "read-only"
        raise RuntimeError(
            f"unable to open file <{filename}> in {mode} mode: {error.strerror} ({error.errno})"
        ) from None
    try:
        size = os.fstat(file).st_size
        if size < nbytes and not shared:
            raise RuntimeError(f"file <{filename}> size <{size}> is smaller than the required mapping size <{nbytes}>")
        if size < nbytes:
            os.ftruncate(file, nbytes)
        if nbytes:
            memory = mmap.mmap(file, nbytes, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
            array = np.frombuffer(memory, dtype)
        else:
            array = np.empty(0, dtype)
    finally:
        os.close(file)
    storage = Storage(Value.on_host(array.copy()))
    storage.host = MappedMemory(array, filename if shared else None)
    storage.host.seen = storage.value
    return storage
