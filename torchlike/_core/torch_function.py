"""``__torch_function__``: which arguments take part, in which order they are asked, and what happens if none of them answers."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from types import NotImplementedType
from typing import Any

from ..engine.report import level_of_program
from ..engine.threads import held_by_forks
from .signatures import Args, Function, Kwargs

__all__ = [
    "ALL_OFF",
    "ON",
    "PLAIN",
    "SUBCLASSES_OFF",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "ask",
    "ask_modes",
    "disabled_torch_function_impl",
    "overloaded_arguments",
    "overrides",
    "pop_mode",
    "push_mode",
    "add_overloading",
    "settings",
    "take_slow_way",
    "take_usual_way",
]

ON, SUBCLASSES_OFF, ALL_OFF = range(3)


class Settings(threading.local):
    """Of each thread: whether overriding is off, and the active modes, innermost last."""

    off: int = ON
    stack: tuple[Any, ...] = ()


settings = Settings()

# Types whose objects override nothing and hold nothing that could. Public functions look their arguments' types up here. While a
# mode is active in some thread the set is empty, so that every call takes the slow way, on which modes are asked.
PLAIN: set[type] = set()
_KNOWN_PLAIN: set[type] = {int, float, bool, complex, str, type(None), slice, type(Ellipsis)}
_lock = held_by_forks(threading.RLock())
_active = 0


def know_plain(*kinds: type) -> None:
    """Registers types whose objects override nothing."""
    with _lock:
        _KNOWN_PLAIN.update(kinds)
        if not _active:
            PLAIN.update(_KNOWN_PLAIN)


def take_slow_way() -> None:
    """Sends every call of a public function the slow way, on which modes are asked, until ``take_usual_way``."""
    global _active
    with _lock:
        _active += 1
        PLAIN.clear()


def take_usual_way() -> None:
    """Undoes one ``take_slow_way``."""
    global _active
    with _lock:
        _active -= 1
        if not _active:
            PLAIN.update(_KNOWN_PLAIN)


def push_mode(mode: object) -> None:
    """Makes a mode the innermost of this thread."""
    settings.stack = (*settings.stack, mode)
    take_slow_way()


def pop_mode() -> Any:
    """Takes the innermost mode of this thread off, and returns it."""
    if not settings.stack:
        raise AssertionError("No TorchFunctionMode is active")
    *outer, mode = settings.stack
    settings.stack = tuple(outer)
    take_usual_way()
    return mode


def disabled_torch_function_impl(
    self: object, func: Function, types: object, args: Args = (), kwargs: Any = None
) -> Any:
    """As ``__torch_function__`` of a class: its objects override nothing."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


class _Off:
    """A context within which overriding is off to some degree."""

    _level = ON

    def __enter__(self) -> None:
        self._before = settings.off
        settings.off = max(self._level, self._before)

    def __exit__(self, *exception: object) -> None:
        settings.off = self._before


class DisableTorchFunctionSubclass(_Off):
    """Within it subclasses and other objects override nothing; modes go on to."""

    _level = SUBCLASSES_OFF


class DisableTorchFunction(_Off):
    """Within it neither subclasses nor modes override anything."""

    _level = ALL_OFF


class EnableTorchFunction:
    """From when it is made overriding is on again, until it is left as a context, or dropped."""

    def __init__(self) -> None:
        self._before: int | None = settings.off
        settings.off = ON

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        if self._before is not None:
            settings.off, self._before = self._before, None

    __del__ = __exit__


def overrides(kind: type) -> bool:
    """Whether objects of this type have a ``__torch_function__`` that is not switched off."""
    implementation = getattr(kind, "__torch_function__", None)
    return implementation is not None and implementation is not disabled_torch_function_impl


def add_overloading(overloading: list[object], arg: object) -> None:
    """Adds an argument unless one of its type is there: before those of its superclasses, and else at the end."""
    kind = type(arg)
    for at, candidate in enumerate(overloading):
        if type(candidate) is kind:
            return
        if issubclass(kind, type(candidate)):
            if any(type(later) is kind for later in overloading[at:]):
                return
            overloading.insert(at, arg)
            return
    overloading.append(arg)


def overloaded_arguments(args: Iterable[object], skip: set[type] | frozenset[type] = _KNOWN_PLAIN) -> list[object]:
    """The arguments that override, also those inside lists, in the order in which they are asked."""
    overloading: list[Any] = []
    for arg in args:
        kind = type(arg)
        if kind in skip:
            continue
        if issubclass(kind, (tuple, list)):
            for element in arg:  # pyright: ignore[reportGeneralTypeIssues]
                if type(element) not in skip and overrides(type(element)):
                    add_overloading(overloading, element)
        elif overrides(kind):
            add_overloading(overloading, arg)
    return overloading


def _method_of(arg: Any, python: bool) -> Any:
    method = arg.__torch_function__
    if getattr(method, "__self__", None) is arg and not isinstance(arg, type):
        quote = "" if python else "`"  # PyTorch says it in two places, and forgets a mark in one
        warnings.warn(
            f"Defining your `__torch_function__{quote} as a plain method is deprecated and will be an error in future, please define it as "
            "a classmethod.",
            DeprecationWarning if python else UserWarning,
            stacklevel=level_of_program(),
        )
    return method


def _answer_of(mode: object, arguments: tuple[object, ...]) -> object:
    """What a mode answers. It is not asked about the functions that it calls itself."""
    method = mode.__torch_function__  # pyright: ignore[reportAttributeAccessIssue]
    if getattr(method, "__self__", None) is not mode:
        raise RuntimeError(
            "Defining your mode's `__torch_function__` as a classmethod is not supported, please make it a plain method"
        )
    stack = settings.stack
    settings.stack = stack[:-1]
    try:
        return method(*arguments)
    finally:
        settings.stack = stack


def ask_modes(func: object, usual: Callable[..., Any], args: Args, kwargs: Kwargs) -> Any:
    """Asks the innermost mode about a function of whose arguments none can override it, and computes as usual where there is none."""
    stack = settings.stack
    if not stack or settings.off == ALL_OFF:
        return usual(*args, **kwargs)
    name = getattr(func, "__name__", "function")
    return ask(func, (), (), args, kwargs or None, refuse_dispatch(f"torch.{name}"))


def ask(
    func: object,
    implementations: Sequence[object],
    kinds: tuple[type, ...],
    args: Args,
    kwargs: Kwargs | None,
    unanswered: Callable[..., object],
    python: bool = False,
) -> Any:
    """Asks the innermost mode, and then each overriding argument in turn, until one answers.

    Args:
        func: the public function that was called.
        kwargs: None: they are left out, as where PyTorch's function is written in C++ and was given none.
        unanswered: what happens where all return NotImplemented.
        python: whether PyTorch's function is written in Python.
    """
    arguments = (func, kinds, args) if kwargs is None else (func, kinds, args, kwargs)
    stack, mode = settings.stack, None
    if stack and settings.off != ALL_OFF:
        mode = stack[-1]
        result = _answer_of(mode, arguments)
        if result is not NotImplemented:
            return result
    for arg in implementations:
        result = _method_of(arg, python)(*arguments)
        if result is not NotImplemented:
            return result
    return unanswered(implementations, mode)


def refuse_plainly(name: str) -> Callable[[list[object], object], object]:
    """The error of PyTorch's functions that are written in Python."""

    def unanswered(overloading: Sequence[object], mode: object) -> Any:
        message = (
            f"no implementation found for '{name}' on types that implement __torch_function__: "
            f"{[type(arg) for arg in overloading]}"
        )
        raise TypeError(message if mode is None else f"{message} nor in mode {mode}")

    return unanswered


def refuse_dispatch(name: str) -> Callable[[list[object], object], object]:
    """The error of PyTorch's functions that are written in C++."""

    def unanswered(overloading: Sequence[object], mode: object) -> Any:
        lines = [] if mode is None else [f"  - mode object {mode!r}\n"]
        lines += [f"  - tensor subclass {type(arg)!r}\n" for arg in overloading]
        raise TypeError(
            f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n"
            + "".join(lines)
            + "\nFor more information, try re-running with TORCH_LOGS=not_implemented"
        )

    return unanswered


def not_implemented(overloading: Sequence[object], mode: object) -> NotImplementedType:
    """Python then tries the reflected operator, and words the error itself."""
    return NotImplemented
