"""The public namespaces, and the names in them: what the tests of this folder walk over."""

import importlib
import inspect
from types import ModuleType
from typing import Any

# As PyTorch (and torchvision, under `vision`) lays them out, and the pages that document each.
NAMESPACES = {
    "torchlike": ["torch", "tensor", "autograd", "engine"],
    "torchlike.autograd": ["autograd"],
    "torchlike.nn": ["nn"],
    "torchlike.nn.functional": ["functional"],
    "torchlike.nn.init": ["nn"],
    "torchlike.optim": ["optim"],
    "torchlike.utils.data": ["data"],
    "torchlike.vision.datasets": ["vision"],
    "torchlike.vision.transforms": ["vision"],
}


def public_names(namespace: str) -> dict[str, Any]:
    """What a namespace gives by name: its `__all__` where it has one, else all without an underscore; no modules."""
    module = importlib.import_module(namespace)
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    return {name: value for name in names if not isinstance(value := getattr(module, name), ModuleType)}


def public_objects() -> list[tuple[str, str, Any]]:
    """(namespace, name, object) of every public function and class, once each."""
    found: dict[int, tuple[str, str, Any]] = {}
    for namespace in NAMESPACES:
        for name, value in public_names(namespace).items():
            if inspect.isfunction(value) or inspect.isclass(value):
                found.setdefault(id(value), (namespace, name, value))
    return list(found.values())
