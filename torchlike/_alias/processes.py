"""Processes that ``multiprocessing`` or loky start anew: ``import torch`` must mean torchlike there before their first import."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from multiprocessing import spawn
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["STARTS_PROCESSES", "Telling", "tell_children"]

PARENT = str(Path(__file__).parents[2])
# loky, by which joblib starts processes, has a file of its own in the place of the standard library's.
STARTS_PROCESSES = "loky.backend.spawn"


class Aliased:
    """The first object that a child process unpickles. The child has not set ``sys.path`` yet, so the path of torchlike is in it."""

    def __reduce__(self) -> tuple[object, ...]:
        text = f"import sys; sys.path.append({PARENT!r}); import torchlike; sys.path.pop(); torchlike.alias()"
        return exec, (text,)


def tell_children() -> None:
    """Adds the alias to what children are told, by ``spawn``, by ``forkserver``, and by loky."""
    _tell(spawn)
    for name, module in list(sys.modules.items()):
        if name.endswith(STARTS_PROCESSES):
            _tell(module)


def _tell(module: Any) -> None:
    original: Callable[..., dict[str, object]] = module.get_preparation_data

    def get_preparation_data(name: str, *args: object, **kwargs: object) -> dict[str, object]:
        data = original(name, *args, **kwargs)
        if name == "ignore":  # the fork server asks: it would import the program before it hears of the alias
            return {key: value for key, value in data.items() if not key.startswith(("init_main", "main_path"))}
        return {"torchlike": Aliased(), **data}

    module.get_preparation_data = get_preparation_data


class Telling:
    """Loads a module that starts processes, and adds the alias to what it tells them."""

    def __init__(self, spec: ModuleSpec) -> None:
        self._loader: Any = spec.loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _tell(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)  # the source, say, for tracebacks
