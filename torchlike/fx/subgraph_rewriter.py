"""Replaces parts of a graph by other graphs."""

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
    """A match of a pattern: the last node, and the graph's node for each node of the pattern."""

    anchor: Node
    nodes_map: dict[Node, Node]


def _graph_of(source: Any) -> Graph:
    if isinstance(source, GraphModule):
        return source.graph
    return source if isinstance(source, Graph) else symbolic_trace(source).graph


def _matches(pattern: Any, candidate: Any, nodes: dict[Node, Node]) -> bool:
    """Whether a pattern is found at a node; ``nodes`` is filled."""
    if isinstance(pattern, Node) and isinstance(candidate, Node):
        if pattern in nodes:
            return nodes[pattern] is candidate
        if pattern.op == "placeholder":
            nodes[pattern] = candidate
            return True
        if pattern.op != candidate.op or pattern.target != candidate.target:
            return False
        nodes[pattern] = candidate
        return _matches(pattern.args, candidate.args, nodes) and _matches(pattern.kwargs, candidate.kwargs, nodes)
    if isinstance(pattern, Node):
        if pattern.op != "placeholder":
            return False
        if pattern in nodes:
            return nodes[pattern] == candidate
        nodes[pattern] = candidate
        return True
    if isinstance(pattern, (tuple, list)) and isinstance(candidate, (tuple, list)):
        return len(pattern) == len(candidate) and all(
            _matches(p, f, nodes) for p, f in zip(pattern, candidate, strict=True)
        )
    if isinstance(pattern, dict) and isinstance(candidate, dict):
        return pattern.keys() == candidate.keys() and all(
            _matches(p, candidate[key], nodes) for key, p in pattern.items()
        )
    return type(pattern) is type(candidate) and pattern == candidate


def _find(graph: Graph, pattern: Graph) -> list[Match]:
    """The places of a pattern that share no node, and whose inner nodes nothing else uses."""
    end = pattern.output_node().args[0]
    if not isinstance(end, Node):
        raise NotImplementedError("torchlike does not support replace_pattern for patterns that return several values")
    matched_nodes: set[Node] = set()
    matches = []
    for node in reversed(list(graph.nodes)):
        nodes: dict[Node, Node] = {}
        if node.op in ("placeholder", "output") or not _matches(end, node, nodes):
            continue
        inner = {p: n for p, n in nodes.items() if p.op != "placeholder"}
        shut = all(set(n.users) <= set(inner.values()) for p, n in inner.items() if p is not end)
        if shut and not matched_nodes.intersection(inner.values()):
            matched_nodes.update(inner.values())
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
    graph, pattern_graph, new = gm.graph, _graph_of(pattern), _graph_of(replacement)
    inputs = [node for node in pattern_graph.nodes if node.op == "placeholder"]
    matches = _find(graph, pattern_graph)
    replaced: dict[Node, Node] = {}
    for match in matches:
        values: dict[Any, Any] = {}
        for old, node in zip(inputs, [n for n in new.nodes if n.op == "placeholder"], strict=True):
            replaced_by: Any = match.nodes_map.get(old)
            values[node] = replaced.get(replaced_by, replaced_by)
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
