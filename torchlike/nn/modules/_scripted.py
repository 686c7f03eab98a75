"""The modules that ``torch.jit.script`` and ``torch.jit.trace`` were given, and the attributes that only those have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

__all__ = ["ATTRIBUTES", "add", "is_scripted"]

# Each as a function of the module. torch.jit enters them.
ATTRIBUTES: dict[str, Callable[[Any], Any]] = {}
# By identity: a module need not be hashable.
_modules: WeakValueDictionary[int, Any] = WeakValueDictionary()


def add(module: Any) -> None:
    """Notes that a module was scripted."""
    _modules[id(module)] = module


def is_scripted(module: Any) -> bool:
    """Whether a module was scripted."""
    return _modules.get(id(module)) is module
