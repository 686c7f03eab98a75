"""Calls a function once a module of another library has been imported, so that the package need not import the library itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["after_import"]


class _Finder:
    """Finds one module as the other finders do, and has its loader call a function at the end."""

    def __init__(self, name: str, function: Callable[[], object]) -> None:
        self.name, self.function = name, function

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.name:
            return None
        for finder in [finder for finder in sys.meta_path if finder is not self]:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                self._extend(spec)
                return spec
        return None

    def _extend(self, spec: ModuleSpec) -> None:
        loader = spec.loader
        assert loader is not None
        execute = loader.exec_module

        # An attribute of the loader, not a loader around it: `inspect` and `pkgutil` ask a module for the loader that read it.
        def execute_and_call(module: ModuleType) -> None:
            execute(module)
            del loader.exec_module
            if self in sys.meta_path:  # not where a program has put an earlier list of finders back
                sys.meta_path.remove(self)  # pyright: ignore[reportArgumentType]
            self.function()

        loader.exec_module = execute_and_call


def after_import(name: str, function: Callable[[], object]) -> None:
    """Calls the function when the module is imported: now, if it has been already.

    Args:
        name: the full name of the module.
        function: is called once. By then the module's code has run. An import that fails does not count.
    """
    if name in sys.modules:
        function()
    else:
        sys.meta_path.insert(0, _Finder(name, function))  # pyright: ignore[reportArgumentType]
