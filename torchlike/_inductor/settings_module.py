"""Modules of settings that PyTorch's compiler reads: they keep what programs set. torchlike's engine reads none of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ContextDecorator
from typing import Any

__all__ = ["Patch", "patcher", "saver"]

_ABSENT = object()


class Patch(ContextDecorator):
    """Other values for settings, for a while."""

    def __init__(self, settings: dict[str, object], changes: dict[str, object]) -> None:
        self._settings, self._changes = settings, changes

    def __enter__(self) -> None:
        self._before = {name: self._settings.get(name, _ABSENT) for name in self._changes}
        self._settings.update(self._changes)

    def __exit__(self, *exception: object) -> None:
        for name, value in self._before.items():
            if value is _ABSENT:
                self._settings.pop(name, None)
            else:
                self._settings[name] = value


def patcher(settings: dict[str, object]) -> Callable[..., Patch]:
    """``config.patch`` of a module of settings: ``patch(name=value)``, ``patch("name", value)`` or ``patch({...})``."""

    def patch(arg1: object = None, arg2: object = None, **kwargs: object) -> Patch:
        if isinstance(arg1, str):
            kwargs = {arg1: arg2}
        elif isinstance(arg1, dict):
            kwargs = dict(arg1)
        return Patch(settings, kwargs)

    return patch


def _plain(settings: dict[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in settings.items():
        if not name.startswith("_") and isinstance(value, (bool, int, float, str, type(None), list, dict)):
            yield name, value


def saver(settings: dict[str, object]) -> tuple[Callable[[], dict[str, Any]], Callable[[dict[str, Any]], None]]:
    """``get_config_copy`` and ``load_config`` of a module of settings."""
    return functools.partial(lambda: dict(_plain(settings))), settings.update
