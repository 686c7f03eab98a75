"""Threads that compute parts of one array together, in the place of those of the library that computes NumPy's matrix products.

OpenBLAS divides a product among threads that wait by spinning: for some thirty milliseconds after each product they take whole cores, and
where another thread needs one of these cores, a product waits until its share has had its turn: five times as long, while a program is
compiled beside it. So products run on one thread of OpenBLAS each, and ``products.py`` divides the large ones among these threads.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np

from ..threads import state

try:
    from numpy._core import _multiarray_umath  # pyright: ignore[reportAttributeAccessIssue]
except ImportError:  # another version of NumPy has other names
    _multiarray_umath: Any = None

_T = TypeVar("_T")
# More threads than this gain nothing: between two functions of C they take turns.
MAX_THREADS = 8


# ---- the library's threads


def _function(purpose: str) -> Callable[..., int] | None:
    """A function of the OpenBLAS that NumPy was linked to, under one of the names that it has there."""
    if _multiarray_umath is None:
        return None
    try:
        library = ctypes.CDLL(_multiarray_umath.__file__)  # and the libraries that it needs
    except OSError:
        return None
    names = [f"{before}openblas_{purpose}_num_threads{after}" for before in ("scipy_", "") for after in ("64_", "")]
    return next((getattr(library, name) for name in names if hasattr(library, name)), None)


_get, _set = _function("get"), _function("set")
known = _get is not None and _set is not None
_inside: list[int] = []


class _OneThread:
    """Within it OpenBLAS computes on the calling thread.

    The number of its threads belongs to the process. Where two threads enter and leave at once, the one may find another number than it
    has set. Products are the same then, and take longer.
    """

    def __enter__(self) -> None:
        if _get is not None and _set is not None:
            threads = _get()
            _inside.append(threads)
            if threads != 1:
                _set(1)

    def __exit__(self, *error: object) -> None:
        if _set is not None:
            threads = _inside.pop()
            if threads != 1:
                _set(threads)


one_thread = _OneThread()


# ---- ours


def _nothing() -> None:
    """In the place of work that has been done."""


class _Request:
    """What another thread is asked to do. Its lock is held by who does it, or by who has closed it."""

    __slots__ = ("work", "lock", "error")

    def __init__(self, work: Callable[[], None]) -> None:
        self.work, self.lock = work, threading.Lock()
        self.error: BaseException | None = None

    def run(self) -> None:
        if not self.lock.acquire(False):
            return
        try:
            with np.errstate(all="ignore"):
                self.work()
        except BaseException as error:
            self.error = error
        finally:
            self.lock.release()


class _Threads:
    """Threads that help, started when they are first needed."""

    def __init__(self) -> None:
        self.wanted = min(_cores(), MAX_THREADS)
        self.begin_anew()

    def begin_anew(self) -> None:
        """There are no threads yet, as in a process that was forked."""
        self.queue: SimpleQueue[_Request] = SimpleQueue()
        self.started = 0

    def ask(self, request: _Request, count: int) -> None:
        while self.started < count:
            self.started += 1
            threading.Thread(target=self._serve, name=f"torchlike-computes-{self.started}", daemon=True).start()
        self.queue.put(request)

    def _serve(self) -> None:
        queue = self.queue
        while True:
            queue.get().run()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_threads = _Threads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.begin_anew)


def set_threads(number: int) -> None:
    """How many threads compute a large array together, the caller's among them."""
    _threads.wanted = min(number, MAX_THREADS)


def together(compute: Callable[[_T], None], shares: list[_T]) -> None:
    """Computes shares here and on other threads, until none is left in the list."""

    def work() -> None:
        while shares:
            try:
                share = shares.pop()
            except IndexError:  # another thread has taken it
                return
            compute(share)

    count = 0 if state.by_numpy_alone else min(_threads.wanted, len(shares)) - 1
    requests = [_Request(work) for _ in range(count)]
    for request in requests:
        _threads.ask(request, count)
    try:
        work()
    finally:
        shares.clear()
        for request in requests:
            request.lock.acquire()  # at once where no thread has begun it, and then none will
            request.work = _nothing  # it still waits in the queue, and must not keep the arrays
    for request in requests:
        if request.error is not None:
            raise request.error
