"""The signatures of operators as PyTorch writes them: ``twice(Tensor x, int n=2, *, float? k=None) -> Tensor``."""

from __future__ import annotations

import ast
import inspect
import re
import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .._core import devices, dtypes
from .._core.signatures import Function, Kwargs
from .._core.tensor import Tensor

__all__ = ["Argument", "FunctionSchema", "infer_schema", "parse"]


@dataclass
class Argument:
    """A parameter of an operator."""

    name: str
    type: str
    default: object = inspect.Parameter.empty
    kwarg_only: bool = False
    mutated: bool = False
    schema_type: str = ""  # the type as the schema has it

    def has_default_value(self) -> bool:
        """Whether it may be left out."""
        return self.default is not inspect.Parameter.empty


@dataclass
class FunctionSchema:
    """The signature of an operator."""

    name: str
    overload_name: str
    arguments: list[Argument]
    returns: str

    @property
    def is_mutable(self) -> bool:
        """Whether it writes to an argument."""
        return any(argument.mutated for argument in self.arguments)

    def __str__(self) -> str:
        parts, keyword_only = [], False
        for argument in self.arguments:
            if argument.kwarg_only and not keyword_only:
                parts.append("*")
                keyword_only = True
            default = f"={_default_text(argument.default)}" if argument.has_default_value() else ""
            parts.append(f"{argument.schema_type} {argument.name}{default}")
        overload = f".{self.overload_name}" if self.overload_name else ""
        return f"{self.name}{overload}({', '.join(parts)}) -> {self.returns}"

    __repr__ = __str__


_ARGUMENT = re.compile(
    r"(?P<type>[A-Za-z_]\w*(?:\((?P<alias>[\w!|*\-> ]+)\))?(?:\[\d*\])?\??(?:\[\d*\])?\??)\s+(?P<name>\w+)(?:\s*=\s*(?P<default>.+))?$"
)
_WHOLE = re.compile(
    r"(?P<name>[\w:]+)(?:\.(?P<overload>\w+))?\s*\((?P<arguments>.*)\)\s*->\s*(?P<returns>.+)$", re.DOTALL
)


def _split(text: str) -> list[str]:
    """Splits at the commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _value(text: str) -> Any:
    constants = {"None": None, "True": True, "False": False, "inf": float("inf"), "nan": float("nan")}
    if text in constants:
        return constants[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return getattr(dtypes, text, text)


def parse(schema: str) -> FunctionSchema:
    """Reads a signature.

    Raises:
        RuntimeError: it is none.
    """
    match = _WHOLE.match(schema.strip())
    if match is None:
        raise RuntimeError(f"cannot read the schema {schema!r}: it must be `name(type argument, ...) -> type`")
    arguments, keyword_only = [], False
    for part in _split(match["arguments"]):
        if part == "*":
            keyword_only = True
            continue
        parsed = _ARGUMENT.match(part)
        if parsed is None:
            raise RuntimeError(f"cannot read the argument {part!r} of the schema {schema!r}")
        default = inspect.Parameter.empty if parsed["default"] is None else _value(parsed["default"])
        kind = parsed["type"].replace(f"({parsed['alias']})", "") if parsed["alias"] else parsed["type"]
        arguments.append(
            Argument(parsed["name"], kind, default, keyword_only, "!" in (parsed["alias"] or ""), parsed["type"])
        )
    return FunctionSchema(match["name"], match["overload"] or "", arguments, match["returns"].strip())


_NAMES: dict[object, str] = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", complex: "Scalar",
    dtypes.dtype: "ScalarType", devices.device: "Device",
}  # fmt: skip
_LISTED = {"Tensor", "SymInt", "float", "bool", "Scalar"}


def _type_of(annotation: object) -> str | None:
    """The word of a schema for an annotation; None where there is none."""
    if annotation in _NAMES:
        return _NAMES[annotation]
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        other_args = [arg for arg in args if arg is not type(None)]
        if set(other_args) == {int, float, bool}:
            return "Scalar" + "?" * (len(other_args) < len(args))
        if len(other_args) == 1 and len(args) == 2:
            inner = _type_of(other_args[0])
            return None if inner is None else f"{inner}?"
        return None
    if origin in (list, Sequence, typing.Sequence) and len(args) == 1:
        inner = _type_of(args[0])
        return f"{inner}[]" if inner is not None and inner.rstrip("?") in _LISTED else None
    return None


def _default_text(value: object) -> str:
    """A default as PyTorch prints it: ``1.`` for 1.0."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}."
    return str(value)


def _written(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def infer_schema(prototype_function: Function, /, *, mutates_args: Any, op_name: str | None = None) -> str:
    """The schema of a function, from its annotations.

    Args:
        mutates_args: the names of the parameters that it writes to, or "unknown": all tensors.
        op_name: put before it.

    Raises:
        ValueError: a parameter has no annotation, or one that an operator cannot have.

    >>> def twice(x: torch.Tensor, n: float = 2.0) -> torch.Tensor: ...
    >>> torch.library.infer_schema(twice, mutates_args=())
    '(Tensor x, float n=2.0) -> Tensor'

    Source: https://docs.pytorch.org/docs/stable/library.html#torch.library.infer_schema
    """
    signature = inspect.signature(prototype_function)
    hints = _hints(prototype_function)
    unknown = mutates_args == "unknown"

    def fail(what: str) -> typing.NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    parts: list[str] = []
    seen_star = False
    for number, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            fail("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and not seen_star:
            parts.append("*")
            seen_star = True
        if parameter.annotation is parameter.empty:
            fail(f"Parameter {name} must have a type annotation.")
        kind = _type_of(hints.get(name, parameter.annotation))
        if kind is None:
            fail(f"Parameter {name} has unsupported type {parameter.annotation}.")
        if kind.startswith("Tensor") and (unknown or name in mutates_args):
            kind = kind.replace("Tensor", f"Tensor(a{number}!)", 1)
        elif not unknown and name in mutates_args:
            fail(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
        default = "" if parameter.default is parameter.empty else f"={_written(parameter.default)}"
        parts.append(f"{kind} {name}{default}")
    if not unknown:
        strange = sorted(set(mutates_args) - set(signature.parameters))
        if strange:
            fail(
                f"{set(strange)} in mutates_args were not found in the custom op's signature. mutates_args should contain the names of "
                "all args that the custom op mutates, or just the string 'unknown' if you don't know."
            )
    returned = hints.get("return", signature.return_annotation)
    return f"{op_name or ''}({', '.join(parts)}) -> {_returns(returned, fail)}"


def _hints(function: Function) -> Kwargs:
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError):
        return {}


def _returns(annotation: object, fail: Callable[[str], object]) -> str:
    if annotation is inspect.Parameter.empty:
        fail("No return type annotation was provided. Please add one.")
    if annotation in (None, type(None)):
        return "()"
    if typing.get_origin(annotation) is tuple:
        kinds = [_type_of(arg) for arg in typing.get_args(annotation)]
        if None not in kinds:
            return f"({', '.join(map(str, kinds))})"
    kind = _type_of(annotation)
    if kind is None:
        fail(f"Return has unsupported type {annotation}.")
    return str(kind)
