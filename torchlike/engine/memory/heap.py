"""What glibc keeps of the memory that programs run in, and what it gives back to the system.

Elsewhere than under glibc nothing of this is done: each function says so by doing nothing.
"""

from __future__ import annotations

import ctypes
import re
import sys
import time
from pathlib import Path

_glibc = ctypes.CDLL(None) if sys.platform == "linux" else None
_trim = getattr(_glibc, "malloc_trim", None)
_mallopt = getattr(_glibc, "mallopt", None)
_malloc, _free = getattr(_glibc, "malloc", None), getattr(_glibc, "free", None)
if _trim is None:
    _malloc = None
if _malloc is not None and _free is not None:
    _malloc.argtypes, _malloc.restype = [ctypes.c_size_t], ctypes.c_void_p
    _free.argtypes, _free.restype = [ctypes.c_void_p], None

# The numbers of glibc's settings (malloc.h): how many bytes there may be free at the end of its heap before it gives them back, and the
# size from which a block is mapped and unmapped by itself.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
# What threads other than the first allocate lies in heaps of this size. One that has become empty goes back to the system at once.
_THREAD_HEAP_BYTES = 64 * 2**20
# No more than this is kept for programs.
MOST_BYTES_KEPT = 2**30
# The largest size from which glibc can be told to map blocks by themselves.
LARGEST_BLOCK_KEPT = 32 * 2**20
# From this size on arrays are mapped by themselves where outputs make up most of what a program needs, see ``keep_blocks``.
MAPPED_BYTES = 4 * 2**20


# How much of a process's time may go into giving memory back before runs, and the seconds in which the system clears a byte of it that is
# asked for again.
MOST_TIME = 0.03
SECONDS_PER_BYTE = 1e-10


STATUS = Path("/proc/self/status")


class _Kept:
    """``nbytes``: what glibc keeps for the runs of programs."""

    nbytes = 0


def keep_blocks(nbytes: int, within: int) -> None:
    """Lets glibc keep the memory of a program that needs so many bytes, in blocks of less than 32 MiB, from one run to the next.

    By default it gives memory back once 64 MiB at the end of its heap are free, or less in other threads. The system clears each of these
    pages again when the next run uses it, which costs a fifth of the run.

    What lies in the heap is not all used again: XLA asks for aligned blocks, and glibc finds none among those that it gave out for such a
    request before, since each is some bytes too small now. Gradients of large parameters, which are new in each step, fill several times
    their memory in this way. So where outputs are most of what a program needs, large arrays are mapped and unmapped by themselves.

    Args:
        within: of these bytes, those that are given back when a run ends.
    """
    if 2 * within < nbytes:
        if _mallopt is not None and not _Kept.nbytes:
            _mallopt(_MMAP_THRESHOLD, MAPPED_BYTES)
        return
    nbytes = min(nbytes, MOST_BYTES_KEPT) + _THREAD_HEAP_BYTES
    if _mallopt is not None and nbytes > _Kept.nbytes:
        _Kept.nbytes = nbytes
        _mallopt(_MMAP_THRESHOLD, LARGEST_BLOCK_KEPT)
        _mallopt(_TRIM_THRESHOLD, 2 * nbytes)


def give_back_memory() -> None:
    """Gives memory that is not used back to the system, where the C library can: compiling leaves tens of megabytes."""
    if _trim is not None:
        _trim(0)


def resident() -> tuple[int, int]:
    """How much memory the process has, and the most that it had, in bytes; twice nothing where the system does not say."""
    try:
        fields = dict(re.findall(r"(\w+):\s*(\d+) kB", STATUS.read_text(encoding="utf-8")))
        return 1024 * int(fields["VmRSS"]), 1024 * int(fields["VmHWM"])
    except (OSError, KeyError):
        return 0, 0


class Room:
    """Makes room for the runs of programs, for a small part of the process's time."""

    def __init__(self) -> None:
        self._begun, self._spent = time.perf_counter(), 0.0

    def make(self, nbytes: int) -> None:
        """Gives memory back if so many bytes more would be more than the process ever had."""
        start = time.perf_counter()
        if self._spent > MOST_TIME * (start - self._begun):
            return
        now, most = resident()
        if 0 < most < now + nbytes:
            give_back_memory()
            self._spent += max(now - resident()[0], 0) * SECONDS_PER_BYTE
        self._spent += time.perf_counter() - start


_room = Room()


class Place:
    """Where the heap has room for a block of memory, from one run of a program to the next."""

    __slots__ = ("_address",)

    def __init__(self) -> None:
        self._address: int | None = None

    def make_room(self, nbytes: int) -> None:
        """Sees to it that a block of so many bytes does not take more than the process ever had, if that can be.

        A block that lies where the last one lay takes nothing. NumPy's arrays, which are let go one after the other, and arrays of XLA
        leave free memory in which the next block has no place; it would stay with the process beside that block.
        """
        if _malloc is None or _free is None:
            return
        address = _malloc(nbytes)
        _free(address)
        if address != self._address or nbytes >= LARGEST_BLOCK_KEPT:
            self._address = address
            _room.make(nbytes)
