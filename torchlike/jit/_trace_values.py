"""The graph of ``torch.jit._get_trace_graph``: nodes, and the values that they make, with the methods that tools call on PyTorch's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .._core.dtypes import dtype as Dtype
from .._core.tensor import Tensor

__all__ = ["Graph", "Node", "Type", "Value"]

_KINDS = {bool: "BoolType", int: "IntType", float: "FloatType", str: "StringType", list: "ListType", tuple: "ListType"}
_NAMES = {"BoolType": "bool", "IntType": "int", "FloatType": "float", "StringType": "str", "NoneType": "NoneType"}


class Type:
    """What is known of a value: of a tensor its sizes and dtype, else its kind."""

    def __init__(self, content: object) -> None:
        self._sizes: list[int] | None = None
        self._dtype: Dtype | None = None
        if isinstance(content, Tensor):
            self._kind, self._sizes, self._dtype = "TensorType", list(content.shape), content.dtype
        else:
            self._kind = _KINDS.get(type(content), "NoneType" if content is None else "AnyType")

    def kind(self) -> str:
        return self._kind

    def sizes(self) -> list[int] | None:
        return self._sizes

    def dim(self) -> int | None:
        return None if self._sizes is None else len(self._sizes)

    def dtype(self) -> Dtype | None:
        return self._dtype

    def scalarType(self) -> str | None:
        return None if self._dtype is None else self._dtype.scalar_name

    def __str__(self) -> str:
        return "Tensor" if self._kind == "TensorType" else _NAMES.get(self._kind, "list")

    def shown(self) -> str:
        """As a line of the graph has it."""
        return str(self) if self._dtype is None else f"{self.scalarType()}({', '.join(map(str, self._sizes or []))})"


class Value:
    """What a node makes, or the graph is given. It keeps the sizes that a tensor had then."""

    def __init__(self, node: Node, content: object, number: int) -> None:
        self._node, self._type, self._number = node, Type(content), number

    def debugName(self) -> str:
        return str(self._number)

    def unique(self) -> int:
        return self._number

    def node(self) -> Node:
        return self._node

    def type(self) -> Type:
        return self._type

    def isCompleteTensor(self) -> bool:
        return self._type.sizes() is not None

    def toIValue(self) -> object:
        """The constant, or None where the value is none."""
        return self._node.constant if self._node.kind() == "prim::Constant" else None

    def __str__(self) -> str:
        return f"{self._number} defined in ({self._node})"


class Node:
    """One call of an operator, or a constant."""

    def __init__(self, kind: str, inputs: Sequence[Value], scope: str, constant: object = None) -> None:
        self._kind, self._inputs, self._scope, self.constant = kind, list(inputs), scope, constant
        self.made: list[Value] = []
        self.name = ""

    def pyname(self) -> str:
        """The name of a custom function."""
        return self.name

    def kind(self) -> str:
        return self._kind

    def scopeName(self) -> str:
        return self._scope

    def inputs(self) -> Iterator[Value]:
        return iter(self._inputs)

    def outputs(self) -> Iterator[Value]:
        return iter(self.made)

    def inputsSize(self) -> int:
        return len(self._inputs)

    def outputsSize(self) -> int:
        return len(self.made)

    def output(self) -> Value:
        (value,) = self.made
        return value

    def __str__(self) -> str:
        made = ", ".join(f"%{each.debugName()} : {each.type().shown()}" for each in self.made)
        value = "" if self._kind != "prim::Constant" or self.constant is None else f"[value={self.constant}]"
        return f"{made} = {self._kind}{value}({', '.join(f'%{each.debugName()}' for each in self._inputs)})"


class Graph:
    """The nodes in the order of the calls."""

    def __init__(self) -> None:
        self.taken: list[Value] = []
        self.given: list[Value] = []
        self.steps: list[Node] = []
        self._count = 0

    def value(self, node: Node, content: object) -> Value:
        """A new value that the node makes."""
        made = Value(node, content, self._count)
        self._count += 1
        node.made.append(made)
        return made

    def inputs(self) -> Iterator[Value]:
        return iter(self.taken)

    def outputs(self) -> Iterator[Value]:
        return iter(self.given)

    def nodes(self) -> Iterator[Node]:
        return iter(self.steps)

    def __str__(self) -> str:
        taken = ",\n      ".join(f"%{each.debugName()} : {each.type().shown()}" for each in self.taken)
        steps = "".join(f"  {each}\n" for each in self.steps)
        return f"graph({taken}):\n{steps}  return ({', '.join(f'%{each.debugName()}' for each in self.given)})\n"
