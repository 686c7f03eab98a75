"""Threads that compute parts of one array together, by functions of C that let other threads run meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np

from ..threads import state

# More threads than this gain nothing: between two functions of C they take turns.
MAX_THREADS = 8


def _nothing() -> None:
    """In the place of work that has been done."""


class _Share:
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
    """Threads that help, started when they are first needed. In a process that was forked there are none."""

    def __init__(self) -> None:
        self.wanted = min(_cores(), MAX_THREADS)
        self.queue: SimpleQueue[_Share] = SimpleQueue()
        self.started = 0

    def ask(self, share: _Share, count: int) -> None:
        while self.started < count:
            self.started += 1
            threading.Thread(target=self._serve, name=f"torchlike-computes-{self.started}", daemon=True).start()
        self.queue.put(share)

    def _serve(self) -> None:
        while True:
            self.queue.get().run()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_threads = _Threads()


def set_threads(number: int) -> None:
    """How many threads compute a large array together, the caller's among them."""
    _threads.wanted = min(number, MAX_THREADS)


def together(work: Callable[[], None], left: list[Any]) -> None:
    """Does ``work`` here and on other threads, until nothing is left in the list; each of them takes from it."""
    count = 0 if state.by_numpy_alone else min(_threads.wanted, len(left)) - 1
    shares = [_Share(work) for _ in range(count)]
    for share in shares:
        _threads.ask(share, count)
    try:
        work()
    finally:
        left.clear()
        for share in shares:
            share.lock.acquire()  # at once where no thread has begun it, and then none will
            share.work = _nothing  # it still waits in the queue, and must not keep the arrays
    for share in shares:
        if share.error is not None:
            raise share.error
