"""Watching what a thread records: its recorder is of another class while somebody does."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .recorder import Recorder, Replay, per_thread
from .value import Value

Observer = Callable[[Any, tuple[Any, ...], Any, Sequence[Value]], None]


class ObservedRecorder(Recorder):
    """The class of a thread's recorder while somebody watches what is recorded. Otherwise recording asks nobody.

    ``observers`` are called after each record, with the operation, the arguments as they were given, its kernel and its inputs.
    """

    observers: tuple[Observer, ...] = ()
    _within = False

    def record(
        self, op: Any, static: tuple[Any, ...], values: Sequence[Value], args: tuple[Any, ...]
    ) -> tuple[Any, list[Value]]:
        if self._within:  # ``record`` begins again after it has flushed
            return super().record(op, static, values, args)
        self._within = True
        try:
            kernel, outs = super().record(op, static, values, args)
        finally:
            self._within = False
        for observer in self.observers:
            observer(op, args, kernel, values)
        return kernel, outs

    def replay(self, replay: Replay, inputs: Sequence[Value]) -> None:
        """None: every operation is recorded by itself."""


@contextlib.contextmanager
def observing(observer: Observer) -> Iterator[None]:
    """Within the context the observer sees each operation that this thread records."""
    own: Any = per_thread.recorder
    own.__class__ = ObservedRecorder
    own.observers = (*own.observers, observer)
    try:
        yield
    finally:
        own.observers = tuple(registered for registered in own.observers if registered is not observer)
        if not own.observers:
            own.__class__ = Recorder
