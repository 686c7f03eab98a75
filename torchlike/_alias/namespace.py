"""The module ``torch``, and torchlike's modules under PyTorch's names."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from types import FunctionType, ModuleType
from typing import Any

from .._missing import DEFINED_IN, explain_missing_in
from ..serialization._names import outward
from . import stand_ins
from .names import is_module, kinds, listed

__all__ = ["adopt_loaded", "counterpart", "torch_module"]

PACKAGE = __name__.partition(".")[0]
# PyTorch's ``torch.ops`` gives out operators by their inner names; torchlike's folder of that name is where they are declared.
ELSEWHERE = {"torch.ops": f"{PACKAGE}._torch_ops"}

_LATE_NAMES = DEFINED_IN[PACKAGE]  # names of torchlike that it imports when they are first asked for


def torch_module(ours: ModuleType, loader: object) -> ModuleType:
    """The module ``torch``: torchlike's names, as far as PyTorch has them or torchlike adds them for users.

    Its type is that of every module. Libraries that pickle functions (cloudpickle, dill) write it by its name for that type alone.
    """
    torch: Any = ModuleType("torch", ours.__doc__)
    torch.__file__, torch.__path__, torch.__package__ = ours.__file__, list(ours.__path__), "torch"
    torch.__spec__ = ModuleSpec("torch", loader, origin=ours.__file__, is_package=True)  # pyright: ignore[reportArgumentType]
    torch.__spec__.submodule_search_locations, torch.__spec__.has_location = torch.__path__, True
    torch.__loader__ = loader
    torch.__version__ = ours.__version__
    vars(torch).update({name: value for name, value in vars(ours).items() if _is_public(name, value)})
    torch.__all__ = [name for name in listed() if name in vars(torch) or name in _LATE_NAMES]
    torch.__getattr__ = _late_name
    return torch


def _late_name(name: str) -> object:
    if name not in _LATE_NAMES:
        return stand_ins.find("torch", name)
    ours = sys.modules[PACKAGE]
    is_new = f"{PACKAGE}.{_LATE_NAMES[name]}" not in sys.modules
    value = getattr(ours, name)
    if is_new:
        adopt_loaded()
    if name in vars(ours):  # else it warns, each time
        setattr(sys.modules["torch"], name, value)
    return value


def _is_public(name: str, value: object) -> bool:
    if name.startswith("__"):
        return False
    if isinstance(value, ModuleType):
        return value.__name__ == f"{PACKAGE}.{name}" and counterpart(f"torch.{name}") == value.__name__
    return not name.startswith("_") or name in kinds("torch")


def counterpart(name: str) -> str | None:
    """The name of torchlike's module for one of PyTorch's or torchvision's; None where it has none.

    >>> from torchlike._alias.namespace import counterpart
    >>> counterpart("torch.nn.functional"), counterpart("torchvision.models"), counterpart("torch.engine")
    ('torchlike.nn.functional', 'torchlike.vision.models', None)
    """
    package, *parts = name.split(".")
    if package == "torchvision":
        hidden = any(part.startswith("_") for part in parts)
        return None if hidden else _module_or_none(".".join((PACKAGE, "vision", *parts)))
    return _module_or_none(ELSEWHERE.get(name) or ".".join((PACKAGE, *parts))) if is_module(name) else None


@cache
def _module_or_none(ours: str) -> str | None:
    if ours in sys.modules:
        return ours
    try:
        return None if find_spec(ours) is None else ours
    except ModuleNotFoundError:  # a package on the way to it is not there
        return None


# ---- torchlike's modules, under PyTorch's names

_adopted: set[str] = set()


def adopt_loaded() -> None:
    """Gives those of torchlike's modules that have been imported since their names in PyTorch, and what they define too."""
    new = []
    for ours, module in list(sys.modules.items()):
        if ours in _adopted or not ours.startswith(f"{PACKAGE}."):
            continue
        _adopted.add(ours)
        theirs = _name_of(ours)
        if theirs is not None and sys.modules.setdefault(theirs, module) is module:
            explain_missing_in(ours, module)
            vars(module).setdefault("__path__", [])  # PyTorch may have a package where torchlike has one file
            new.append((theirs, module))
    for theirs, module in new:
        parent, _, name = theirs.rpartition(".")
        if parent == "torch":
            setattr(sys.modules["torch"], name, module)
    for theirs, module in (("torch", sys.modules["torch"]), *new):
        _keep_names(theirs, module)
    for module in (sys.modules[PACKAGE], *(module for _, module in new)):
        _rename(module)


def _keep_names(theirs: str, module: ModuleType) -> None:
    """Enters modules that have the name of a function beside them: ``torch.multiprocessing.spawn``. Their import would replace it."""
    for name, value in list(vars(module).items()):
        inner = f"{theirs}.{name}"
        if is_module(inner) and not isinstance(value, ModuleType) and counterpart(inner) is None:
            sys.modules.setdefault(inner, module_from_spec(stand_ins.spec_of_stand_in(inner)))


def _name_of(ours: str) -> str | None:
    """PyTorch's name for one of torchlike's modules, if it has that module; torchvision's where torchlike stands in for it."""
    name = ours.removeprefix(f"{PACKAGE}.")
    if f"{name}.".startswith("vision."):
        theirs = f"torchvision{name.removeprefix('vision')}"
        stands_in = sys.modules.get("torchvision") is sys.modules[f"{PACKAGE}.vision"]
        return theirs if stands_in and counterpart(theirs) == ours else None
    theirs = next((theirs for theirs, place in ELSEWHERE.items() if place == ours), f"torch.{name}")
    return theirs if counterpart(theirs) == ours else None


def _rename(module: ModuleType) -> None:
    """Lets classes and functions say PyTorch's address, where they can be found under it: ``repr`` and pickle read it."""
    for value in list(vars(module).values()):
        if not isinstance(value, (type, FunctionType)) or not value.__module__.startswith(PACKAGE):
            continue
        # PyTorch too may define it in a module of its own: torch._C.
        places = [f"torch{value.__module__.removeprefix(PACKAGE)}"]
        address = outward(value.__module__, value.__qualname__)
        if address is not None:
            places.insert(0, address[0])
        place = next((place for place in places if _lies_at(value, place, value.__qualname__)), None)
        if place is not None:
            value.__module__ = place


def _lies_at(value: object, module: str, name: str) -> bool:
    if module not in sys.modules and not is_module(module):
        return False
    there = import_module(module)  # it may be one that stands in, as ``torch.optim.adamw`` does
    for part in name.split("."):
        there = getattr(there, part, None)
    return there is value
