"""The object that generated code calls ``torch``: torchlike's functions under PyTorch's qualified names."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .._core.overridable import overridable_namespaces
from .._core.python_functions import RENAMED
from ._targets import _CORE

__all__ = ["torch"]


class _Path:
    """A place in PyTorch's package: an attribute of it is torchlike's, or a further place."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        path = f"{self._path}.{name}"
        value = _attribute_or_module(self._path, name)
        if value is None:
            raise AttributeError(f"torchlike has nothing that PyTorch calls {path}")
        return value


# Places in PyTorch's package that are no modules in torchlike, or whose names are others here.
_PLACES = {"torch._C", "torch._C._nn", "torch.functional", *(f"torch._C._{core}" for core in _CORE.values())}


def _attribute_or_module(place: str, name: str) -> Any:
    path = f"{place}.{name}"
    if path in _PLACES or path == "torch.nn":
        return _Path(path)
    if place in ("torch._C._nn", "torch.nn.functional"):
        plain = {inner: outer for outer, inner in RENAMED.items()}.get(name, name)
        return overridable_namespaces()["torch.nn.functional"].get(plain)  # pyright: ignore[reportAttributeAccessIssue]
    if place == "torch.nn" and name == "functional":
        return _Path(path)
    core = place.removeprefix("torch._C._")
    if f"torch.{core}" in _CORE:
        return overridable_namespaces()[f"torch.{core}"].get(name.removeprefix(f"{core}_"))  # pyright: ignore[reportAttributeAccessIssue]
    module = sys.modules["torchlike"] if place in ("torch", "torch.functional") else None
    if module is None:
        module = importlib.import_module(place.replace("torch", "torchlike", 1))
    value = getattr(module, name, None)
    if value is None and not name.startswith("__"):
        try:
            return importlib.import_module(f"{module.__name__}.{name}")
        except ImportError:
            return None
    return value


torch = _Path("torch")
