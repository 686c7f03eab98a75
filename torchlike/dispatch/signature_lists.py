"""PyTorch's signatures of functions that torchlike declares in another form: its errors list them, with what does not fit.

Recorded from PyTorch 2.13; tests/compare/test_overloads_compare.py compares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._core.dtypes import dtype
from .._core.tensor import Tensor
from .type_names import type_name

__all__ = ["LISTED", "in_order", "invalid_arguments"]

_FACTORY = (
    "*, Tensor out = None, torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, bool pin_memory = False, "
    "bool requires_grad = False"
)
_ENDS = (("Tensor", "Tensor"), ("Number", "Tensor"), ("Tensor", "Number"), ("Number", "Number"))
LISTED: dict[str, list[str]] = {
    "linspace": [f"{first} start, {last} end, int steps, {_FACTORY}" for first, last in _ENDS],
    "logspace": [f"{first} start, {last} end, int steps, float base = 10.0, {_FACTORY}" for first, last in _ENDS],
    "normal": [
        "Tensor mean, Tensor std, *, torch.Generator generator = None, Tensor out = None",
        "Tensor mean, float std = 1, *, torch.Generator generator = None, Tensor out = None",
        "float mean, Tensor std, *, torch.Generator generator = None, Tensor out = None",
        "float mean, float std, tuple of ints size, *, torch.Generator generator = None, Tensor out = None, "
        + _FACTORY.removeprefix("*, Tensor out = None, "),
    ],
    "result_type": [
        "Tensor tensor, Tensor other", "Number scalar, Tensor tensor", "Tensor tensor, Number other", "Number scalar1, Number scalar2",
    ],
    "dequantize": ["Tensor input", "tuple of Tensors tensors"],
    "quantize_per_tensor": [
        "Tensor input, Tensor scale, Tensor zero_point, torch.dtype dtype", "Tensor input, float scale, int zero_point, torch.dtype dtype",
        "tuple of Tensors tensors, Tensor scales, Tensor zero_points, torch.dtype dtype",
    ],
    "where": [
        "Tensor condition", "Tensor condition, Tensor input, Tensor other, *, Tensor out = None",
        "Tensor condition, Number self, Tensor other", "Tensor condition, Tensor input, Number other",
        "Tensor condition, Number self, Number other",
    ],
    "scatter": [
        "Tensor input, int dim, Tensor index, Tensor src, *, Tensor out = None",
        "Tensor input, int dim, Tensor index, Tensor src, *, str reduce, Tensor out = None",
        "Tensor input, int dim, Tensor index, Number value, *, Tensor out = None",
        "Tensor input, int dim, Tensor index, Number value, *, str reduce, Tensor out = None",
    ],
}  # fmt: skip
_OF_METHODS: dict[str, list[str]] = {
    "scatter": [
        "int dim, Tensor index, Tensor src", "int dim, Tensor index, Tensor src, *, str reduce", "int dim, Tensor index, Number value",
        "int dim, Tensor index, Number value, *, str reduce",
    ],
    "where": ["Tensor condition, Tensor other", "Tensor condition, Number other"],
}  # fmt: skip
# No Python type is called Number or "tuple of Tensors", so PyTorch says of any argument there that its type is wrong.
_TYPES: dict[str, type | tuple[type, ...]] = {
    "Tensor": Tensor, "Number": (), "tuple of Tensors": (), "int": (int, np.integer), "float": (int, float, np.integer, np.floating),
    "str": str, "bool": bool, "torch.dtype": dtype,
}  # fmt: skip


def in_order(name: str, args: Sequence[object], kwargs: Mapping[str, object]) -> tuple[Any, ...]:
    """The arguments in the order of the first listed signature that takes them. All of its parameters must be given.

    Raises:
        TypeError: none does, in PyTorch's words.
    """
    for signature in LISTED[name]:
        declared = _declared(signature)
        by_name = list(declared)[len(args) :]
        if len(args) <= len(declared) and {*by_name} == {*kwargs}:
            arguments = (*args, *(kwargs[each] for each in by_name))
            if all(map(_takes, declared.values(), arguments)):
                return arguments
    raise TypeError(invalid_arguments(name, False, args, kwargs))


def _takes(kind: str, value: object) -> bool:
    if kind == "tuple of Tensors":
        return isinstance(value, (list, tuple)) and all(isinstance(each, Tensor) for each in value)
    return _fits(value, kind)


def invalid_arguments(name: str, method: bool, args: Sequence[object], kwargs: Mapping[str, object]) -> str:
    """The message that none of the listed signatures of a function takes the arguments.

    Args:
        method: whether it is called as a method; the arguments are then those after the tensor.
    """
    positional = [type_name(value) for value in args]
    named = [f"{key}={type_name(kwargs[key])}" for key in sorted(kwargs)]
    types = ", ".join([*positional, *named]) + (", " if named and not positional else "")  # as PyTorch has it
    lines = [f"{name}() received an invalid combination of arguments - got ({types}), but expected one of:"]
    for signature in (_OF_METHODS if method else LISTED)[name.rstrip("_")]:
        lines.append(f" * ({signature})")
        lines += _why_not(signature, args, kwargs)
    return "\n".join([*lines, ""])


def _declared(signature: str) -> dict[str, str]:
    """The types of a signature by the names of the parameters: ``tuple of ints`` by ``size``."""
    parts = [each.partition(" = ")[0] for each in signature.split(", ") if each != "*"]
    return {name: kind for kind, _, name in (each.rpartition(" ") for each in parts)}


def _why_not(signature: str, args: Sequence[object], kwargs: Mapping[str, object]) -> list[str]:
    """PyTorch says what does not fit where the number of arguments does."""
    declared = _declared(signature)
    if len(args) + len(kwargs) != len(declared):
        return []
    unknown = [key for key in sorted(kwargs) if key not in declared]
    if unknown:
        return [f"      didn't match because some of the keywords were incorrect: {', '.join(unknown)}"]
    words = [_shown(value, kind) for value, kind in zip(args, declared.values(), strict=False)]
    words += [_shown(kwargs[key], declared[key], f"{key}=") for key in sorted(kwargs)]
    ending = ", " if kwargs and not args else ""  # as PyTorch has it
    return [f"      didn't match because some of the arguments have invalid types: ({', '.join(words)}{ending})"]


def _fits(value: object, kind: str) -> bool:
    return isinstance(value, _TYPES.get(kind, object)) and not (isinstance(value, bool) and kind == "int")


def _shown(value: object, kind: str, before: str = "") -> str:
    shown = type_name(value)
    if isinstance(value, (list, tuple)):
        shown += f" of [{', '.join(map(type_name, value))}]"
    return f"{before}{shown}" if _fits(value, kind) else f"!{before}{shown}!"
