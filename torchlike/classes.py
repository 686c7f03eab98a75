"""torch.classes: classes that libraries write in C++. There are none here."""

from __future__ import annotations

import os
from typing import Any

__all__ = ["load_library", "loaded_libraries"]

loaded_libraries: set[str] = set()


def load_library(path: str) -> None:
    """Raises OSError: a library of PyTorch's operators cannot be loaded without PyTorch."""
    raise OSError(f"Could not load this library: {os.path.abspath(path)}")


class _Namespace:
    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(
            f"Tried to instantiate class '{self.name}.{name}', but it does not exist! Ensure that it is registered via torch::class_"
        )


def __getattr__(name: str) -> _Namespace:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return _Namespace(name)
