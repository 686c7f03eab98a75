"""PyTorch's address of the modules that compute activations a second time; ``nn/parallel/activation_wrappers.py`` defines them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    # Imported by name, because modules are in a layer above this one.
    wrappers = import_module(f"{__name__.partition('.')[0]}.nn.parallel.activation_wrappers")
    if name.startswith("__") or not hasattr(wrappers, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(wrappers, name)
