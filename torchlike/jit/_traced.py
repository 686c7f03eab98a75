"""Traces: a function or module as it is when it is traced, which runs with the autocast of that time."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .._core.modes import modes
from ..nn import Module
from ..nn.utils._copies import snapshot

__all__ = ["is_tracing", "traced", "traced_module", "while_tracing"]


class _Tracing(threading.local):
    on = False


_tracing = _Tracing()


def is_tracing() -> bool:
    """Whether this runs under a trace, or as what was traced.

    >>> torch.jit.is_tracing()
    False
    """
    return _tracing.on


@contextmanager
def while_tracing(halves: Mapping[str, object]) -> Iterator[None]:
    """Within it ``is_tracing`` is True, and operators run with an autocast besides the one around: the dtypes by type of device."""
    before = _tracing.on, modes.autocast
    _tracing.on = True
    if halves:
        modes.autocast = {**(modes.autocast or {}), **halves}
        modes.update()
    try:
        yield
    finally:
        _tracing.on, modes.autocast = before
        modes.update()


class _Fixed:
    """Runs a function as it was when it was traced."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function, self.halves = function, dict(modes.autocast or {})

    def __call__(self, *args: object, **kwargs: object) -> object:
        with while_tracing(self.halves):
            return self.function(*args, **kwargs)


def traced(function: Callable[..., object]) -> Any:
    """A function with the autocast of now. Without one it is the function itself."""
    if not modes.autocast:
        return function
    fixed = _Fixed(function)

    @functools.wraps(function)
    def wrapped(*args: object, **kwargs: object) -> object:
        return fixed(*args, **kwargs)

    return wrapped


def traced_module(module: Module, methods: Iterator[str] | list[str]) -> Any:
    """A module as it is now, with the same parameters and buffers.

    What runs is a second copy, whose tables of parameters and buffers are those of the first: ``train`` and ``eval``, and attributes that
    are set later, change nothing that was traced.
    """
    result, inner = snapshot(module), snapshot(module)
    for own, other in zip(result.modules(), inner.modules(), strict=True):
        for table in ("_parameters", "_buffers"):
            vars(other)[table] = vars(own)[table]
    for hooks in [name for name in vars(result) if name.endswith("_hooks")]:
        if hooks.startswith(("_forward", "_backward")):
            vars(result)[hooks].clear()  # those of the copy run
    for method in methods:
        object.__setattr__(result, method, _Fixed(inner if method == "forward" else getattr(inner, method)))
    return result
