"""Whether the arguments of a program's own operators fit their types in the schema, and PyTorch's words where they do not."""

from __future__ import annotations

import re

from .._core.tensor import Tensor
from .infer_schema import Argument

__all__ = ["misfit"]

_NAMES = {"SymInt": "int", "Scalar": "number", "ScalarType": "int"}
_CHECKED = ("Tensor", "int", "float", "bool", "str", "number")


def misfit(argument: Argument, value: object) -> tuple[str, str, str] | None:
    """What PyTorch says of a value that does not fit a parameter: what it expected, the value, and why. None for one that fits.

    >>> from torchlike._library.argument_types import misfit
    >>> from torchlike._library.infer_schema import parse
    >>> misfit(parse("my::op(int n) -> Tensor").arguments[0], "a")[:2]
    ("Expected a value of type 'int' for argument 'n' but instead found type 'str'.", "Value: 'a'")
    """
    kind = argument.type
    if _fits(kind, value):
        return None
    name = _spoken(kind)
    inner = name.removeprefix("Optional[").removesuffix("]") if name.startswith("Optional") else name
    if inner == "Tensor":
        details = f"Unable to cast {value} to Tensor"
    elif inner == "number":
        details = f"Cannot cast {value} to number"
    else:
        details = (
            f"Unable to cast Python instance of type {type(value)} to C++ type '?' (#define PYBIND11_DETAILED_ERROR_MESSAGES or "
            "compile in debug mode for details)"
        )
    found = f"Expected a value of type '{name}' for argument '{argument.name}' but instead found type '{type(value).__name__}'."
    return found, f"Value: {value!r}", f"Cast error details: {details}"


def _fits(kind: str, value: object) -> bool:
    if kind.endswith("?"):
        return value is None or _fits(kind[:-1], value)
    items = re.fullmatch(r"(.*)\[(\d*)\]", kind)
    if items is not None:
        inner, count = items.groups()
        if isinstance(value, (list, tuple)):
            return all(_fits(inner, item) for item in value)
        # One number stands for all of ``int[2]``.
        return _spoken(inner) not in _CHECKED or (bool(count) and _fits(inner, value))
    name = _NAMES.get(kind, kind)
    if (
        kind == "ScalarType"
        or name not in _CHECKED
        or (hasattr(value, "__torch_function__") and not isinstance(value, Tensor))
    ):
        return True
    if name == "Tensor":
        return value is None or isinstance(value, Tensor)
    if name == "str":
        return isinstance(value, str)
    if name == "bool":
        return value is None or hasattr(value, "__bool__")
    if isinstance(value, Tensor):
        return value.numel() == 1
    wanted = {
        "int": ("__index__",),
        "float": ("__float__", "__index__"),
        "number": ("__complex__", "__float__", "__index__"),
    }
    return any(hasattr(value, method) for method in wanted[name])


def _spoken(kind: str) -> str:
    """A type as PyTorch's messages name it: ``Optional[int]`` for ``SymInt?``."""
    if kind.endswith("?"):
        return f"Optional[{_spoken(kind[:-1])}]"
    items = re.fullmatch(r"(.*)\[\d*\]", kind)
    return f"List[{_spoken(items[1])}]" if items is not None else _NAMES.get(kind, kind)
