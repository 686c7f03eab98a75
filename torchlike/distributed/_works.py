"""The handle that a collective returns for ``async_op=True``."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ..futures import Future

__all__ = ["Work"]


class Work:
    """A recorded collective. Its tensors have pending values, and it runs together with the operations recorded around it.

    Args:
        tensors: the tensors that it writes to.
        finish: waits until the collective is done (default: do not wait).
    """

    def __init__(self, tensors: object = None, finish: Callable[[float | None], object] | None = None) -> None:
        self._tensors, self._finish = tensors, finish
        self._source = -1

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Waits until the tensors can be used."""
        if self._finish is not None:
            self._finish(None if timeout is None else timeout.total_seconds())
            self._finish = None
        return True

    def is_completed(self) -> bool:
        """Whether the tensors can be used."""
        return self._finish is None

    def is_success(self) -> bool:
        """Whether the collective has succeeded."""
        return self._finish is None

    def exception(self) -> None:
        """Always None, because errors are raised when the tensors are read."""
        return

    def result(self) -> Any:
        """The tensors that it writes to."""
        self.wait()
        return self._tensors if isinstance(self._tensors, list) else [self._tensors]

    def source_rank(self) -> int:
        """The process whose tensor was received."""
        return self._source

    def get_future(self) -> Future[Any]:
        """A future of the tensors."""
        future: Future[Any] = Future()
        future.set_result(self.result())
        return future
