"""PyTorch's address of FullyShardedDataParallel; ``nn/parallel/fully_sharded/wrapper.py`` defines it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    # Imported by name, because modules are in a layer above this one.
    defined = import_module(f"{__name__.partition('.')[0]}.nn.parallel.fully_sharded.wrapper")
    if (name.startswith("__") and name != "__all__") or not hasattr(defined, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(defined, name)
