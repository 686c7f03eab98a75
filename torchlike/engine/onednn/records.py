"""The records of computations that oneDNN does: each is prepared once, and kept while it is used."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..threads import held_by_forks
from .library import Failure, Library, Record, library


class Computation(Protocol):
    """Operands to results; hashable. Each kind has a file of its own, where these are explained."""

    @property
    def results(self) -> tuple[tuple[tuple[int, ...], np.dtype], ...]: ...

    @property
    def key(self) -> list[int]: ...

    def may_have_record(self) -> bool: ...

    def record(self, onednn: Library, threads: int) -> Record: ...

    def __hash__(self) -> int: ...


# How many records that no program calls are kept, at some ten kilobytes each; the least recently used are dropped.
RECORDS_KEPT = 512

_entered: dict[Computation, dict[int, Record]] = {}  # records that programs call, by number of threads
_threads = [0]  # set by the program; 0: OpenMP's default
_lock = held_by_forks(threading.RLock())


def record_of(computation: Computation) -> Record | None:
    """Returns the record of a computation, or None if oneDNN is not installed or does not implement it."""
    return None if library() is None else _prepared(computation, _threads[0])


@functools.lru_cache(maxsize=RECORDS_KEPT)
def _prepared(computation: Computation, threads: int) -> Record | None:
    onednn = library()
    if onednn is None or not computation.may_have_record():
        return None
    try:
        return computation.record(onednn, threads or onednn.openmp.omp_get_max_threads())
    except Failure:
        return None


def enter(computation: Computation) -> bool:
    """Makes a computation callable by programs. Returns False if oneDNN cannot compute it or the table is full."""
    onednn, record = library(), record_of(computation)
    if onednn is None or record is None:
        return False
    with _lock:
        by_threads = _entered.setdefault(computation, {})
        # A record is made for a number of threads. After ``set_threads`` the program calls another one.
        if _threads[0] not in by_threads:
            if not onednn.enter(record):
                return False
            by_threads[_threads[0]] = record
    return True


def compute(record: Record, operands: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
    """Computes a record from contiguous arrays."""
    onednn = library()
    assert onednn is not None
    onednn.run(record, [array.ctypes.data for array in (*operands, *results)])


def compute_arrays(computation: Computation, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Computes new arrays from NumPy's arrays."""
    results = [np.empty(shape, dtype) for shape, dtype in computation.results]
    record = record_of(computation)  # the record may have been dropped since it was prepared
    assert record is not None
    compute(record, [np.ascontiguousarray(operand) for operand in operands], results)
    return results


def threads() -> int:
    """How many threads computations use: as the program has set it, else as OpenMP would; 0 without oneDNN."""
    onednn = library()
    return 0 if onednn is None else _threads[0] or onednn.openmp.omp_get_max_threads()


def set_threads(number: int) -> None:
    """Sets the number of threads of all computations, those that programs call included."""
    with _lock:
        _threads[0] = number
        onednn = library() if _entered else None
        if onednn is not None:
            for computation, by_threads in _entered.items():
                record = by_threads.get(number) or _prepared(computation, number)
                if record is not None and onednn.enter(record):
                    by_threads[number] = record
