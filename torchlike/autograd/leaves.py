"""Decides when the gradient of a leaf is complete, and which leaf comes first where several are complete at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .._core.node import AccumulateGrad, Edge, Node

__all__ = ["Leaf", "in_order", "read_often"]


def read_often(roots: Iterable[Node]) -> dict[Node, int]:
    """The leaves that more than one edge leads to in the graph of the roots, with the number of these edges.

    Other nodes need no such count: whatever reads their result is newer, and the backward pass visits newer nodes first.
    """
    counts: dict[Node, int] = {}
    nodes: list[Node] = []
    visited: set[Node] = set()
    for root in roots:
        _meet(root, nodes, visited, counts)
    for node in nodes:  # the loop appends to it
        for edge in node.edges:
            if edge is None:
                continue
            target = edge[0]  # the same as ``_meet``, written out to save the call
            if target not in visited:
                visited.add(target)
                if target.edges:
                    nodes.append(target)
            elif target.__class__ is AccumulateGrad:
                counts[target] = counts.get(target, 1) + 1
    return counts


def _meet(target: Node, nodes: list[Node], visited: set[Node], counts: dict[Node, int]) -> None:
    if target not in visited:
        visited.add(target)
        nodes.append(target)
    elif target.__class__ is AccumulateGrad:
        counts[target] = counts.get(target, 1) + 1


Leaf = tuple[Any, dict[int, Any]]  # an AccumulateGrad, with the gradient that came to it


def in_order(complete: list[Leaf], edges: Sequence[Edge | None], arrived: Iterable[Node]) -> list[Leaf]:
    """The order in which PyTorch visits leaves whose gradients one node has completed.

    In PyTorch's queue all leaves have the same priority, which is above that of any other node. The order among equals follows from
    the shape of the binary heap, and so from the number of nodes in it.

    Args:
        edges: of that node; the leaves and what else is ready now are put into the queue in their order.
        arrived: the nodes that gradients have come to.
    """
    leaves = dict(complete)
    others = _ready([node for node in arrived if node.__class__ is not AccumulateGrad])
    put_in = set(leaves) | others
    # The last edge to a node makes it ready.
    pushed = list(dict.fromkeys(edge[0] for edge in reversed(edges) if edge is not None and edge[0] in put_in))[::-1]
    # The nodes that were in PyTorch's queue before this one ran. Only how many they are matters, see below.
    heap: list[Node | None] = [None] * (len(others) - (len(pushed) - len(leaves)))
    for node in pushed:
        _push(heap, node if node.__class__ is AccumulateGrad else None)
    return [(node, leaves[node]) for node in (_pop(heap) for _ in complete)]


def _ready(nodes: list[Node]) -> set[Node]:
    """The nodes that no other node of the set leads to."""
    ready, behind = set(nodes), list(nodes)
    visited: set[Node] = set()
    for node in behind:  # the loop appends to it
        for edge in node.edges:
            if edge is not None and edge[0] not in visited:
                visited.add(edge[0])
                behind.append(edge[0])
    return ready - visited


# A heap of leaves, with None for any other node: the order of these among themselves makes no difference to the leaves.


def _push(heap: list[Node | None], new: Node | None) -> None:
    heap.append(new)
    _rise(heap, len(heap) - 1, new)


def _rise(heap: list[Node | None], hole: int, new: Node | None) -> None:
    """Puts a node at a hole or above it, below the first that does not come after it."""
    while hole and new is not None and heap[(hole - 1) // 2] is None:
        heap[hole] = None
        hole = (hole - 1) // 2
    heap[hole] = new


def _pop(heap: list[Node | None]) -> Node:
    """Removes the first node. The hole moves down to the bottom, to the right child among equals, and there the last node is put in."""
    first, last = heap[0], heap.pop()
    assert first is not None
    hole, count = 0, len(heap)
    while 2 * hole + 1 < count:
        child = 2 * hole + 2
        if child == count or (heap[child] is None and heap[child - 1] is not None):
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if heap:
        _rise(heap, hole, last)
    return first
