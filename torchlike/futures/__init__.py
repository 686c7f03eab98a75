"""torch.futures: a value that another thread sets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A value that is there later, or the error that came in its place.

    >>> future = torch.futures.Future()
    >>> after = future.then(lambda done: done.wait() + 1)
    >>> future.set_result(2)
    >>> after.wait()
    3

    Source: https://docs.pytorch.org/docs/stable/futures.html
    """

    def __init__(self, *, devices: Iterable[object] | None = None) -> None:
        self._changed = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], object]] = []

    def done(self) -> bool:
        """Whether the value or an error is there."""
        return self._done

    def wait(self) -> T:
        """Waits for the value, and returns it or raises the error."""
        with self._changed:
            self._changed.wait_for(lambda: self._done)
        return self.value()

    def value(self) -> T:
        """The value of a future that is done; raises the error if there was one."""
        if not self._done:
            raise RuntimeError("Cannot access value of future before it has completed.")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: T) -> None:
        """Sets the value, and calls what was to be called then.

        Raises:
            RuntimeError: it is done already.
        """
        self._finish(result, None)

    def set_exception(self, result: Exception) -> None:
        """Sets an error in place of the value."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, value: object, error: BaseException | None) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError("Future can only be marked completed once")
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in callbacks:
            callback(self)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """A future for what ``callback(self)`` returns, which is called when this one is done."""
        after: Future[S] = Future()

        def run(future: Future[T]) -> None:
            try:
                after.set_result(callback(future))
            except Exception as error:
                after.set_exception(error)

        self._call_later(run)
        return after

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Calls ``callback(self)`` when this one is done; its errors are shown and go no further."""

        def run(future: Future[T]) -> None:
            try:
                callback(future)
            except Exception:
                import traceback

                traceback.print_exc()

        self._call_later(run)

    def _call_later(self, run: Callable[[Future[T]], None]) -> None:
        with self._changed:
            if not self._done:
                self._callbacks.append(run)
                return
        run(self)


def collect_all(futures: Sequence[Future[object]]) -> Future[list[Future[Any]]]:
    """A future for the list of all these futures, which is done when they all are."""
    result: Future[list[Future[object]]] = Future()
    remaining = len(futures)
    lock = threading.Lock()
    if not futures:
        result.set_result([])

    def one_more(_: Future[object]) -> None:
        nonlocal remaining
        with lock:
            remaining -= 1
            last = remaining == 0
        if last:
            result.set_result(list(futures))

    for future in futures:
        future._call_later(one_more)
    return result


def wait_all(futures: Sequence[Future[object]]) -> list[Any]:
    """Waits for all these futures, and returns their values; the first error is raised."""
    return [future.wait() for future in collect_all(futures).wait()]
