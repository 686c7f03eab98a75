"""Replaces parts of a graph by others."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from .._core.signatures import Function
from ..nn import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule
from .node import Node

__all__ = ["Match", "replace_pattern"]


class Match(NamedTuple):
    """Where a pattern was found: the last node, and for each node of the pattern that of the graph."""

    anchor: Node
    nodes_map: dict[Node, Node]


def _graph_of(thing: Any) -> Graph:
    if isinstance(thing, GraphModule):
        return thing.graph
    return thing if isinstance(thing, Graph) else symbolic_trace(thing).graph


def _matches(pattern: Any, found: Any, nodes: dict[Node, Node]) -> bool:
    """Whether a pattern is found at a node; ``nodes`` is filled."""
    if isinstance(pattern, Node) and isinstance(found, Node):
        if pattern in nodes:
            return nodes[pattern] is found
        if pattern.op == "placeholder":
            nodes[pattern] = found
            return True
        if pattern.op != found.op or pattern.target != found.target:
            return False
        nodes[pattern] = found
        return _matches(pattern.args, found.args, nodes) and _matches(pattern.kwargs, found.kwargs, nodes)
    if isinstance(pattern, Node):
        if pattern.op != "placeholder":
            return False
        if pattern in nodes:
            return nodes[pattern] == found
        nodes[pattern] = found
        return True
    if isinstance(pattern, (tuple, list)) and isinstance(found, (tuple, list)):
        return len(pattern) == len(found) and all(_matches(p, f, nodes) for p, f in zip(pattern, found, strict=True))
    if isinstance(pattern, dict) and isinstance(found, dict):
        return pattern.keys() == found.keys() and all(_matches(p, found[key], nodes) for key, p in pattern.items())
    return type(pattern) is type(found) and pattern == found


def _find(graph: Graph, pattern: Graph) -> list[Match]:
    """The places of a pattern that share no node, and whose inner nodes nothing else uses."""
    end = pattern.output_node().args[0]
    if not isinstance(end, Node):
        raise NotImplementedError("torchlike does not support replace_pattern for patterns that return several values")
    taken: set[Node] = set()
    matches = []
    for node in reversed(list(graph.nodes)):
        nodes: dict[Node, Node] = {}
        if node.op in ("placeholder", "output") or not _matches(end, node, nodes):
            continue
        inner = {p: n for p, n in nodes.items() if p.op != "placeholder"}
        shut = all(set(n.users) <= set(inner.values()) for p, n in inner.items() if p is not end)
        if shut and not taken.intersection(inner.values()):
            taken.update(inner.values())
            matches.append(Match(node, nodes))
    return matches[::-1]


def replace_pattern(
    gm: GraphModule, pattern: Function | GraphModule, replacement: Function | GraphModule
) -> list[Match]:
    """Replaces each place where a pattern is found, and makes the module's code anew.

    Args:
        pattern: a function whose graph is looked for; its parameters stand for anything.
        replacement: a function of the same parameters, whose graph is put there.

    Returns:
        the places.

    Source: https://docs.pytorch.org/docs/stable/fx.html#torch.fx.replace_pattern
    """
    graph, wanted, new = gm.graph, _graph_of(pattern), _graph_of(replacement)
    inputs = [node for node in wanted.nodes if node.op == "placeholder"]
    matches = _find(graph, wanted)
    replaced: dict[Node, Node] = {}
    for match in matches:
        values: dict[Any, Any] = {}
        for old, node in zip(inputs, [n for n in new.nodes if n.op == "placeholder"], strict=True):
            given: Any = match.nodes_map.get(old)
            values[node] = replaced.get(given, given)
        users = [node for node in graph.nodes if node in match.anchor.users]
        with graph.inserting_before(users[0] if users else match.anchor):
            result = graph.graph_copy(new, values)
        if isinstance(result, Node):
            match.anchor.replace_all_uses_with(result)
            replaced[match.anchor] = result
        inner = [n for p, n in match.nodes_map.items() if p.op != "placeholder"]
        for node in reversed(list(graph.nodes)):
            if node in inner and not node.users:
                graph.erase_node(node)
    gm.recompile()
    for module in (pattern, replacement):
        if isinstance(module, Module):
            for node in graph.nodes:
                if node.op in ("call_module", "get_attr"):
                    _take(gm, module, str(node.target))
    return matches


def _take(gm: GraphModule, source: Any, target: str) -> None:
    """Takes over a module that the replacement has."""
    try:
        gm.get_submodule(target)
    except AttributeError:
        try:
            gm.add_submodule(target, copy.deepcopy(source.get_submodule(target)))
        except AttributeError:
            return
