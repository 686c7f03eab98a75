"""Which of PyTorch's operators a call is: ``torch.sum(x, 1)`` is ``aten.sum.dim_IntList(x, [1])``."""

from __future__ import annotations

import bz2
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._core import devices, dtypes
from .._core.layouts import layout, memory_format
from .._core.signatures import Args, Kwargs
from .._core.tensor import Tensor
from .._library.infer_schema import Argument, FunctionSchema, parse
from ..random_streams.rng import Generator

__all__ = ["ALIASES", "Signature", "as_handed_over", "choose", "overloads_of", "signature_of"]


class Signature(NamedTuple):
    """One overload. ``composed``: PyTorch makes it of other operators, so that nobody is asked about it."""

    schema: FunctionSchema
    composed: bool

    @property
    def overload(self) -> str:
        return self.schema.overload_name or "default"


def written_forms(line: str) -> dict[str, str]:
    """The signatures that ``name.out`` and ``name_`` have where they are those that follow from one, by what stands before arguments."""
    head, _, rest = line.lstrip("*").partition("(")
    arguments, arrow, result = rest.rpartition(") -> ")
    if result != "Tensor" or not arrow:
        return {}
    name, _, overload = head.partition(".")
    comma = ", " if "*, " in arguments else ", *, " if arguments else "*, "
    found = {f"{name}.{overload and overload + '_'}out": f"{arguments}{comma}Tensor(a!) out) -> Tensor(a!)"}
    if arguments.startswith("Tensor self"):
        found[f"{name}_{overload and '.' + overload}"] = f"Tensor(a!){arguments[6:]}) -> Tensor(a!)"
    return {head: f"{head}({rest}" for head, rest in found.items()}


def unpacked(packed: bytes) -> list[str]:
    """The recorded lines. Of those that follow from another one only what stands before the arguments is recorded.

    Of a name a letter says how many letters it has in common with the one before: A none, B one.
    """
    lines, head = list[str](), ""
    for line in bz2.decompress(packed).decode("utf-8").splitlines():
        star, line = line[: line.startswith("*")], line.lstrip("*")
        line = head[: ord(line[0]) - ord("A")] + line[1:]
        head = line.partition("(")[0]
        lines.append(star + line)
    forms = {head: form for line in lines for head, form in written_forms(line).items()}
    return ["*" * line.startswith("*") + forms[line.lstrip("*")[:-1]] if line.endswith("(") else line for line in lines]


@cache
def _lines() -> dict[str, list[str]]:
    """The recorded signatures by the operator's name; none for an operator of which the name alone was recorded."""
    lines: dict[str, list[str]] = defaultdict(list)
    for line in unpacked(Path(__file__).with_name("aten_signatures.txt.bz2").read_bytes()):
        signatures = lines[line.lstrip("*").partition("(")[0].partition(".")[0]]
        if "(" in line:
            signatures.append(line)
    return dict(lines)


def is_operator(name: str) -> bool:
    """Whether PyTorch has an operator of this name in ``torch.ops.aten``, for whatever device."""
    return name in _lines()


@cache
def overloads_of(name: str) -> dict[str, Signature]:
    """The overloads of an operator by name, as PyTorch orders them; none where a CPU has no such operator."""
    signatures = [Signature(parse(line.lstrip("*")), line.startswith("*")) for line in _lines().get(name, ())]
    for signature in signatures:
        signature.schema.name = f"aten::{name}"
    return {signature.overload: signature for signature in signatures}


def signature_of(name: str, overload: str) -> Signature | None:
    """One overload of an operator; None where there is none."""
    return overloads_of(name).get(overload)


# PyTorch's functions turn a number on the other side into a tensor, although there is an overload for numbers.
_NUMBERS_AS_TENSORS = frozenset(
    f"{name}{end}" for name in ("add", "sub", "mul", "div", "floor_divide", "true_divide") for end in ("", "_")
)
ALIASES = {"input": "self", "axis": "dim", "keepdims": "keepdim", "tensors": "tensors", "x": "self"}
_PLAIN: dict[str, tuple[type, ...]] = {
    "Tensor": (Tensor,), "str": (str,), "ScalarType": (dtypes.dtype,), "Layout": (layout,), "MemoryFormat": (memory_format,),
    "Generator": (Generator,), "Device": (devices.device, str, int), "bool": (bool, np.bool_), "int": (int, np.integer),
    "SymInt": (int, np.integer), "float": (float, int, np.floating, np.integer), "Scalar": (int, float, complex, bool, np.generic),
    "number": (int, float, complex, bool),
}  # fmt: skip


def _fits(kind: str, value: object, numbers: bool) -> bool:
    """Whether a value can be an argument of this type. ``numbers``: also a number where a tensor is expected."""
    if kind.endswith("?"):
        return value is None or _fits(kind[:-1], value, numbers)
    if kind.endswith("]"):
        element, _, count = kind[:-1].rpartition("[")
        if isinstance(value, (list, tuple)):
            return all(_fits(element, item, False) for item in value)
        return bool(count) and element != "Tensor" and _fits(element, value, False)
    if kind in ("int", "SymInt", "float") and isinstance(value, bool):
        return False
    if kind == "Tensor" and numbers and isinstance(value, _PLAIN["number"]):
        return True
    return isinstance(value, _PLAIN.get(kind, ()))


def _as_given(kind: str, value: Any) -> Any:
    if value is None:
        return None
    base = kind.rstrip("?")
    if base.endswith("]"):
        count = base.rpartition("[")[2].rstrip("]")
        return list(value) if isinstance(value, (list, tuple)) else [value] * int(count or 1)
    return devices.as_device(value) if base == "Device" and not isinstance(value, devices.device) else value


def _bind(schema: FunctionSchema, args: Args, kwargs: Kwargs, numbers: bool) -> dict[str, Any] | None:
    """The arguments by parameter, those that were given; None where they do not fit."""
    positional = [argument for argument in schema.arguments if not argument.kwarg_only]
    args = _gathered(positional, args)
    if len(args) > len(positional):
        return None
    bound: dict[str, Any] = {argument.name: value for argument, value in zip(positional, args, strict=False)}
    names = {argument.name: argument for argument in schema.arguments}
    for name, value in kwargs.items():
        name = name if name in names else ALIASES.get(name, name)
        if name not in names or name in bound:
            return None
        bound[name] = value
    for argument in schema.arguments:
        if argument.name not in bound:
            if not argument.has_default_value():
                return None
        elif not _fits(argument.type, bound[argument.name], numbers and argument is not schema.arguments[0]):
            return None
    return bound


def _gathered(positional: Sequence[Argument], args: Args) -> Args:
    """Arguments in which the lengths that are passed one by one are a list: ``x.view(2, 3)``.

    PyTorch takes them so where the list is the only parameter besides the tensor: ``x.roll(2, 3)`` is a shift and a dimension.
    """
    before, elements = len(positional) - 1, args[len(positional) - 1 :]
    if before not in (0, 1) or not elements or not positional[-1].type.rstrip("?").endswith("]"):
        return args
    if all(isinstance(element, (int, np.integer)) and not isinstance(element, bool) for element in elements):
        return (*args[:before], list(elements))
    return args


def _is_usual(argument: Argument, value: object) -> bool:
    """Whether a value is the parameter's default, of the same type: PyTorch hands on ``hardtanh(x, -1.0)``, whose default is ``-1``."""
    if not argument.has_default_value():
        return False
    default = argument.default
    if isinstance(value, list):
        return (
            list(default) == value if isinstance(default, (list, tuple)) else bool(value) and _are_all(value, default)
        )
    return type(value) is type(default) and value == default


def _are_all(values: Sequence[Any], default: object) -> bool:
    """Whether a list repeats a number that is the default of a list: ``int[2] padding=0``."""
    return all(type(value) is type(default) and value == default for value in values)


def as_handed_over(schema: FunctionSchema, args: Args) -> Args:
    """Positional arguments as PyTorch hands them to a handler: lists of the right length, defaults at the end left out."""
    positional = [argument for argument in schema.arguments if not argument.kwarg_only]
    values = [_as_given(argument.type, value) for argument, value in zip(positional, args, strict=False)]
    while values and _is_usual(positional[len(values) - 1], values[-1]):
        values.pop()
    return tuple(values)


def choose(
    name: str, args: Args, kwargs: Kwargs, defaults: Kwargs
) -> tuple[Signature, list[Any], dict[str, Any]] | None:
    """The overload of an operator that a call of its public function is, and the arguments as PyTorch hands them over.

    Defaults are left out at the end, and where they are by keyword. None: the call fits none.

    Args:
        defaults: those of the public function. Where one is another number than the operator's, it is handed over.
    """
    out = kwargs.get("out")
    keywords = {
        key: value for key, value in kwargs.items() if not (key == "out" and value is None) and key != "requires_grad"
    }
    writes = [
        signature for signature in overloads_of(name).values() if ("out" in signature.overload) is (out is not None)
    ]
    if isinstance(out, tuple):
        return None
    exact = () if name in _NUMBERS_AS_TENSORS else (False,)
    for numbers in (*exact, True):
        for signature in writes:
            bound = _bind(signature.schema, args, keywords, numbers)
            if bound is not None:
                _add_defaults(signature.schema, bound, defaults)
                return signature, *_split(signature.schema, bound)
    return None


def _add_defaults(schema: FunctionSchema, bound: dict[str, Any], defaults: Kwargs) -> None:
    for argument in schema.arguments:
        default = defaults.get(argument.name)
        if argument.name not in bound and type(default) is type(argument.default) and default != argument.default:
            bound[argument.name] = default


def _split(schema: FunctionSchema, bound: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    makes = not any(argument.type.startswith("Tensor") for argument in schema.arguments)
    for argument in schema.arguments:
        value = bound.get(argument.name, argument.default)
        if argument.kwarg_only:
            value = _as_given(argument.type, value)
            if makes and argument.name == "device":
                keywords["device"] = devices.default_device() if value is None else value
            elif makes and argument.name == "pin_memory":
                keywords["pin_memory"] = bool(value)
            elif argument.name in bound and not _is_usual(argument, value):
                keywords[argument.name] = value
        else:
            positional.append(value)
    return list(as_handed_over(schema, tuple(positional))), keywords
