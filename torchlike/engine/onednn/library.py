"""oneDNN, where its wheel is installed (``pip install torchlike[onednn]``): the shared library, by ctypes. The only file that loads it.

The wheel holds a library for Linux on x86-64. Elsewhere, and where it cannot be loaded, there is none, and XLA computes.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib.metadata
import mmap
import os
import platform
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from ctypes import POINTER, c_char, c_char_p, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path

from .handler_code import CODE, ENTRIES

# Set to 0 in the environment, nothing is handed to oneDNN.
VARIABLE = "TORCHLIKE_ONEDNN"
_WHEEL, _FILE = "onednn-cpu-gomp", "libdnnl.so.3"
# handler.c is compiled with this number in the place of the state's address.
_PLACEHOLDER = bytes.fromhex("6c6f6f6b68657265")[::-1]
# Primitives that oneDNN keeps, the last used ones. Each holds code made for its sizes.
PRIMITIVES_KEPT = 256
# Memory for reordered operands that is kept from call to call.
ARENA_BYTES_KEPT = 2**27
# Convolutions that can be prepared; a power of two, filled by half at most.
TABLE_SIZE = 2**15
# How often an OpenMP thread that waits looks again before it sleeps: for 0.1 ms. By itself libgomp looks 300,000 times, some milliseconds,
# in which the thread keeps a core from XLA's threads and from other processes: an epoch of a small CNN took twice as long on a machine
# that had other things to do.
SPINS = 10_000
_CHOSEN_BY_USERS = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
_PRIVATE, _EXECUTABLE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS if hasattr(mmap, "MAP_PRIVATE") else 0, 5


Destroy = Callable[[c_void_p], object]


class Argument(ctypes.Structure):
    _fields_ = [("argument", c_int), ("memory", c_void_p)]


class Step(ctypes.Structure):
    _fields_ = [("description", c_void_p), ("count", c_int64), ("arguments", Argument * 6)]


class Inner(ctypes.Structure):
    _fields_ = [("memory", c_void_p), ("offset", c_int64)]


class Record(ctypes.Structure):
    """A computation as the handler runs it: see ``handler.c``, which has the same structures."""

    _fields_ = [
        ("key", POINTER(c_int64)), ("key_size", c_int64), ("threads", c_int64), ("bytes", c_int64),
        ("operands", c_int64), ("outer", c_void_p * 4), ("inners", c_int64), ("inner", Inner * 8),
        ("steps", c_int64), ("step", Step * 6),
    ]  # fmt: skip

    owned: list[tuple[Destroy, c_void_p]]  # what it points to, and how that is destroyed

    def __del__(self) -> None:
        for destroy, handle in getattr(self, "owned", ()):
            destroy(handle)


class _State(ctypes.Structure):
    _fields_ = [
        *[(name, c_void_p) for name in (
            "lock", "unlock", "wait", "broadcast", "allocate", "release", "set_threads", "set_data", "create", "execute", "destroy",
            "finish",
        )],
        ("message", c_char_p), ("stream", c_void_p), ("kept_bytes", c_int64), ("arena", c_void_p), ("arena_bytes", c_int64),
        ("threads", c_int64), ("table_size", c_int64), ("table", c_void_p), ("first", c_void_p), ("last", c_void_p),
        ("stopped", c_int64), ("locks", c_int64 * 24),
    ]  # fmt: skip


class Failure(RuntimeError):
    """oneDNN refused: it does not implement this, or has no memory for it."""


class Library:
    """The library, the code that XLA calls, and the thread that computes."""

    def __init__(self, path: Path) -> None:
        """Loads the library from a file.

        Raises:
            OSError: it cannot be loaded, or is of another version.
        """
        self.lib = ctypes.CDLL(str(path))
        self.lib.dnnl_version.restype = POINTER(c_int)
        major = self.lib.dnnl_version()[0]
        if major != 3:
            raise OSError(f"oneDNN's version is {major}, not 3")
        self.openmp = ctypes.CDLL("libgomp.so.1")
        self.engine = c_void_p()
        self.call("dnnl_engine_create", ctypes.byref(self.engine), 1, c_size_t(0))
        self.call("dnnl_set_primitive_cache_capacity", PRIMITIVES_KEPT)
        stream = c_void_p()
        self.call("dnnl_stream_create", ctypes.byref(stream), self.engine, 1)
        self.table = (c_void_p * TABLE_SIZE)()
        self._entered = 0
        self.state = self._state(stream)
        self._code = _executable(CODE.replace(_PLACEHOLDER, struct.pack("<q", ctypes.addressof(self.state))))
        entry = {name: _address(self._code) + offset for name, offset in ENTRIES.items()}
        self.handler = entry["handler"]
        pointer = ctypes.CFUNCTYPE
        self._serve = pointer(None, c_void_p)(entry["serve"])
        self._run = pointer(c_int64, c_void_p, POINTER(Record), POINTER(c_void_p))(entry["run"])
        self._stop = pointer(None, c_void_p)(entry["stop"])
        self._place = pointer(c_int64, c_void_p, POINTER(c_int64), c_int64)(entry["place"])
        self._begun = False
        self._begin()
        self._kept: dict[int, Record] = {}
        # A program may run to the end of the process, when Python has freed all else.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        os.register_at_fork(after_in_child=self._after_fork)

    def call(self, name: str, *arguments: object) -> None:
        """Calls a function that returns a status.

        Raises:
            Failure: the status is not success.
        """
        status = getattr(self.lib, name)(*arguments)
        if status:
            raise Failure(f"{name}: oneDNN's status {status}")

    def _state(self, stream: c_void_p) -> _State:
        c, lib = ctypes.CDLL(None), self.lib
        functions = {
            "lock": c.pthread_mutex_lock, "unlock": c.pthread_mutex_unlock, "wait": c.pthread_cond_wait,
            "broadcast": c.pthread_cond_broadcast, "allocate": c.posix_memalign, "release": c.free,
            "set_threads": self.openmp.omp_set_num_threads, "set_data": lib.dnnl_memory_set_data_handle,
            "create": lib.dnnl_primitive_create, "execute": lib.dnnl_primitive_execute, "destroy": lib.dnnl_primitive_destroy,
            "finish": lib.dnnl_stream_wait,
        }  # fmt: skip
        return _State(
            **{name: ctypes.cast(function, c_void_p) for name, function in functions.items()},
            message=b"oneDNN could not compute a convolution", stream=stream, kept_bytes=ARENA_BYTES_KEPT,
            table_size=TABLE_SIZE, table=ctypes.addressof(self.table),
        )  # fmt: skip

    def _begin(self) -> None:
        with _lock_of_thread:
            if not self._begun:
                state = ctypes.byref(self.state)
                threading.Thread(target=lambda: self._serve(state), name="torchlike-onednn", daemon=True).start()
                self._begun = True

    def stop(self) -> None:
        """Waits for what is being computed. What a program asks for from then on is an error."""
        if self._begun:
            self._stop(ctypes.byref(self.state))

    def _after_fork(self) -> None:
        """The thread that computes was not copied, and may have held the lock. Another one begins when it is needed."""
        self.state.locks = (c_int64 * 24)()
        self.state.first = self.state.last = None
        self.state.threads = 0
        self._begun = False

    def enter(self, record: Record) -> bool:
        """Lets XLA's programs find a record by its key, from now on; False if the table is full."""
        place = self._place(ctypes.byref(self.state), record.key, record.key_size)
        if self.table[place] is None:
            if self._entered >= TABLE_SIZE // 2:
                return False
            self._entered += 1
        self._kept[ctypes.addressof(record)] = record
        self.table[place] = ctypes.addressof(record)
        return True

    def run(self, record: Record, addresses: Sequence[int]) -> None:
        """Computes a record over memory at these addresses, operands first.

        Raises:
            MemoryError: there is no memory for reordered operands.
            Failure: oneDNN reports anything else.
        """
        if not self._begun:
            self._begin()
        status = self._run(ctypes.byref(self.state), ctypes.byref(record), (c_void_p * len(addresses))(*addresses))
        if status == 1:
            raise MemoryError
        if status:
            raise Failure(f"oneDNN's status {status}")


def _executable(code: bytes) -> mmap.mmap:
    """Memory with the code in it, which can be executed and no longer written. XLA puts its own code into such memory."""
    pages = mmap.mmap(-1, -(-len(code) // mmap.PAGESIZE) * mmap.PAGESIZE, flags=_PRIVATE)
    pages.write(code)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    if protect(c_void_p(_address(pages)), c_size_t(len(pages)), _EXECUTABLE):
        raise OSError(ctypes.get_errno(), "memory cannot be made executable")
    return pages


def _address(pages: mmap.mmap) -> int:
    return ctypes.addressof(c_char.from_buffer(pages))


_lock, _lock_of_thread = threading.Lock(), threading.Lock()
_library: list[Library | None] = []


def _path() -> Path | None:
    if sys.platform != "linux" or platform.machine() != "x86_64" or os.environ.get(VARIABLE) == "0":
        return None
    try:
        files = importlib.metadata.files(_WHEEL) or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.name == _FILE), None)


def library() -> Library | None:
    """The library, loaded at the first call; None where there is none."""
    if not _library:
        with _lock:
            if not _library:
                _library.append(_load())
    return _library[0]


def available() -> bool:
    """Whether there is a library."""
    return library() is not None


def _load() -> Library | None:
    path = _path()
    try:
        return None if path is None else Library(path)
    except (OSError, Failure):
        return None


def _load_openmp() -> None:
    """Loads libgomp, which reads its settings from the environment at this moment and never again.

    While the package is imported, hardly any thread reads the environment that is changed here for a moment.
    """
    if _path() is None:
        return
    is_ours = not any(name in os.environ for name in _CHOSEN_BY_USERS)
    if is_ours:
        os.environ["GOMP_SPINCOUNT"] = str(SPINS)
    try:
        ctypes.CDLL("libgomp.so.1")
    except OSError:  # then oneDNN cannot be loaded either
        pass
    finally:
        if is_ours:
            del os.environ["GOMP_SPINCOUNT"]


_load_openmp()


@atexit.register
def _end() -> None:
    """Registered when torchlike is imported: functions that the program registers run before it, as long as anything can be computed."""
    if _library and _library[0] is not None:
        _library[0].stop()
