"""Calls of JAX under 64-bit types, which leave JAX's own settings as they were, whatever ends them.

JAX keeps for each thread what it is doing: the trace that is current, the axes that have names, flags. Its contexts put these back at their
end, which is a Python function: there a signal may strike before anything is put back. After Ctrl-C the thread would be within a trace that
is no more, or the user's arrays would be of 64 bits. So one call of C, between which and the interrupted call Python does not look for
signals, puts back all of them. Other handlers of the program's wait until then: see ``handlers.py``.
"""

from __future__ import annotations

import functools
import sys
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import _GeneratorContextManager, suppress  # pyright: ignore[reportPrivateUsage]
from itertools import chain, starmap
from operator import attrgetter, is_
from traceback import walk_tb
from typing import Any, ParamSpec, TypeVar

import jax

from ..handlers import hold, let_go
from ..threads import state, wait_while_closed

try:
    from jax._src import config, core
    from jax._src.config import enable_x64 as _x64
    from jax._src.source_info_util import _source_info_context as _names  # pyright: ignore[reportPrivateUsage]

    _Setting = _x64.__class__.__mro__[1]  # a class of C
    _get, _set = _Setting.get_local, _Setting.set_local
    # Found by their class, not by their names: what JAX adds is among them.
    _all: list[Any] = [s for module in (config, core) for s in vars(module).values() if isinstance(s, _Setting)]
    _all += [s for s in config.config_states.values() if not any(s is other for other in _all)]
except (ImportError, AttributeError):  # another version of JAX has no such class
    _x64 = None

try:
    from jax._src.lib import _jax  # pyright: ignore[reportPrivateImportUsage]

    # Drops what JAX's own threads have let go of: they may not drop Python's objects, and leave that to Python's collector. Until this
    # came by, each array that was copied to a device would be there twice.
    drop_what_was_sent: Callable[[], None] = _jax.collect_garbage
except (ImportError, AttributeError):

    def drop_what_was_sent() -> None:
        """Another version of JAX has no such function."""


_GENERATOR_EXIT = _GeneratorContextManager.__exit__.__code__
P = ParamSpec("P")
T = TypeVar("T")


def settings_now() -> tuple[object, ...]:
    """JAX's settings, as this thread finds them."""
    return tuple(jax.config.values.values()) if _x64 is None else tuple(map(attrgetter("value"), _all))


def in_a_trace() -> bool:
    """Whether this thread is within ``tracing``."""
    return _x64 is not None and _x64.get_local() is True


def settings_are(others: tuple[object, ...]) -> bool:
    """Whether JAX has these settings still."""
    now = settings_now()
    return len(now) == len(others) and all(map(is_, now, others))


def _settings_restored() -> Iterable[None]:
    """A generator that restores the settings of this moment when it is exhausted."""
    if _x64 is None:
        return ()
    return chain(map(_set, _all, [*map(_get, _all)]), starmap(setattr, [(_names, "context", _names.context)]))


def _end_contexts(error: BaseException | None) -> None:
    """Ends the generators of contexts the ends of which were interrupted.

    The error's traceback keeps them alive. If it were dropped later, they would restore old settings over newer ones.
    """
    while error is not None:
        for frame, _ in walk_tb(error.__traceback__):
            if frame.f_code is _GENERATOR_EXIT:
                with suppress(RuntimeError):  # it is running: an error is being handled in it
                    frame.clear()
        error = error.__context__


def _without_words_of_jax(error: BaseException) -> None:
    """Removes what JAX adds to an error of an operation: a note about its frames, and a stack of its own as the cause.

    The error is in PyTorch's words, and names the program's line.
    """
    notes = getattr(error, "__notes__", None)
    if notes:
        error.__notes__ = [note for note in notes if "JAX_TRACEBACK_FILTERING" not in note]
        if not error.__notes__:
            del error.__notes__
    cause = error.__cause__
    if cause is not None and type(cause).__module__.startswith("jax."):
        error.__cause__ = None


def tracing(fn: Callable[P, T]) -> Callable[P, T]:
    """The same function under the settings with which everything is traced and compiled; afterwards all settings are as before."""

    @functools.wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if state.closed:
            wait_while_closed()
        holds = hold(sys._getframe())
        restored = _settings_restored()
        try:
            if _x64 is None:
                with jax.enable_x64(True):
                    return fn(*args, **kwargs)
            _x64.set_local(True)
            return fn(*args, **kwargs)
        except BaseException as error:
            _end_contexts(error)
            _without_words_of_jax(error)
            if not isinstance(error, Exception):
                jax.clear_caches()  # an entry that is not complete is refused for ever, as a recursion
            raise
        finally:
            deque(restored, 0)
            if holds:
                let_go()

    return call


# The code of every function that ``tracing`` returns: a thread that traces or compiles is in it.
TRACING = tracing(lambda: None).__code__  # pyright: ignore[reportFunctionMemberAccess]


def with_64_bits(fn: Callable[P, T]) -> Callable[P, T]:
    """The same function with 64-bit types kept. For functions of JAX that trace nothing: a tenth of the time of ``tracing``."""

    @functools.wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if _x64 is None:
            with jax.enable_x64(True):
                return fn(*args, **kwargs)
        before = _x64.get_local()
        try:
            _x64.set_local(True)
            return fn(*args, **kwargs)
        except Exception as error:
            _without_words_of_jax(error)
            raise
        finally:
            _x64.set_local(before)

    return call
