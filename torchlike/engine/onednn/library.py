"""oneDNN, where its wheel is installed (``pip install torchlike[onednn]``): the shared library, by ctypes. The only file that loads it.

The wheel holds a library for Linux on x86-64. On other systems, and where the library cannot be loaded, XLA computes convolutions itself.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib.metadata
import mmap
import os
import platform
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from ctypes import POINTER, c_char, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path

from ..threads import held_by_forks
from . import imports
from .handler_code import CODE, ENTRIES

# If it is 0 in the environment, torchlike does not use oneDNN.
VARIABLE = "TORCHLIKE_ONEDNN"
_WHEEL, _FILE = "onednn-cpu-gomp", "libdnnl.so.3"
# handler.c is compiled with this number as the address of the state. Loading the code replaces it by the real address.
_PLACEHOLDER = bytes.fromhex("6c6f6f6b68657265")[::-1]
# How many primitives oneDNN keeps; it drops the least recently used. Each holds code that was generated for its sizes.
PRIMITIVES_KEPT = 256
# Bytes of memory for reordered operands that are kept between calls.
ARENA_BYTES_KEPT = 2**27
# Slots of the table of prepared convolutions: a power of two. At most half of them are used, so that a search stays short.
TABLE_SIZE = 2**15
# The memory that oneDNN's products are lent (see handler.c): so many pieces, a bit of a number for each, of so many bytes. What is not
# touched takes no memory.
BLOCKS, BLOCK_BYTES = 64, 2**20
# How often a waiting OpenMP thread polls before it sleeps; this many polls take 0.1 ms. libgomp's default is 300,000 polls, which take
# milliseconds. During that time the thread keeps a core from XLA's threads and from other processes: with the default, an epoch of a small
# CNN took twice as long on a busy machine.
SPINS = 10_000
_CHOSEN_BY_USERS = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
_PLACED_BY_USERS = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY")
_PRIVATE, _EXECUTABLE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS if hasattr(mmap, "MAP_PRIVATE") else 0, 5


Destroy = Callable[[c_void_p], object]


class Argument(ctypes.Structure):
    _fields_ = [("argument", c_int), ("memory", c_void_p)]


class Step(ctypes.Structure):
    """A primitive to execute."""

    _fields_ = [
        ("description", c_void_p), ("stream", c_void_p), ("count", c_int64), ("arguments", POINTER(Argument)),
    ]  # fmt: skip


class Outer(ctypes.Structure):
    """A memory object over a part of one of the caller's buffers, which begins at this byte of it."""

    _fields_ = [("memory", c_void_p), ("buffer", c_int64), ("offset", c_int64)]


class Inner(ctypes.Structure):
    """A memory object over a part of the arena."""

    _fields_ = [("memory", c_void_p), ("offset", c_int64)]


class Stage(ctypes.Structure):
    """So many chains of steps, each of this length, on so many threads."""

    _fields_ = [("chains", c_int64), ("length", c_int64), ("threads", c_int64)]


class Record(ctypes.Structure):
    """A computation in the form that the handler runs. ``handler.c`` declares the same structures, and says what they mean."""

    _fields_ = [
        ("key", POINTER(c_int64)), ("key_size", c_int64), ("threads", c_int64), ("bytes", c_int64), ("buffers", c_int64),
        ("outers", c_int64), ("outer", POINTER(Outer)), ("inners", c_int64), ("inner", POINTER(Inner)),
        ("stages", c_int64), ("stage", POINTER(Stage)), ("step", POINTER(Step)),
    ]  # fmt: skip

    owned: list[tuple[Destroy, c_void_p]]  # the object that it points to, and the function that destroys it

    def __del__(self) -> None:
        for destroy, handle in getattr(self, "owned", ()):
            destroy(handle)


class _State(ctypes.Structure):
    _fields_ = [
        *[(name, c_void_p) for name in (
            "lock", "unlock", "wait", "broadcast", "allocate", "release", "set_threads", "most_threads", "set_data", "create",
            "execute", "destroy", "finish", "share", "number", "processor", "allowed", "bind",
        )],
        ("message", c_char_p), ("kept_bytes", c_int64), ("arena", c_void_p), ("arena_bytes", c_int64),
        ("threads", c_int64), ("table_size", c_int64), ("table", c_void_p), ("first", c_void_p), ("last", c_void_p),
        ("stopped", c_int64), ("here", c_int64), ("place", c_int64), ("others", c_int64 * 16), ("locks", c_int64 * 24),
        ("blocks", c_void_p), ("block_bytes", c_int64), ("lent", c_uint64),
    ]  # fmt: skip


class Failure(RuntimeError):
    """oneDNN returned an error: it does not implement this, or has no memory for it."""


class Library:
    """The library, the code that XLA calls, and the thread that computes for it."""

    def __init__(self, path: Path) -> None:
        """Loads the library from a file.

        Raises:
            OSError: the file cannot be loaded, or holds another version of oneDNN.
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
        self._streams: list[c_void_p] = []
        self.table = (c_void_p * TABLE_SIZE)()
        self._entered = 0
        self.state = self._state()
        self._code = _executable(CODE.replace(_PLACEHOLDER, struct.pack("<q", ctypes.addressof(self.state))))
        entry = {name: _address(self._code) + offset for name, offset in ENTRIES.items()}
        self.handler = entry["handler"]
        pointer = ctypes.CFUNCTYPE
        self._serve = pointer(None, c_void_p)(entry["serve"])
        self._run = pointer(c_int64, c_void_p, POINTER(Record), POINTER(c_void_p), c_int64)(entry["run"])
        self._stop = pointer(None, c_void_p)(entry["stop"])
        self._place = pointer(c_int64, c_void_p, POINTER(c_int64), c_int64)(entry["place"])
        self._blocks = mmap.mmap(-1, BLOCKS * BLOCK_BYTES, flags=_PRIVATE)
        self.state.blocks, self.state.block_bytes = _address(self._blocks), BLOCK_BYTES
        imports.replace(self.lib, {b"free": entry["give_back"], b"posix_memalign": entry["lend"]})
        self._begun = False
        self._begin()
        self._main = threading.main_thread().ident
        self._kept: dict[int, Record] = {}
        # Never freed: a program may still run when the process ends and Python has freed other objects.
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

    def stream(self, number: int) -> c_void_p:
        """The stream of one of the chains that run at the same time. oneDNN does not say that threads may share one."""
        while len(self._streams) <= number:
            stream = c_void_p()
            self.call("dnnl_stream_create", ctypes.byref(stream), self.engine, 1)
            self._streams.append(stream)
        return self._streams[number]

    def _state(self) -> _State:
        c, lib = ctypes.CDLL(None), self.lib
        functions = {
            "lock": c.pthread_mutex_lock, "unlock": c.pthread_mutex_unlock, "wait": c.pthread_cond_wait,
            "broadcast": c.pthread_cond_broadcast, "allocate": c.posix_memalign, "release": c.free,
            "set_threads": self.openmp.omp_set_num_threads, "most_threads": self.openmp.omp_get_max_threads,
            "set_data": lib.dnnl_memory_set_data_handle,
            "create": lib.dnnl_primitive_create, "execute": lib.dnnl_primitive_execute, "destroy": lib.dnnl_primitive_destroy,
            "finish": lib.dnnl_stream_wait, "share": self.openmp.GOMP_parallel, "number": self.openmp.omp_get_thread_num,
        }  # fmt: skip
        if not any(name in os.environ for name in _PLACED_BY_USERS):
            functions |= {"processor": c.sched_getcpu, "allowed": c.sched_getaffinity, "bind": c.sched_setaffinity}
        return _State(
            **{name: ctypes.cast(function, c_void_p) for name, function in functions.items()},
            message=b"oneDNN could not compute a part of this program", kept_bytes=ARENA_BYTES_KEPT,
            table_size=TABLE_SIZE, table=ctypes.addressof(self.table),
        )  # fmt: skip

    def _begin(self) -> None:
        with _lock_of_thread:
            if not self._begun:
                state = ctypes.byref(self.state)
                threading.Thread(target=lambda: self._serve(state), name="torchlike-onednn", daemon=True).start()
                self._begun = True

    def stop(self) -> None:
        """Waits until the current computation ends. Afterwards, calls from programs fail."""
        if self._begun:
            self._stop(ctypes.byref(self.state))

    def _after_fork(self) -> None:
        """Prepares for a new computing thread after a fork: the old thread does not exist in the child, and may have held the lock. The
        main thread's pool does not exist either."""
        self._main = None
        self.state.locks, self.state.here = (c_int64 * 24)(), 0
        self.state.first = self.state.last = None
        self.state.threads = 0
        self._begun = False

    def enter(self, record: Record) -> bool:
        """Enters a record into the table in which XLA's programs look it up by its key. Returns False if the table is full."""
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
        state, buffers = ctypes.byref(self.state), (c_void_p * len(addresses))(*addresses)
        status = self._run(state, ctypes.byref(record), buffers, threading.get_ident() == self._main)
        if status == 1:
            raise MemoryError
        if status:
            raise Failure(f"oneDNN's status {status}")


def _executable(code: bytes) -> mmap.mmap:
    """Copies the code into memory that is executable and read-only, the kind of memory in which XLA puts its own code."""
    pages = mmap.mmap(-1, -(-len(code) // mmap.PAGESIZE) * mmap.PAGESIZE, flags=_PRIVATE)
    pages.write(code)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    if protect(c_void_p(_address(pages)), c_size_t(len(pages)), _EXECUTABLE):
        raise OSError(ctypes.get_errno(), "memory cannot be made executable")
    return pages


def _address(pages: mmap.mmap) -> int:
    return ctypes.addressof(c_char.from_buffer(pages))


_lock, _lock_of_thread = held_by_forks(threading.RLock()), held_by_forks(threading.RLock())
_library: list[Library | None] = []


def path_of_library() -> Path | None:
    """The file of the library, None if it is not installed or not wanted."""
    return None if os.environ.get(VARIABLE) == "0" else _installed()


@functools.cache
def _installed() -> Path | None:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    try:
        files = importlib.metadata.files(_WHEEL) or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.name == _FILE), None)


def library() -> Library | None:
    """Returns the library, which the first call loads, or None if there is none."""
    if not _library:
        with _lock:
            if not _library:
                _library.append(_load())
    return _library[0]


def available() -> bool:
    """Whether there is a library."""
    return library() is not None


def _load() -> Library | None:
    path = path_of_library()
    try:
        return None if path is None else Library(path)
    except (OSError, Failure):
        return None


def _load_openmp() -> None:
    """Loads libgomp, which reads its settings from the environment when it is loaded and never again.

    While the package is imported, hardly any thread reads the environment that is changed here for a moment.
    """
    if path_of_library() is None:
        return
    is_ours = not any(name in os.environ for name in _CHOSEN_BY_USERS)
    if is_ours:
        os.environ["GOMP_SPINCOUNT"] = str(SPINS)
    try:
        ctypes.CDLL("libgomp.so.1")
    except OSError:  # without libgomp oneDNN cannot be loaded either
        pass
    finally:
        if is_ours:
            del os.environ["GOMP_SPINCOUNT"]


_load_openmp()


@atexit.register
def _end() -> None:
    """Stops the library at exit. It is registered when torchlike is imported, so functions that the program registers run earlier, and can
    still compute."""
    if _library and _library[0] is not None:
        _library[0].stop()
