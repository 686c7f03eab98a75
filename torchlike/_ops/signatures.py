"""Which of PyTorch's operators a call is: ``torch.sum(x, 1)`` is ``aten.sum.dim_IntList(x, [1])``."""

from __future__ import annotations

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

__all__ = ["Signature", "choose", "overloads_of", "signature_of"]


class Signature(NamedTuple):
    """One overload. ``composed``: PyTorch makes it of other operators, so that nobody is asked about it."""

    schema: FunctionSchema
    composed: bool

    @property
    def overload(self) -> str:
        return self.schema.overload_name or "default"


@cache
def _lines() -> dict[str, list[str]]:
    lines: dict[str, list[str]] = defaultdict(list)
    for line in Path(__file__).with_name("aten_signatures.txt").read_text("utf-8").splitlines():
        lines[line.lstrip("*").partition("(")[0].partition(".")[0]].append(line)
    return dict(lines)


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
_ALIASES = {"input": "self", "axis": "dim", "keepdims": "keepdim", "tensors": "tensors", "x": "self"}
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
            return all(_fits(element, each, False) for each in value)
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
        return list(value) if isinstance(value, (list, tuple)) else [value]
    return devices.device(value) if base == "Device" and not isinstance(value, devices.device) else value


def _bind(schema: FunctionSchema, args: Args, kwargs: Kwargs, numbers: bool) -> dict[str, Any] | None:
    """The arguments by parameter, those that were given; None where they do not fit."""
    positional = [argument for argument in schema.arguments if not argument.kwarg_only]
    if len(args) > len(positional) or (args and positional and _is_spread(positional, args)):
        args = _gathered(positional, args)
        if len(args) > len(positional):
            return None
    bound: dict[str, Any] = {argument.name: value for argument, value in zip(positional, args, strict=False)}
    names = {argument.name: argument for argument in schema.arguments}
    for name, value in kwargs.items():
        name = name if name in names else _ALIASES.get(name, name)
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


def _is_spread(positional: Sequence[Argument], args: Args) -> bool:
    """Whether the last arguments are the elements of one list: ``x.view(2, 3)``."""
    at = next((i for i, argument in enumerate(positional) if argument.type.rstrip("?").endswith("]")), None)
    if at is None or at >= len(args):
        return False
    rest = args[at:]
    whole = all(isinstance(each, (int, np.integer)) and not isinstance(each, bool) for each in rest)
    return whole and (len(rest) > 1 or positional[at].type.endswith("[]"))


def _gathered(positional: Sequence[Argument], args: Args) -> Args:
    at = next((i for i, argument in enumerate(positional) if argument.type.rstrip("?").endswith("]")), None)
    if at is None or not _is_spread(positional, args):
        return args
    return (*args[:at], list(args[at:]))


def _same(value: object, default: object) -> bool:
    if isinstance(value, list):
        return isinstance(default, (list, tuple)) and list(default) == value
    return type(value) is type(default) and value == default


def choose(name: str, args: Args, kwargs: Kwargs) -> tuple[Signature, list[Any], dict[str, Any]] | None:
    """The overload of an operator that a call of its public function is, and the arguments as PyTorch hands them over.

    Defaults are left out at the end, and where they are by keyword. None: the call fits none.
    """
    out = kwargs.get("out")
    given = {
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
            bound = _bind(signature.schema, args, given, numbers)
            if bound is not None:
                return signature, *_split(signature.schema, bound)
    return None


def _split(schema: FunctionSchema, bound: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    positional: list[Any] = []
    left_out = 0
    keywords: dict[str, Any] = {}
    makes = not any(argument.type.startswith("Tensor") for argument in schema.arguments)
    for argument in schema.arguments:
        value = _as_given(argument.type, bound.get(argument.name, argument.default))
        default = _as_given(argument.type, argument.default) if argument.has_default_value() else Ellipsis
        usual = argument.name not in bound or _same(value, default) or (value is None and default is None)
        if argument.kwarg_only:
            if makes and argument.name == "device":
                keywords["device"] = devices.default_device() if value is None else value
            elif makes and argument.name == "pin_memory":
                keywords["pin_memory"] = bool(value)
            elif not usual:
                keywords[argument.name] = value
        else:
            positional.append(value)
            left_out = left_out + 1 if usual else 0
    return positional[: len(positional) - left_out], keywords
