"""Decorators of functions that other processes call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["async_execution"]


def async_execution(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Marks a function that returns a future. A caller receives the value of the future."""

    @functools.wraps(fn)
    def wrapper(*args: object, **kwargs: object) -> Any:
        return fn(*args, **kwargs).wait()

    return wrapper
