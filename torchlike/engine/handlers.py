"""What Python calls in the middle of the engine: the program's finalizers, and its signal handlers.

*Finalizers.* Before the garbage collector calls the finalizers of objects that only refer to each other, it clears all weak references to
these objects. A finalizer may still read a tensor among them. A segment knows by weak references which of its values are alive, so one that
runs in the meantime cannot tell: see ``Segment.run``.

*Signal handlers.* Python calls one on the main thread between two instructions, and it may do all that a program does. Most of the engine
lets it: see the head of ``segment.py``. But JAX refuses to trace a function while it traces it, what Python calls around a fork drops
exceptions, and in the middle of a sample the state of a generator of random numbers is that of no number of samples.

So a function that enters these puts stand-ins in the handlers' places, which note the signals, and at its end puts the handlers back and
raises the signals again. Ctrl-C must end a long compilation, so the handler that raises KeyboardInterrupt stays in its place, unless
``interrupts`` says otherwise. It may strike before the handlers are back. Then the stand-ins see that the function is not on the stack any
more, and call the handlers.
"""

from __future__ import annotations

import _signal  # pyright: ignore[reportMissingImports]
import gc
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class _Collector:
    def __init__(self) -> None:
        self.at_work = False

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        self.at_work = phase == "start"


collector = _Collector()
gc.callbacks.append(collector)


def catch_up() -> None:
    """Lets the collector do what it has put off. From Python 3.12 on it waits for the next call of a function that is not compiled.

    So a compiled function that must not be interrupted by finalizers calls this one first: this file is no extension module.
    """


# ---- signal handlers

# The functions of C in Python's functions of these names, which look for enumerations and take a hundred times as long.
_get, _set = _signal.getsignal, _signal.signal
_NUMBERS = sorted(map(int, signal.valid_signals()))


class _State:
    """``holder``: the frame of the function that holds signals back. ``arrived``: these signals.

    ``free``: all handlers, as they were when there was last none to hold back.
    """

    holder: FrameType | None = None
    arrived: list[int] = []
    free: list[Any] = []


class _StandIn:
    """Notes a signal in the place of the program's handler."""

    def __init__(self, handler: Callable[..., object]) -> None:
        self.handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> object:
        if _is_on_stack(_State.holder, frame):
            return _State.arrived.append(number)
        return self.handler(number, frame)


def _is_on_stack(wanted: FrameType | None, frame: FrameType | None) -> bool:
    while frame is not None and frame is not wanted:
        frame = frame.f_back
    return frame is not None


def hold(holder: FrameType, interrupts: bool = False) -> bool:
    """Holds signals back until ``let_go``, which the function with this frame must call if this returns True.

    Args:
        interrupts: the one that raises KeyboardInterrupt as well.
    """
    handlers = list(map(_get, _NUMBERS))
    if handlers == _State.free and not interrupts:
        return False
    if threading.current_thread() is not threading.main_thread() or _is_on_stack(_State.holder, holder):
        return False
    keeps = None if interrupts else signal.default_int_handler
    found = [(n, h) for n, h in zip(_NUMBERS, handlers, strict=True) if callable(h) and h is not keeps]
    if not found:
        _State.free = handlers
        return False
    _State.holder = holder
    for number, handler in found:
        # One that is there already is left of a function whose end was interrupted.
        _set(number, handler if isinstance(handler, _StandIn) else _StandIn(handler))
    return True


def let_go() -> None:
    """Puts the handlers back, and raises the signals that have arrived."""
    _State.holder = None
    try:
        restore()
    finally:
        _raise_arrived()


def restore() -> None:
    """Puts the handlers back."""
    for number in _NUMBERS:
        handler = _get(number)
        if isinstance(handler, _StandIn):
            _set(number, handler.handler)


def in_child() -> None:
    """Gives a process that was forked while signals were held back the handlers of the program."""
    _State.holder = None
    _State.arrived.clear()  # they are the parent's
    restore()


def _raise_arrived() -> None:
    try:
        while _State.arrived:
            signal.raise_signal(_State.arrived.pop(0))
    finally:
        if _State.arrived:  # a handler has raised an exception
            _raise_arrived()


def without_handlers(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a function returns, which no handler interrupts."""
    holds = hold(sys._getframe())
    try:
        return fn(*args, **kwargs)
    finally:
        if holds:
            let_go()


class HeldBack:
    """Within the context, signals wait. ``interrupts``: Ctrl-C too."""

    def __init__(self, interrupts: bool = False) -> None:
        self._interrupts = interrupts

    def __enter__(self) -> None:
        self._holds = hold(sys._getframe(1), self._interrupts)

    def __exit__(self, *error: object) -> None:
        if self._holds:
            let_go()
