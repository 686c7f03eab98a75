"""The Python code of a graph."""

from __future__ import annotations

import enum
import sys
import types
import typing
from dataclasses import dataclass
from typing import Any

from .._core import dtypes
from .._core.devices import device
from .._core.signatures import Kwargs
from ._namespace import CUSTOM_BUILTINS, Namespace
from ._targets import is_from_torch, qualified_name
from .node import Node, _type_repr, map_arg

__all__ = ["CodeGen", "PythonCode", "format_target"]

MAGIC_METHODS = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}",
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "truediv": "{} / {}", "div": "{} / {}",
    "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}", "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}",
    "xor": "{} ^ {}", "getitem": "{}[{}]", "matmul": "{} @ {}",
}  # fmt: skip
INPLACE_METHODS = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
    "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
    "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip


@dataclass
class PythonCode:
    """The text of a function, and the objects that it calls by name."""

    src: str
    globals: Kwargs
    _lineno_map: dict[int, int | None] | None = None
    _prologue_start: int = 0


def format_target(base: str, target: str) -> str:
    """``self.layer.0`` as Python can write it: ``getattr(self.layer, "0")``."""
    text = base
    for name in target.split("."):
        text = f"{text}.{name}" if name.isidentifier() else f'getattr({text}, "{name}")'
    return text


class CodeGen:
    """Writes the code of a graph. Subclasses may take arguments and give results in another form."""

    def __init__(self) -> None:
        self._body_transformer: Any = None

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The first line of the function."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def forward({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: object) -> str:
        """The line that returns."""
        return f"return {output_args!r}"

    def process_inputs(self, *args: object) -> tuple[object, ...]:
        """The values for the placeholders, from the arguments of a call."""
        return args

    def process_outputs(self, outputs: object) -> Any:
        """The result of a call, from what the output node gives."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Further names that the code uses."""
        return []

    def _gen_python_code(
        self, nodes: object, root_module: str, namespace: Namespace, verbose: bool = False, **options: object
    ) -> PythonCode:
        return _Writer(self, nodes, root_module, namespace).code()


class _Writer:
    """Writes one function."""

    def __init__(self, codegen: CodeGen, nodes: Any, root_module: str, namespace: Namespace) -> None:
        self.codegen, self.nodes, self.root, self.namespace = codegen, nodes, root_module, namespace
        self.free_vars: list[str] = []
        self.body: list[str] = []
        self.globals: Kwargs = {}
        self.wrapped: dict[str, None] = {}
        self.returns = ""
        # By node: the nodes that it is the last to use. After its line, the code sets their variables to None.
        self.last_of: dict[Node, list[Node]] = {}
        visited: set[Node] = set()

        def note(node: Node, user: Node) -> Node:
            if node not in visited:
                visited.add(node)
                self.last_of.setdefault(user, []).append(node)
            return node

        for user in reversed(list(nodes)):
            map_arg((user.args, user.kwargs), lambda node, user=user: note(node, user))

    def code(self) -> PythonCode:
        for name, value in self.codegen.additional_globals():
            self.add_global(name, value)
        for name, (_, value) in CUSTOM_BUILTINS.items():
            self.globals[name] = _builtin(name) if value is None else value
        for position, node in enumerate(self.nodes):
            first = len(self.body)
            self.emit(node)
            self.let_go(node)
            self.body[first:] = [_Written(text, position) for text in self.body[first:]]
        if not self.body:
            self.body.append("pass\n")
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        if self.codegen._body_transformer:
            self.body = self.codegen._body_transformer(self.body)
        head = self.codegen.gen_fn_def(self.free_vars, self.returns)
        text = "\n".join(f"    {line}" for line in "".join(self.body).split("\n"))
        prologue = f"\n{wraps}\n\n{head}"
        return PythonCode(f"{prologue}\n{text}", self.globals, _nodes_of_lines(self.body), len(prologue.split("\n")))

    def add_global(self, hint: str, obj: Any) -> str:
        """The name under which the code reaches an object."""
        if is_from_torch(obj) and obj is not device:
            return qualified_name(obj)
        name = self.namespace.create_name(hint.replace(".", "_"), obj)
        if name in self.globals:
            if self.globals[name] is not obj:
                raise AssertionError(f"{name} is the name of two objects")
            return name
        self.globals[name] = obj
        return name

    def type_repr(self, kind: object) -> str:
        """A type annotation."""
        if kind == ():
            return "()"
        if kind is device:
            return self.add_global("device", kind)  # as of a device among the arguments
        inner = [self.type_repr(argument) for argument in getattr(kind, "__args__", ())]
        if isinstance(kind, types.UnionType):  # int | None
            return "|".join(inner)
        origin = getattr(kind, "__origin__", None)
        if origin is not None:
            hint = _type_repr(origin)
            if inner and type(kind).__module__ == "typing":  # List[int], and not list[int]
                hint = "typing.Union" if origin is typing.Union else f"typing.{getattr(kind, '_name', origin)}"
            outer = self.add_global(hint, origin)
            return f"{outer}[{','.join(inner)}]" if inner else outer
        return self.add_global("_" if kind is ... else _type_repr(kind), kind)

    def arg(self, arg: object) -> str:
        """An argument."""
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            name = self.add_global(_type_repr(type(arg)), type(arg))
            return f"{name}{tuple.__repr__(arg)}"
        if isinstance(arg, enum.Enum):
            return f"{self.add_global(_type_repr(type(arg)), type(arg))}.{arg.name}"
        if isinstance(arg, slice):
            return f"slice({self.arg(arg.start)}, {self.arg(arg.stop)}, {self.arg(arg.step)})"
        if isinstance(arg, tuple):
            return f"({', '.join(map(self.arg, arg))}{',' * (len(arg) == 1)})"
        if isinstance(arg, list):
            return f"[{', '.join(map(self.arg, arg))}]"
        if isinstance(arg, dict):
            return "{" + ", ".join(f"{key!r}: {self.arg(value)}" for key, value in arg.items()) + "}"
        if isinstance(arg, (device, dtypes.dtype)):
            return repr(arg)
        if isinstance(arg, type):
            return self.type_repr(arg)
        return repr(arg)

    def args(self, args: Any, kwargs: Any) -> str:
        return ", ".join([*map(self.arg, args), *[f"{name} = {self.arg(value)}" for name, value in kwargs.items()]])

    def let_go(self, node: Node) -> None:
        """Ends the line of a node, and sets the variables to None that are not used again."""
        if node.op == "placeholder":
            return
        if node.op == "output":
            self.body.append("\n")
            return
        unused = list(self.last_of.get(node, ()))
        if not node.users:
            unused.append(node)
        self.body.append(f";  {' = '.join([*map(repr, unused), 'None'])}\n" if unused else "\n")

    def emit(self, node: Node) -> None:
        typed = "" if node.type is None else f" : {self.type_repr(node.type)}"
        getattr(self, f"_{node.op}")(node, typed)

    def _placeholder(self, node: Node, typed: str) -> None:
        default = f" = {self.arg(node.args[0])}" if node.args else ""
        self.free_vars.append(f"{node.target}{typed}{default}")
        raw = str(node.target).replace("*", "")
        if raw != repr(node):
            self.body.append(f"{node!r} = {raw}\n")

    def _call_method(self, node: Node, typed: str) -> None:
        method = format_target(self.arg(node.args[0]), str(node.target))
        self.body.append(f"{node!r}{typed} = {method}({self.args(node.args[1:], node.kwargs)})")

    def _call_function(self, node: Node, typed: str) -> None:
        target: Any = node.target
        name, module = getattr(target, "__name__", ""), getattr(target, "__module__", "")
        if module == "_operator" and name in MAGIC_METHODS:
            self.body.append(f"{node!r}{typed} = {MAGIC_METHODS[name].format(*map(self.arg, node.args))}")
            return
        if module == "_operator" and name in INPLACE_METHODS:
            self.body.append(f"{INPLACE_METHODS[name].format(*map(self.arg, node.args))};  {node!r} = {node.args[0]!r}")
            return
        function_name = self.add_global(qualified_name(target), target)
        args = node.args
        if function_name == "getattr" and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            self.body.append(f"{node!r}{typed} = {format_target(self.arg(args[0]), args[1])}")
            return
        self.body.append(f"{node!r}{typed} = {function_name}({self.args(args, node.kwargs)})")
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(function_name)

    def _call_module(self, node: Node, typed: str) -> None:
        module = format_target(self.root, str(node.target))
        self.body.append(f"{node!r}{typed} = {module}({self.args(node.args, node.kwargs)})")

    def _get_attr(self, node: Node, typed: str) -> None:
        self.body.append(f"{node!r}{typed} = {format_target(self.root, str(node.target))}")

    def _output(self, node: Node, typed: str) -> None:
        if node.type is not None:
            self.returns = f" -> {self.type_repr(node.type)}"
        self.body.append(self.codegen.generate_output(_Shown(self.arg(node.args[0]))))


class _Written(str):
    """Text that a node has become; what a program adds to the code is no such text."""

    position: int

    def __new__(cls, text: str, position: int) -> _Written:
        written = super().__new__(cls, text)
        written.position = position
        return written


def _nodes_of_lines(body: list[str]) -> dict[int, int | None]:
    """By line of the body, from 1: the position of the node that wrote it, or the last one above it."""
    lines: dict[int, int | None] = {}
    position, line = None, 1
    for text in body:
        if isinstance(text, _Written):
            position = text.position
        for number, piece in enumerate(text.split("\n")):
            line += number > 0
            if piece:
                lines.setdefault(line, position)
    lines.setdefault(line, position)  # the empty line at the end
    return lines


class _Shown:
    """An object with a given ``repr``, by which ``generate_output`` formats its argument."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _builtin(name: str) -> Any:
    """The module that generated code knows under this name."""
    if name == "torch":
        from ._torch import torch

        return torch
    return sys.modules.get("torchlike.utils._pytree")
