"""The threads of the process: the recorder of each that has recorded anything, and how a thread that forks waits for the others.

A lock that another thread holds while a process forks would stay locked in the child for ever, as the child has only the thread that
forked: see ``processes/forks.py``.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import methodcaller
from types import FrameType
from typing import Any, NoReturn

# How long a fork waits for other threads: for a compilation, and for each lock. A thread may itself wait for the one that forks.
SECONDS_FOR_COMPILING = 60.0
SECONDS_FOR_A_LOCK = 10.0
SECONDS_BETWEEN_LOOKS = 0.002


class _State:
    """``by_numpy_alone``: this process must not call XLA.

    ``forking``: a thread is about to fork, so the compiler's thread begins nothing. ``closed``: it holds all locks and forks now, so that
    no other thread begins to trace or to compile.
    """

    by_numpy_alone = False
    forking = closed = False


state = _State()
_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def held_by_forks(lock: Any) -> Any:
    """The lock (of the kind ``threading.RLock``), which a thread that forks holds meanwhile."""
    _locks.add(lock)
    return lock


def hold(more: Iterable[Any]) -> None:
    """Takes these locks and all of ``held_by_forks``. One that is not to be had is left out.

    Each is noted in the call of C in which it is taken, and ``release`` is one call of C, so that no signal leaves a lock behind.
    """
    _held.clear()
    _held.extend(filter(methodcaller("acquire", timeout=SECONDS_FOR_A_LOCK), (*more, *list(_locks))))


_held: list[Any] = []
# Sorting calls the key of each. It gives up the lock, and returns a tuple of numbers.
release: Callable[[], None] = partial(_held.sort, key=methodcaller("_release_save"))


def free_others() -> None:
    """Makes the locks anew that were not to be had, in the child: nobody there would ever release them."""
    for lock in list(_locks):
        if not any(lock is other for other in _held):
            lock._at_fork_reinit()


def wait_while_closed() -> None:
    """Keeps a thread from tracing and compiling while another one forks."""
    while state.closed:
        time.sleep(SECONDS_BETWEEN_LOOKS)


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def others_are_in(code: object) -> bool:
    """Whether another thread is in a function with this code, and does not stand in ``wait_while_closed``.

    The stacks of the threads say so. A count would be wrong after an interrupt between the call and the counting.
    """

    def inside(frame: FrameType) -> bool:
        codes = [each.f_code for each in _frames(frame)]
        return code in codes and wait_while_closed.__code__ not in codes

    return any(inside(frame) for thread, frame in sys._current_frames().items() if thread != threading.get_ident())


def refuse_xla(what: str) -> NoReturn:
    """Raises the error for what needs XLA in such a process."""
    raise RuntimeError(
        f"{what} needs XLA, which cannot run in a process that was forked after it had started: its threads do not survive a fork. "
        "A forked process, such as a worker of a DataLoader, computes by NumPy alone. Start processes with the method 'spawn' or "
        "'forkserver' (a DataLoader's multiprocessing_context) where this is needed"
    )


def refuse_accelerator() -> NoReturn:
    """Raises PyTorch's error for an accelerator's memory in such a process."""
    raise RuntimeError(
        "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method"
    )


# ---- recorders

_recorders: list[weakref.ref[Any]] = []
_lock = held_by_forks(threading.RLock())


def add(recorder: object) -> None:
    with _lock:
        _recorders[:] = [*(reference for reference in _recorders if reference() is not None), weakref.ref(recorder)]


def forget_others(recorder: object) -> None:
    """Only this recorder is left: its thread has forked, and the child has no other."""
    with _lock:
        _recorders[:] = [weakref.ref(recorder)]


def alone() -> bool:
    """Whether only one thread has recorded. No other thread can then have the memory of its values among its inputs."""
    return len(_recorders) == 1


def alone_by_now() -> bool:
    """The same, if threads that have ended and left nothing to run do not count any more."""
    if len(_recorders) != 1:
        with _lock:
            running = sys._current_frames()
            _recorders[:] = [
                reference
                for reference in _recorders
                if (recorder := reference()) is not None
                and (recorder.thread in running or recorder.waiting or recorder.ended or recorder.segment.cursor.depth)
            ]
    return len(_recorders) == 1


flown: list[Any] = []  # segments that another thread runs, in order: see ``Segment._fly``


def land() -> None:
    """Waits for these segments, and gives their values the arrays."""
    for segment in [*flown]:
        segment.finish("a value was read")


class _EndedStep:
    """``run`` begins the run of the step that this thread has ended, if there is one. The recorder, which is a layer above, sets it."""

    def __init__(self) -> None:
        self.run: Callable[[], None] = lambda: None


ended_step = _EndedStep()


def recorders() -> list[Any]:
    return [recorder for reference in list(_recorders) if (recorder := reference()) is not None]


def unfinished() -> list[Any]:
    """The segments of all threads that have not been run to their end."""
    segments: list[object] = []
    for recorder in recorders():
        segments += [*recorder.waiting, recorder.segment]
        if recorder.ended is not None:
            segments.append(recorder.ended)
    return segments
