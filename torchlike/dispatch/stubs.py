"""Writes the committed stubs, which tell editors and the type check the functions and methods that the declarations make."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path

from .._core import tensor
from .._core.tensor import Tensor
from .bindings import FUNCTIONS, functional
from .opdef import Composite, Form, Op, declarations

HEAD = '''"""{what}

Written by ``python -m torchlike.ops --stubs`` from the declarations in ``torchlike/ops``; not to be edited.
"""

from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Sequence
from typing import Any, Self

from {tensor} import Tensor

_Number = _bool | _int | _float | _complex
_Operand = Tensor | _Number
_Ints = _int | Sequence[_int]
'''
ROOT = Path(__file__).parent.parent
# Builtins under other names, since in a class with a method ``int`` this name means the method.
WORDS = {
    "Any": "Any", "Tensor": "Tensor", "Array": "Tensor", "Indices": "Tensor", "Operand": "_Operand", "Number": "_Number",
    "Dims": "Sequence[_int]", "list[Array]": "Sequence[Tensor]", "list[Indices]": "Sequence[Tensor]", "None": "None",
    "bool": "_bool", "int": "_int", "float": "_float", "str": "_str", "complex": "_complex",
    "tuple[Tensor, ...]": "tuple[Tensor, ...]", "tuple[Array, ...]": "tuple[Tensor, ...]",
    "tuple[Tensor, Tensor]": "tuple[Tensor, Tensor]", "list[Tensor]": "list[Tensor]",
}  # fmt: skip


def annotation(type_text: str) -> str:
    """A type as stubs write it; Any for types of the declaring file."""
    if not isinstance(type_text, str):
        type_text = getattr(type_text, "__name__", "Any")
    parts = [WORDS.get(word.strip()) for word in type_text.split(" | ")]
    return "Any" if None in parts else " | ".join(p for p in parts if p is not None)


def _default(value: object, type_text: str) -> str:
    if value is None and type_text in ("Tensor", "_float", "_complex", "Tensor | _complex", "Tensor | _float"):
        return "..."  # None stands for an argument that is not given, and may not be given itself
    plain = value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value))
    return repr(value) if plain else "..."


def _parameters(function: Callable[..., object], method: bool, out: bool) -> str:
    """The parameters as a stub writes them: ``self`` first in a method, ``out=`` added where the form has it."""
    parts, keyword_only = (["self"] if method else []), False
    parameters = list(inspect.signature(function).parameters.values())[1 if method else 0 :]
    for p in parameters:
        type_text = annotation(p.annotation)
        is_variadic = p.annotation == "Dims" and p is parameters[0] and method  # x.permute(1, 0) or x.permute((1, 0))
        if p.kind is p.VAR_KEYWORD:
            continue
        if p.kind is p.VAR_POSITIONAL or is_variadic:
            parts.append(f"*{p.name}: {'_Ints' if is_variadic else type_text}")
            keyword_only = True
            continue
        if p.kind is p.KEYWORD_ONLY and not keyword_only:
            parts.append("*")
            keyword_only = True
        parts.append(
            f"{p.name}: {type_text}" + ("" if p.default is p.empty else f" = {_default(p.default, type_text)}")
        )
    if out and "out" not in {p.name for p in parameters}:
        parts += [] if keyword_only else ["*"]
        parts.append("out: Any = None")
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        parts.append("**kwargs: Any")
    return ", ".join(parts)


def _returns(record: Op | Composite) -> str:
    type_text = inspect.signature(record.source).return_annotation
    if isinstance(record, Op) and record.several:
        return "tuple[Tensor, ...]"
    return "Any" if type_text is inspect.Signature.empty else annotation(type_text)


def records() -> Iterator[tuple[str, Op | Composite]]:
    """Every public name with its declaration, other names included, in alphabetical order."""
    by_name = {name: record for name, record, _ in declarations() if not name.startswith("_")}
    return ((name, by_name[name]) for name in sorted(by_name))


def functions_stub(public: list[str]) -> str:
    """``ops/__init__.pyi``: the names in ``public``, with signatures where they are declared."""
    lines = [HEAD.format(what="Every op as a function.", tensor=".._core.tensor")]
    declared = dict(records())
    for name in sorted(set(public)):
        record = declared.get(name)
        if record is not None:
            lines.append(
                f"def {name}({_parameters(record.source, False, Form.OUT in record.forms)}) -> {_returns(record)}: ..."
            )
        elif name.endswith("_") and name[:-1] in declared:
            base = declared[name[:-1]]
            lines.append(f"def {name}({_parameters(base.source, False, False)}) -> Tensor: ...")
        else:
            lines.append(f"{name}: Any")
    lines.append(f"\n__all__ = {sorted(set(public))!r}")
    return "\n".join(lines) + "\n"


def functional_stub() -> str:
    """``nn/functional/_derived.pyi``: what the declarations give to ``torch.nn.functional``."""
    lines = [HEAD.format(what="The functions that declarations give to this namespace.", tensor="..._core.tensor")]
    functions = functional()
    for name, function in sorted(functions.items()):
        record = getattr(function, "declared", None)
        returned = annotation("Tensor") if record is None else _returns(record)
        out = record is not None and Form.OUT in record.forms
        lines.append(f"def {name}({_parameters(inspect.unwrap(function), False, out)}) -> {returned}: ...")
    lines.append(f"\n__all__ = {sorted(functions)!r}")
    return "\n".join(lines) + "\n"


def methods_stub() -> str:
    """``_core/tensor_methods.pyi``: what ``_namespace/_bind.py`` gives to Tensor, read off the class itself."""
    lines = [
        HEAD.format(what="The methods that ``_namespace/_bind.py`` gives to Tensor.", tensor=".tensor"),
        "class TensorMethods:",
    ]
    declared = dict(records())
    for name, method in sorted(vars(Tensor).items()):
        function = method.fget if isinstance(method, property) else method
        if getattr(function, "__module__", "") == tensor.__name__ or not callable(function):
            continue
        if name == "__new__":
            lines.append("    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...")
        elif name.startswith("__"):
            lines.append(_operator(name))
        elif name.startswith("_"):
            continue
        elif name in declared:
            record = declared[name]
            if isinstance(method, property):
                lines += ["    @property", f"    def {name}(self) -> {_returns(record)}: ..."]
            else:
                source = (isinstance(record, Composite) and record.method) or record.source
                lines.append(f"    def {name}({_parameters(source, True, False)}) -> {_returns(record)}: ...")
        elif name.endswith("_") and name[:-1] in declared and name[:-1] in FUNCTIONS:
            lines.append(f"    def {name}({_parameters(declared[name[:-1]].source, True, False)}) -> Tensor: ...")
        elif isinstance(method, property):
            lines += ["    @property", f"    def {name}(self) -> Any: ..."]
        else:
            returned = annotation(inspect.signature(function).return_annotation)
            lines.append(f"    def {name}({_parameters(function, True, False)}) -> {returned}: ...")
    return "\n".join(lines) + "\n"


def _operator(name: str) -> str:
    if name in ("__neg__", "__pos__", "__abs__", "__invert__"):
        return f"    def {name}(self) -> Tensor: ..."
    if name == "__getitem__":
        return f"    def {name}(self, index: Any) -> Tensor: ..."
    if name == "__setitem__":
        return f"    def {name}(self, index: Any, value: Any) -> None: ..."
    if name in ("__eq__", "__ne__"):
        return f"    def {name}(self, other: Any) -> Tensor: ...  # type: ignore[override]"
    return f"    def {name}(self, other: Any) -> Tensor: ..."


def stubs(public: list[str]) -> dict[Path, str]:
    """The committed stubs with the text that each must hold."""
    return {
        ROOT / "ops" / "__init__.pyi": functions_stub(public),
        ROOT / "nn" / "functional" / "_derived.pyi": functional_stub(),
        ROOT / "_core" / "tensor_methods.pyi": methods_stub(),
    }
