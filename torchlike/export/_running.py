"""Runs graphs of operators, and checks that what they give has the sizes that the graph was made for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._core.tensor import Tensor
from ..fx import Graph, GraphModule, Node

__all__ = ["run"]


def run(graph: Graph, modules: Mapping[str, object], inputs: Iterable[object]) -> Any:
    """What a graph gives for these inputs.

    Args:
        modules: the graphs within it, by the names by which its nodes take them.

    Raises:
        RuntimeError: a tensor has another shape than when the graph was made, for which the sizes in the graph may be wrong.
    """
    values: dict[Node, Any] = {}
    given = iter(inputs)
    for node in graph.nodes:
        if node.op == "placeholder":
            values[node] = next(given)
        elif node.op == "get_attr":
            values[node] = _part(modules[str(node.target)])
        elif node.op == "output":
            return _filled(node.args[0], values)
        else:
            result = values[node] = node.target(*_filled(node.args, values), **_filled(node.kwargs, values))
            shape = node.meta.get("shape")
            if shape is not None and isinstance(result, Tensor) and result.shape != shape:
                raise RuntimeError(
                    f"torchlike does not support exported programs whose sizes depend on elements: {node.name} had the shape "
                    f"{tuple(shape)} when the program was exported, and has {tuple(result.shape)} now"
                )
    return None


def _part(module: object) -> object:
    if isinstance(module, GraphModule):
        return lambda *args: run(module.graph, module._modules, args)
    return module


def _filled(argument: Any, values: Mapping[Node, Any]) -> Any:
    """An argument with the values of nodes in their places."""
    kind = type(argument)
    if kind is Node:
        return values[argument]
    if isinstance(argument, (tuple, list)):
        return (
            [_filled(each, values) for each in argument]
            if kind is not tuple
            else tuple([_filled(each, values) for each in argument])
        )
    if isinstance(argument, dict):
        return {name: _filled(each, values) for name, each in argument.items()}
    if kind is slice:
        return slice(*[_filled(each, values) for each in (argument.start, argument.stop, argument.step)])
    return argument
