"""Storages whose contents are in files: anonymous ones that several processes map, and files that a program names."""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref

import numpy as np

from ..engine.aval import Placement
from ..engine.value import Value
from .storage import HostMemory, Storage

_WHERE = "/dev/shm" if os.path.isdir("/dev/shm") else None  # in memory, not on a disk
_storages: weakref.WeakValueDictionary[tuple[int, int], Storage] = weakref.WeakValueDictionary()


class ProcessMemory(HostMemory):
    """NumPy memory in a file without a name: each process that has the file sees what the others write."""

    __slots__ = ("file", "__weakref__")

    def __init__(self, file: int, shape: tuple[int, ...], dtype: np.dtype) -> None:
        count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        mapped = np.frombuffer(mmap.mmap(file, max(count, 1)), np.uint8)
        super().__init__(mapped[:count].view(dtype).reshape(shape), None)
        self.file = file
        weakref.finalize(self, os.close, file)


def is_shared(storage: Storage) -> bool:
    """Whether other processes can see this memory."""
    return isinstance(storage.root.host, ProcessMemory)


def share(storage: Storage) -> ProcessMemory:
    """Moves the elements to shared memory, which forked processes and processes that it is sent to read and write."""
    root = storage.root
    if isinstance(root.host, ProcessMemory):
        return root.host
    array = root.read().numpy()
    with tempfile.TemporaryFile(dir=_WHERE) as file:
        file.truncate(max(array.nbytes, 1))
        memory = ProcessMemory(os.dup(file.fileno()), array.shape, array.dtype)
    np.copyto(memory.array, array)
    return _stands_behind(root, memory, root.value)


def attach(file: int, shape: tuple[int, ...], dtype: np.dtype, placement: Placement) -> Storage:
    """The storage over memory that another process shares. This process has only one, however often it is sent."""
    existing = _storages.get(_key(file))
    if existing is not None:
        os.close(file)
        return existing
    memory = ProcessMemory(file, shape, dtype)
    storage = Storage(Value.on_host(memory.array.copy(), placement))
    _stands_behind(storage, memory, storage.value)
    return storage


def _stands_behind(storage: Storage, memory: ProcessMemory, value: Value) -> ProcessMemory:
    memory.seen, storage.host = value, memory
    _storages[_key(memory.file)] = storage
    return memory


def _key(file: int) -> tuple[int, int]:
    status = os.fstat(file)
    return status.st_dev, status.st_ino


# ---- files that have a name


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
