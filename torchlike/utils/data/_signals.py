"""Holds back signals while a process starts.

One that arrives during a fork would be handled in some function that Python calls after it, where an exception such as Ctrl-C is only
printed, and what that function had to do is left undone.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["held_back", "in_child"]

_handlers: dict[int, Callable[..., object]] = {}  # the program's own, while signals are held back


@contextmanager
def held_back() -> Iterator[None]:
    """Within the context, signals that have a handler in Python are noted. At its end they are raised again."""
    arrived: list[int] = []
    if threading.current_thread() is not threading.main_thread() or _handlers:
        yield
        return
    try:
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                _handlers[number] = handler
                signal.signal(number, lambda number, frame: arrived.append(number))
        yield
    finally:
        try:
            _restore()
        finally:
            while arrived:
                signal.raise_signal(arrived.pop(0))


def in_child() -> None:
    """Gives a process that was started within ``held_back`` the handlers of the program."""
    _restore()


def _restore() -> None:
    try:
        for number, handler in _handlers.items():
            signal.signal(number, handler)
        _handlers.clear()
    except BaseException:  # a handler that is back already was called
        _restore()
        raise
