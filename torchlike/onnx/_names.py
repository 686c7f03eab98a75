"""The names in an ONNX model: of inputs, results, weights and sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from .._core.tensor import Tensor

__all__ = ["Graph", "Model", "rename_sizes", "rename_values", "tensor_names"]


class Named(Protocol):
    """A value of a graph."""

    name: str
    type: Any


class Node(Protocol):
    """An operation of a graph."""

    input: list[str]
    output: list[str]
    attribute: list[Any]


class Graph(Protocol):
    """``onnx.GraphProto``."""

    name: str
    input: list[Named]
    output: list[Named]
    value_info: list[Named]
    initializer: list[Named]
    node: list[Node]


class Model(Protocol):
    """``onnx.ModelProto``."""

    graph: Graph
    producer_name: str

    def SerializeToString(self) -> bytes:
        """The bytes of a file."""
        ...


def tensor_names(name: str, value: object) -> Iterator[str]:
    """A name for each tensor in an argument: the argument's own, and the places in lists and dictionaries."""
    if isinstance(value, Tensor):
        yield name
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from tensor_names(f"{name}_{key}", each)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for number, each in enumerate(value):
            yield from tensor_names(f"{name}_{number}", each)


def rename_values(graph: Graph, names: Mapping[str, str]) -> None:
    """Gives values of a graph other names. A value that has one of these already gets another one."""
    taken = set(names.values())
    others = {old: _free(old, taken) for old in _defined(graph) if old in taken and old not in names}
    _rename(graph, {**others, **names})


def _free(name: str, taken: set[str]) -> str:
    number = 1
    while f"{name}_{number}" in taken:
        number += 1
    taken.add(f"{name}_{number}")
    return f"{name}_{number}"


def _defined(graph: Graph) -> Iterator[str]:
    yield from (each.name for each in graph.input)
    yield from (each.name for each in graph.initializer)
    for node in graph.node:
        yield from node.output
        for inner in _graphs_of(node):
            yield from _defined(inner)


def _graphs_of(node: Node) -> Iterator[Graph]:
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _rename(graph: Graph, names: Mapping[str, str]) -> None:
    for each in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        each.name = names.get(each.name, each.name)
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for inner in _graphs_of(node):
            _rename(inner, names)


def rename_sizes(graph: Graph, names: Mapping[str, str]) -> None:
    """Gives sizes that vary other names, also where they are a part of an expression."""
    for each in (*graph.input, *graph.output, *graph.value_info):
        for dim in each.type.tensor_type.shape.dim:
            if dim.HasField("dim_param"):
                dim.dim_param = re.sub(r"[A-Za-z_]\w*", lambda word: names.get(word[0], word[0]), dim.dim_param)
    for node in graph.node:
        for inner in _graphs_of(node):
            rename_sizes(inner, names)
