"""PyTorch's signatures of functions that torchlike declares in another form: its errors list them, with what does not fit.

Recorded from PyTorch 2.13; tests/compare/test_overloads_compare.py compares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._core.dtypes import dtype
from .._core.tensor import Tensor
from .type_names import type_name

__all__ = ["LISTED", "invalid_arguments"]

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
# No Python type is called Number, so PyTorch says of any argument there that its type is wrong.
_TYPES: dict[str, type | tuple[type, ...]] = {
    "Tensor": Tensor, "Number": (), "int": int, "float": (int, float), "str": str, "bool": bool, "torch.dtype": dtype,
}  # fmt: skip


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


def _why_not(signature: str, args: Sequence[object], kwargs: Mapping[str, object]) -> list[str]:
    """PyTorch says what does not fit where the number of arguments does."""
    parts = [each for each in signature.split(", ") if each != "*"]
    declared = {each.split(" ")[1]: each.split(" ")[0] for each in parts}
    if len(args) + len(kwargs) != len(parts):
        return []
    unknown = [key for key in sorted(kwargs) if key not in declared]
    if unknown:
        return [f"      didn't match because some of the keywords were incorrect: {', '.join(unknown)}"]
    words = [_shown(value, kind) for value, kind in zip(args, declared.values(), strict=False)]
    words += [f"{key}={_shown(kwargs[key], declared[key])}" for key in sorted(kwargs)]
    return [f"      didn't match because some of the arguments have invalid types: ({', '.join(words)})"]


def _shown(value: object, kind: str) -> str:
    fits = isinstance(value, _TYPES.get(kind, object)) and not (isinstance(value, bool) and kind == "int")
    return type_name(value) if fits else f"!{type_name(value)}!"
