"""Calls a function once a module of another library has been imported, so that the package need not import the library itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["after_import"]


class _Finder:
    """Finds one module through the other finders, and makes its loader call a function after the module was executed."""

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

        # This sets an attribute of the loader and does not wrap it, because ``inspect`` and ``pkgutil`` use the loader of a module.
        def execute_and_call(module: ModuleType) -> None:
            execute(module)
            del loader.exec_module
            if self in sys.meta_path:  # it is absent if a program has restored an earlier list of finders
                sys.meta_path.remove(self)  # pyright: ignore[reportArgumentType]
            self.function()

        loader.exec_module = execute_and_call


def after_import(name: str, function: Callable[[], object]) -> None:
    """Calls the function once the module has been imported: at once, if it already is.

    Args:
        name: the full name of the module.
        function: called once, after the module's code has run. A failed import does not call it.
    """
    if name in sys.modules:
        function()
    else:
        sys.meta_path.insert(0, _Finder(name, function))  # pyright: ignore[reportArgumentType]
