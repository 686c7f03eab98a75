"""What glibc keeps of the memory that programs run in, and what it gives back to the system.

XLA allocates the memory of all intermediate values in one block, and frees it after the run. glibc maps blocks of 32 MiB and more by
themselves, and the system clears each of their pages again in the next run: a third of the time of a ResNet's step. So once there is a
program with such a block, glibc takes all from its heap, and keeps it. XLA allocates in threads of its own, whose heaps in glibc hold
64 MiB, so that all threads share the heap of the first. A user's MALLOC_ARENA_MAX stands.

Elsewhere than under glibc nothing of this is done.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy._core import multiarray

_glibc = ctypes.CDLL(None) if sys.platform == "linux" else None
_trim = getattr(_glibc, "malloc_trim", None)
_mallopt = getattr(_glibc, "mallopt", None)
_allocate = None if _trim is None else getattr(_glibc, "aligned_alloc", None)  # other C libraries have this one, too
_free = getattr(_glibc, "free", None)
if _allocate is not None and _free is not None:
    _allocate.argtypes, _allocate.restype = [ctypes.c_size_t, ctypes.c_size_t], ctypes.c_void_p
    _free.argtypes, _free.restype = [ctypes.c_void_p], None

# The numbers of glibc's settings (malloc.h): how many bytes there may be free at the end of its heap before it gives them back, the size
# from which a block is mapped by itself, how many blocks may be, and how many heaps there are at most.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -3, -4, -8
# No more than this is kept for programs. In a process with a larger one, large blocks are mapped as they were: in the heap, arrays of a
# gigabyte that come and go leave gigabytes between them.
MOST_BYTES_KEPT = 2**29
MAPPED_BLOCKS = 65536  # that there may be, by default
# The largest size from which glibc can be told to map blocks by themselves.
LARGEST_THRESHOLD = 32 * 2**20
# From this size on arrays are mapped by themselves where outputs make up most of what a program needs, see ``keep_blocks``.
MAPPED_BYTES = 4 * 2**20
# Room for the small things that a run allocates, besides its block and its outputs.
SPARE_BYTES = 2 * 2**20
ALIGNMENT = 64  # of XLA's arrays
# How much of a process's time may go into giving memory back before runs, and into looking whether that must be; and the seconds in which
# the system clears a byte that is asked for again.
MOST_TIME, MOST_TIME_LOOKING = 0.03, 0.01
SECONDS_PER_BYTE = 1e-10
PAUSES = (1e-4, 1e-3)  # seconds
STATUS = Path("/proc/self/status")

if _mallopt is not None and "MALLOC_ARENA_MAX" not in os.environ:
    _mallopt(_ARENA_MAX, 1)  # has an effect on the threads that begin later
if _mallopt is not None and not {"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"} & {*os.environ}:
    # What glibc itself sets once a block of 32 MiB has come and gone. At first it keeps 128 KiB and maps all that is larger, which takes
    # a fifth of a step op by op.
    _mallopt(_MMAP_THRESHOLD, LARGEST_THRESHOLD)
    _mallopt(_TRIM_THRESHOLD, 2 * LARGEST_THRESHOLD)


# NumPy asks for large pages under arrays of 4 MiB and more, unless this says otherwise. They pay where an array is mapped by itself, and
# the system has just got such pages back. To find new ones for the heap takes it twice as long as small pages do.
_ask_for_large_pages: Any = getattr(multiarray, "_set_madvise_hugepage", bool)  # returns what was set before
_usual = _ask_for_large_pages(False)
_ask_for_large_pages(_usual)


@contextmanager
def in_small_pages(nbytes: int) -> Iterator[None]:
    """Within the context new arrays get pages of the usual size, if the largest, of so many bytes, lies in the heap.

    All threads share NumPy's setting. So the usual one is set at the end, and not what another thread may have set.
    """
    if not _usual or nbytes >= LARGEST_THRESHOLD:
        yield
        return
    _ask_for_large_pages(False)
    try:
        yield
    finally:
        _ask_for_large_pages(_usual)


class _Kept:
    """``nbytes``: what glibc keeps for the runs of programs. ``freed``: for paths op by op. ``in_heap``: whether large blocks come from the
    heap, too; None as yet."""

    nbytes = 0
    freed = 0
    in_heap: bool | None = None


def keep_blocks(nbytes: int, within: int) -> None:
    """Lets glibc keep the memory of a program that needs so many bytes from one run to the next.

    By default it gives memory back once 64 MiB at the end of its heap are free. The system clears each of these pages again when the
    next run uses it, which costs a fifth of the run.

    What lies in the heap is not all used again: XLA asks for aligned blocks, and glibc finds none among those that it gave out for such a
    request before, since each is some bytes too small now. Gradients of large parameters, which are new in each step, fill several times
    their memory in this way. So where outputs are most of what a program needs, large arrays are mapped and unmapped by themselves.

    Args:
        within: of these bytes, those that are given back when a run ends.
    """
    if _mallopt is None:
        return
    if nbytes > MOST_BYTES_KEPT:
        _Kept.in_heap = False
        _mallopt(_MMAP_MAX, MAPPED_BLOCKS)
    if 2 * within < nbytes:
        if not _Kept.nbytes:
            _mallopt(_MMAP_THRESHOLD, MAPPED_BYTES)
        return
    nbytes = min(nbytes, MOST_BYTES_KEPT)
    if nbytes > _Kept.nbytes:
        if not _Kept.nbytes:
            _mallopt(_MMAP_THRESHOLD, LARGEST_THRESHOLD)
        _Kept.nbytes = nbytes
        _set_trim_threshold()
        if nbytes >= LARGEST_THRESHOLD and _Kept.in_heap is None:
            _Kept.in_heap = True
            _mallopt(_MMAP_MAX, 0)


def keep_arrays(nbytes: int) -> None:
    """Lets glibc keep the memory of arrays that a path makes op by op, and that are let go, for the next time that it comes.

    A training step of a small GPT-2 lets go of 106 MB, which the system cleared again in the next one: 86 of 640 ms of processor time.

    Args:
        nbytes: of all arrays of the path. What is kept is no more than there were at once.
    """
    nbytes = min(nbytes, MOST_BYTES_KEPT)
    if _mallopt is not None and nbytes > _Kept.freed:
        _Kept.freed = nbytes
        _set_trim_threshold()


def _set_trim_threshold() -> None:
    if "MALLOC_TRIM_THRESHOLD_" in os.environ:  # the user's stands
        return
    for_programs = 2 * _Kept.nbytes + LARGEST_THRESHOLD if _Kept.nbytes else 0
    _mallopt(_TRIM_THRESHOLD, max(for_programs, _Kept.freed, 2 * LARGEST_THRESHOLD))  # pyright: ignore[reportOptionalCall]


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
        self._begun, self._spent, self._looked = time.perf_counter(), 0.0, 0.0

    def make(self, nbytes: int, is_there: Callable[[], bool]) -> None:
        """Gives memory back if so many bytes more would be more than the process ever had.

        Args:
            is_there: whether there is room after all. XLA may free the block of the last run a moment after its outputs are there.
        """
        start = time.perf_counter()
        age = start - self._begun
        if self._looked > MOST_TIME_LOOKING * age:
            return
        now, most = resident()
        more = 0 < most < now + nbytes and not any(time.sleep(pause) or is_there() for pause in PAUSES)
        self._looked += time.perf_counter() - start
        if more and self._spent <= MOST_TIME * age:
            start = time.perf_counter()
            give_back_memory()
            self._spent += time.perf_counter() - start + max(now - resident()[0], 0) * SECONDS_PER_BYTE


_room = Room()


class Place:
    """Where the heap has room for a program's block of memory, from one run to the next."""

    __slots__ = ("_address",)

    def __init__(self) -> None:
        self._address: int | None = None

    def make_room(self, block: int, nbytes: int) -> None:
        """Sees to it that a run does not take more memory than the process ever had, if that can be.

        A block that lies where the last one lay takes nothing. NumPy's arrays, which are let go one after the other, and arrays of XLA
        leave free memory in which the next block has no place; it would stay with the process beside that block.

        Args:
            block: the bytes of the intermediate values.
            nbytes: with the outputs.
        """
        allocate, free = _allocate, _free
        if allocate is None or free is None:
            return
        known, mapped = self._address, block >= LARGEST_THRESHOLD and not _Kept.in_heap

        def is_there() -> bool:
            """Whether glibc has about the last run's place for a block that it would allocate now: the rest takes little."""
            self._address = address = allocate(ALIGNMENT, block)
            # What else a run allocates takes the smallest piece that is large enough: this one, and not a part of the block.
            spare = allocate(ALIGNMENT, nbytes - block + SPARE_BYTES)
            free(address)
            free(spare)
            return known is not None and abs(address - known) < SPARE_BYTES and not mapped

        if not is_there():
            _room.make(nbytes, is_there)
