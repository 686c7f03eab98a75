"""Replaces parts of a graph by other graphs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._core.signatures import Function
from ..nn import Module
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule
from .node import Node

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """A match of a pattern: the last node, and the graph's node for each node of the pattern."""

    anchor: Node
    nodes_map: dict[Node, Node]


@dataclass
class ReplacedPatterns:
    """A match, and the nodes that took its place."""

    anchor: Node
    nodes_map: dict[Node, Node]
    replacements: list[Node]


@dataclass
class InternalMatch:
    """A match as filters get it: also which nodes stand for the pattern's parameters and results."""

    anchors: list[Node]
    nodes_map: dict[Node, Node]
    placeholder_nodes: list[Node]
    returning_nodes: list[Node]


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


def _ends(graph: Graph) -> list[Node]:
    """The nodes that a pattern returns."""
    returned = graph.output_node().args[0]
    ends = returned if isinstance(returned, (tuple, list)) else [returned]
    nodes = [end for end in ends if isinstance(end, Node) and end.op != "placeholder"]
    if len(nodes) < len(ends) or not nodes:
        raise NotImplementedError(
            "torchlike does not support replace_pattern for patterns that return what they do not compute"
        )
    return nodes


def _completed(ends: list[Node], nodes: dict[Node, Node], graph: Graph) -> Iterator[dict[Node, Node]]:
    """The ways in which the other ends of a pattern are found, given what the first ones have fixed."""
    if not ends:
        yield nodes
        return
    end, *others = ends
    for candidate in [nodes[end]] if end in nodes else reversed(list(graph.nodes)):
        found = dict(nodes)
        if candidate.op not in ("placeholder", "output") and _matches(end, candidate, found):
            yield from _completed(others, found, graph)


def _find(graph: Graph, pattern: Graph) -> list[Match]:
    """The places of a pattern that share no node, whose inner nodes nothing else uses, and where a replacement can stand."""
    ends = _ends(pattern)
    order = {node: number for number, node in enumerate(graph.nodes)}
    matched_nodes: set[Node] = set()
    matches = []
    for node in reversed(list(graph.nodes)):
        nodes: dict[Node, Node] = {}
        if node.op in ("placeholder", "output") or not _matches(ends[0], node, nodes):
            continue
        for found in _completed(ends[1:], nodes, graph):
            inner = {p: n for p, n in found.items() if p.op != "placeholder"}
            shut = all(set(n.users) <= set(inner.values()) for p, n in inner.items() if p not in ends)
            inputs = [order[n] for p, n in found.items() if p.op == "placeholder" and isinstance(n, Node)]
            users = [order[user] for end in ends for user in found[end].users if user not in inner.values()]
            in_time = max(inputs, default=-1) < min(users, default=len(order))
            if shut and in_time and not matched_nodes.intersection(inner.values()):
                matched_nodes.update(inner.values())
                matches.append(Match(node, found))
                break
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
    replaced = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(each.anchor, each.nodes_map) for each in replaced]


def replace_pattern_with_filters(
    gm: GraphModule,
    pattern: Function | Graph | GraphModule,
    replacement: Function | Graph | GraphModule | None = None,
    match_filters: list[Callable[[InternalMatch, Graph, Graph], bool]] | None = None,
    ignore_literals: bool = False,
    replacement_callback: Callable[[InternalMatch, Graph, Graph], Graph] | None = None,
    node_name_match: str = "",
) -> list[ReplacedPatterns]:
    """As ``replace_pattern``, at the places that all filters pass.

    Args:
        match_filters: functions of a match, the graph and the pattern's graph.
        replacement_callback: gives the graph that is put at a match, instead of ``replacement``.

    Raises:
        NotImplementedError: ``ignore_literals`` or ``node_name_match``.
        AssertionError: there is nothing to replace by.
    """
    if ignore_literals or node_name_match:
        option = "ignore_literals=True" if ignore_literals else "node_name_match"
        raise NotImplementedError(f"torchlike does not support replace_pattern_with_filters with {option}")
    if replacement is None and replacement_callback is None:
        raise AssertionError("Must provide either replacement or replacement_callback")
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    inputs, ends = [node for node in pattern_graph.nodes if node.op == "placeholder"], _ends(pattern_graph)
    always = _graph_of(replacement) if replacement_callback is None else None
    found = [
        InternalMatch([match.anchor], match.nodes_map, [match.nodes_map[n] for n in inputs if n in match.nodes_map],
                      [match.nodes_map[end] for end in ends])
        for match in _find(graph, pattern_graph)
    ]  # fmt: skip
    found = [match for match in found if all(f(match, graph, pattern_graph) for f in match_filters or ())]
    replaced: dict[Node, Node] = {}
    places = []
    for match in found:
        new = always if replacement_callback is None else replacement_callback(match, graph, pattern_graph)
        assert new is not None
        values: dict[Any, Any] = {}
        for old, node in zip(inputs, [n for n in new.nodes if n.op == "placeholder"], strict=True):
            replaced_by: Any = match.nodes_map.get(old)
            values[node] = replaced.get(replaced_by, replaced_by)
        given = set(values)
        results = _put(graph, new, match, values, len(ends))
        for end, computed in zip(match.returning_nodes, results, strict=True):
            if isinstance(computed, Node):
                end.replace_all_uses_with(computed)
                replaced[end] = computed
        inner = _inner(match)
        for node in reversed(list(graph.nodes)):
            if node in inner and not node.users:
                graph.erase_node(node)
        made = [values[node] for node in new.nodes if node in values and node not in given]
        places.append(ReplacedPatterns(match.anchors[0], match.nodes_map, made))
    gm.recompile()
    for module in (pattern, replacement):
        if isinstance(module, Module):
            for node in graph.nodes:
                if node.op in ("call_module", "get_attr"):
                    _take(gm, module, str(node.target))
    return places


def _inner(match: InternalMatch) -> list[Node]:
    return [n for p, n in match.nodes_map.items() if p.op != "placeholder"]


def _put(graph: Graph, new: Graph, match: InternalMatch, values: dict[Node, Node], count: int) -> Sequence[object]:
    """Copies a replacement's graph to where a match is read first; returns what it returns, of so many values. ``values`` is filled."""
    inner, old_ends = _inner(match), match.returning_nodes
    used = {user for end in old_ends for user in end.users}.difference(inner)
    users = [node for node in graph.nodes if node in used]
    with graph.inserting_before(users[0] if users else [node for node in graph.nodes if node in old_ends][-1]):
        result = graph.graph_copy(new, values)
    results = result if isinstance(result, (tuple, list)) and count > 1 else [result]
    if len(results) != count:
        raise RuntimeError(f"the pattern returns {count} values, and the replacement {len(results)}")
    return results


def _take(gm: GraphModule, source: Any, target: str) -> None:
    """Takes over a module that the replacement has."""
    try:
        gm.get_submodule(target)
    except AttributeError:
        try:
            gm.add_submodule(target, copy.deepcopy(source.get_submodule(target)))
        except AttributeError:
            return
