"""Compiles programs on a thread of their own, while the program of the user goes on."""

from __future__ import annotations

import atexit
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

# How long the end of the process waits for a compilation that XLA has begun: it cannot be stopped, and must not outlive XLA.
SECONDS_AT_EXIT = 60.0


# How long the program waits for a compilation before a person at a terminal is told why.
SECONDS_UNTIL_TOLD = 5.0


def tell(message: str) -> None:
    """Writes a line for a person who watches a terminal; nothing where the output goes elsewhere."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(message + "\n")


class Task:
    """Something to be made. ``result`` waits for it. ``reason`` says why."""

    __slots__ = ("_make", "_done", "_result", "_error", "reason")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._done = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None
        self.reason = ""

    def run(self) -> None:
        make, self._make = self._make, None
        try:
            if make is not None:
                self._result = make()
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()

    def cancel(self) -> None:
        """Gives it up if it has not been begun."""
        self._make = None

    def result(self) -> Any:
        if not self._done.wait(SECONDS_UNTIL_TOLD):
            tell(f"torchlike is still compiling {self.reason}")
            self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result


class _Worker:
    """One thread, started with the first task. It is a daemon: the process does not wait for tasks that have not been begun."""

    def __init__(self) -> None:
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def add(self, task: Task) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():  # the first one, or this process was forked
                self._thread = threading.Thread(target=self._work, name="torchlike-compiler", daemon=True)
                self._thread.start()
                atexit.register(self.stop)
        self._tasks.put(task)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            if self._stopped:
                task.cancel()
            task.run()

    def stop(self) -> None:
        self._stopped = True
        self._tasks.put(None)
        if self._thread is not None:
            self._thread.join(SECONDS_AT_EXIT)


_worker = _Worker()


def begin(task: Task) -> None:
    """Runs a task on the compiler's thread, after those that were begun before."""
    _worker.add(task)
