"""Finds ``torch`` and its submodules for Python's import system."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from .names import is_module
from .namespace import adopt_loaded, counterpart, torch_module
from .processes import STARTS_PROCESSES, Telling
from .stand_ins import spec_of_stand_in

__all__ = ["Finder", "Itself"]

_OURS = f"{__package__}.functorch"
FUNCTORCH = {
    "functorch": _OURS,
    "functorch.experimental": f"{_OURS}_experimental",
    "functorch.experimental.control_flow": "torchlike._higher_order_ops",
}


class Counterpart:
    """Loads ``torch.utils.tensorboard`` as the module of torchlike's that it is: the same object."""

    def __init__(self, ours: str) -> None:
        self.ours = ours

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self.ours)
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own  # which the import system has just replaced, and torchlike's own imports read
        adopt_loaded()


class Itself:
    """Loads ``torch`` anew, where a program has taken it out of ``sys.modules``: there is one in a process."""

    def __init__(self, ours: ModuleType) -> None:
        self.torch = torch_module(ours, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.torch

    def exec_module(self, module: ModuleType) -> None:
        pass


class Finder:
    """Finds ``torch``, ``functorch``, ``torchvision`` where it is not installed, and the distribution ``torch``."""

    def __init__(self, torch: ModuleType) -> None:
        self._torch = torch

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        package = name.partition(".")[0]
        if package == "torchvision":
            return None if self._is_installed(package) else _spec_below(name, counterpart(name))
        if name in FUNCTORCH:
            return ModuleSpec(name, Counterpart(FUNCTORCH[name]), is_package=True)  # pyright: ignore[reportArgumentType]
        if package != "torch":
            return self._told(name, path) if name.endswith(STARTS_PROCESSES) else None
        if name == package:
            return self._torch.__spec__
        ours = counterpart(name)
        if ours is None and is_module(name):
            return spec_of_stand_in(name)
        return _spec_below(name, ours)

    def _told(self, name: str, path: Sequence[str] | None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = Telling(spec)  # pyright: ignore[reportAttributeAccessIssue]
        return spec

    def _is_installed(self, package: str) -> bool:
        return PathFinder.find_spec(package) is not None

    def invalidate_caches(self) -> None:
        """Has none."""

    def find_distributions(self, context: Any = None) -> Iterator[Any]:
        from .distribution import Torch

        if context is None or context.name is None or context.name.lower() == "torch":
            yield Torch()


def _spec_below(name: str, ours: str | None) -> ModuleSpec | None:
    """The spec of one of torchlike's modules. None where there is none, and then nobody else finds it either.

    Raises:
        ModuleNotFoundError: torchlike has a file of that name which is not PyTorch's. Python would find it on the package's path.
    """
    if ours is not None:
        return ModuleSpec(name, Counterpart(ours), is_package=True)  # pyright: ignore[reportArgumentType]
    parent, _, last = name.rpartition(".")
    path: Iterable[str] | None = getattr(sys.modules.get(parent), "__path__", None)
    if path and PathFinder.find_spec(last, list(path)) is not None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return None
