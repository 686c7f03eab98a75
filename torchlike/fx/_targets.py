"""PyTorch's names for torchlike's functions: graphs and the code generated from them use these."""

from __future__ import annotations

import types
from typing import Any

from .._core.overridable import home_of, route_of
from .._core.python_functions import IN_NN, PYTHON, RENAMED
from .._core.signatures import Function

__all__ = ["compiled_name", "from_torch", "is_from_torch", "name_of", "qualified_name"]

# Namespaces whose functions PyTorch has in its compiled core, under names that begin with the namespace.
_CORE = {"torch.linalg": "linalg", "torch.fft": "fft", "torch.special": "special"}


def _address(function: object) -> tuple[str, str] | None:
    """PyTorch's module and name of a public function."""
    route = route_of(function) if isinstance(function, types.FunctionType) else None
    if route is None or route.part:
        return None
    space, name = route.space, route.name
    if space == "torch.nn.functional":
        if name in PYTHON[space]:
            return space, RENAMED.get(name, name)
        return ("torch._C._nn" if name in IN_NN else "torch"), RENAMED.get(name, name)
    core = _CORE.get(space)
    if core is not None:
        return f"torch._C._{core}", f"{core}_{name}"
    return home_of(space, name), name


def compiled_name(function: object) -> str | None:
    """The name of an operator in PyTorch's compiled core, for a function that is one there."""
    address = _address(function)
    if address is None or not (address[0] == "torch" or address[0].startswith("torch._C.")):
        return None
    return address[1]


def name_of(function: Any) -> str:
    """The name that PyTorch's function says it has."""
    address = _address(function)
    return function.__name__ if address is None else address[1]


def is_from_torch(obj: object) -> bool:
    """Whether generated code reaches it by an address that begins with ``torch.``"""
    module = getattr(obj, "__module__", None)
    if module is not None:
        return module.partition(".")[0] in ("torch", "torchlike")
    return False


def from_torch(module: str) -> str:
    """The name of a module as PyTorch's programs know it."""
    return f"torch{module.removeprefix('torchlike')}" if module.partition(".")[0] == "torchlike" else module


def qualified_name(function: Function) -> str:
    """The address under which generated code calls a function.

    Raises:
        RuntimeError: it has none, as a lambda has none.
    """
    address = _address(function)
    if address is not None:
        return ".".join(address)
    if getattr(__import__("builtins"), getattr(function, "__name__", ""), None) is function:
        return function.__name__
    if isinstance(function, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return f"{function.__objclass__.__module__}.{function.__objclass__.__name__}.{function.__name__}"
    name = getattr(function, "__name__", None)
    if name is None:
        raise RuntimeError(f"Expected __name__ to be str, got {type(function)}")
    qualified = getattr(function, "__qualname__", name)
    module = from_torch(getattr(function, "__module__", None) or "")
    if name == "<lambda>":
        import inspect

        name = inspect.getsource(function).split("=")[0].strip()
    if "." in qualified and "<" not in qualified and isinstance(function, types.FunctionType):
        name = qualified
    module = module.replace("torch._ops", "torch.ops")
    if module == "torch" and name == "segment_reduce":
        name = f"_{name}"
    return f"{module}.{name}"
