"""Compiles programs on a thread of their own, while the program of the user goes on."""

from __future__ import annotations

import atexit
import os
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from .handlers import hold, let_go
from .threads import state

# How long the program waits for a compilation before a person at a terminal is told why.
SECONDS_UNTIL_TOLD = 5.0
# How often a thread that waits for a compilation looks whether that waits for it in turn.
SECONDS_BETWEEN_LOOKS = 0.002
# The most results to keep that have not been used yet. Each is a compiled program of about three megabytes.
MAX_RESULTS_KEPT = 32


def tell(message: str) -> None:
    """Writes a line to stderr if that is a terminal; does nothing if it is redirected."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(message + "\n")


class _Making(threading.local):
    """``task``: the one that this thread makes."""

    task: Task | None = None


making = _Making()


class CompilerWaits(Exception):
    """The thread that compiles waits for a lock that the caller may hold, or is the caller's: it cannot wait for the program now."""


@contextmanager
def waiting_for(lock: AbstractContextManager[Any]) -> Iterator[None]:
    """Holds the lock under which a thread runs what it has recorded, on a thread that is making a task.

    Reading a value of another thread takes that lock. A finalizer of the user's may do so while the thread compiles, and the other
    thread may hold the lock and wait for this very compilation. It is told that the compilation does not go on: see ``Task.run``.
    """
    task, making.task = making.task, None
    assert task is not None
    try:
        task.waits = True
        with lock:
            task.waits = False
            yield
    finally:
        task.waits = False
        making.task = task


class Task:
    """A compilation that runs once: on the compiler's thread, or on the first thread that needs its result. ``reason`` says why.

    ``waits``: whether the thread that makes it may be waiting for a lock. ``maker``: that thread.
    """

    __slots__ = ("reason", "waits", "maker", "_make", "_lock", "_done", "_result", "_error")

    def __init__(self, make: Callable[[], Any], reason: str) -> None:
        self.reason = reason
        self.waits = False
        self.maker: int | None = None
        self._make = make
        self._lock = threading.Lock()  # held while it is made
        self._done = False
        self._result: Any = None
        self._error: Exception | None = None

    def run(self) -> None:
        """Compiles the program unless that has been done; waits if another thread is compiling it.

        Raises:
            CompilerWaits: that thread waits for a lock meanwhile, or is this one, in a finalizer.
        """
        while self._lock.locked():
            if self.waits or self.maker == threading.get_ident():
                raise CompilerWaits
            time.sleep(SECONDS_BETWEEN_LOOKS)
        holds = hold(
            sys._getframe()
        )  # a handler that needs the program would wait for the code that it has interrupted
        try:
            with self._lock:
                self._make_once()
        finally:
            if holds:
                let_go()

    def _make_once(self) -> None:
        if self._done:
            return
        self.maker = threading.get_ident()
        outer, making.task = making.task, self
        try:
            self._result = self._make()
        except Exception as error:
            self._error = error
        finally:
            making.task = outer
            self.maker = None
        self._done = True

    def result(self) -> Any:
        """The compiled program; raises the error of the compilation.

        Raises:
            CompilerWaits: see ``run``.
        """
        timer = threading.Timer(SECONDS_UNTIL_TOLD, tell, [f"torchlike is still compiling {self.reason}"])
        timer.daemon = True
        with suppress(RuntimeError):  # no thread starts while Python ends, from 3.12 on
            timer.start()
        try:
            self.run()
        finally:
            timer.cancel()
        if self._error is not None:
            raise self._error
        return self._result

    def made(self) -> Any:
        """What was compiled, if that is done; else None, also if it has failed."""
        return self._result if self._done else None

    def drop_result(self) -> None:
        """Drops the result. It is compiled again when it is needed."""
        with self._lock:
            self._done, self._result, self._error = False, None, None


class _Worker:
    """The compiler's thread, started with the first task. It is a daemon, so the process does not wait for tasks that have not begun."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._made: deque[Task] = deque()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._lock = threading.RLock()  # a signal handler may add a task while one is added

    def add(self, task: Task) -> None:
        with self._lock:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="torchlike-compiler", daemon=True)
                with suppress(RuntimeError):  # while Python ends, whoever needs a task runs it
                    thread.start()
                    self._thread = thread
                    atexit.register(self.stop)
        self._tasks.put(task)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None and not self._stopped:
            while state.forking:
                time.sleep(SECONDS_BETWEEN_LOOKS)
            task.run()
            self._made.append(task)
            if len(self._made) > MAX_RESULTS_KEPT:
                self._made.popleft().drop_result()

    def stop(self) -> None:
        """Waits for the compilation that XLA has begun: nothing can stop it, and it crashes when it returns to a Python that ends."""
        self._stopped = True
        self._tasks.put(None)
        if self._thread is None:
            return
        try:
            self._thread.join(SECONDS_UNTIL_TOLD)
            if self._thread.is_alive():
                tell("torchlike ends when a program is compiled that XLA has begun")
                self._thread.join()
        except (KeyboardInterrupt, SystemExit) as end:  # of Ctrl-C, or of a handler of the program's
            sys.stdout.flush()
            os._exit(130 if isinstance(end, KeyboardInterrupt) else end.code if isinstance(end.code, int) else 1)


_worker = _Worker()


def begin(task: Task) -> None:
    """Runs a task on the compiler's thread, after those that were begun before."""
    _worker.add(task)
