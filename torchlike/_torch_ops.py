"""``torch.ops``: operators by their inner names, ``torch.ops.aten.add.Tensor``, and operators that a program has defined."""

from __future__ import annotations

import types

from ._ops import DEFINED, OpOverloadPacket, packet_of
from .autograd.profiler import record_function

__all__ = ["import_module", "load_library", "loaded_libraries"]

loaded_libraries: set[str] = set()


class _OpNamespace(types.ModuleType):
    """The operators of a namespace."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self.name = name
        self.__file__ = "torch.ops"

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        packet = packet_of(self.name, name)
        if packet is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        return packet

    def __dir__(self) -> list[str]:
        operators = [name.partition("::")[2] for name in DEFINED if name.startswith(f"{self.name}::")]
        return sorted([*super().__dir__(), *operators])


def _begin_range(name: str, args: str | None = None) -> record_function:
    """The older way to name a range of a profile: what it gives is handed over to ``_record_function_exit``."""
    return record_function(name, args).__enter__()


def _end_range(handle: record_function) -> None:
    handle.__exit__(None, None, None)


_namespaces: dict[str, _OpNamespace] = {"profiler": _OpNamespace("profiler")}
for _name, _value in {"_enter": _begin_range, "_enter_new": _begin_range, "_exit": _end_range}.items():
    setattr(_namespaces["profiler"], f"_record_function{_name}", _value)


def __getattr__(name: str) -> _OpNamespace:
    if name.startswith("__"):
        raise AttributeError(name)
    return _namespaces.setdefault(name, _OpNamespace(name))


# Namespaces of PyTorch's own operators.
_BUILT_IN = frozenset(
    {"_C", "aten", "c10d", "fsdp", "higher_order", "inductor", "prim", "prims", "profiler", "quantized", "torchvision"}
)


def is_known(name: str) -> bool:
    """Whether ``torchlike.ops.name`` is something of ``torch.ops`` rather than a misspelled operator."""
    return name in __all__ or name in _BUILT_IN or any(defined.startswith(f"{name}::") for defined in DEFINED)


# Libraries of operators that torchlike has itself, by the file's folder and name: the namespace of the operators.
_OWN = {
    ("torchvision", "_C"): "torchvision", ("torchvision", "image"): "image",
    ("lib", "_torchaudio"): "_torchaudio", ("lib", "libtorchaudio"): "torchaudio",
}  # fmt: skip


def load_library(path: str) -> None:
    """Takes torchlike's own operators for a library that torchvision or torchaudio compiled for PyTorch.

    Raises:
        OSError: another library, since torchlike loads no operators that were compiled for PyTorch.
    """
    import importlib
    import os

    folder, file = os.path.split(os.fspath(path))
    namespace = _OWN.get((os.path.basename(folder), file.partition(".")[0]))
    if namespace is None:
        raise OSError(f"Could not load this library: {path}")
    importlib.import_module("torchlike.vision._operators").define(namespace)
    loaded_libraries.add(path)


def import_module(module: str) -> None:
    """Imports a Python module that defines operators."""
    import importlib

    importlib.import_module(module)
