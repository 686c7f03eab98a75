"""Stretches: what a layer recorded at this place of a trace before, it records again in one step, with one node for all of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.modes import modes
from .._core.node import ITSELF, AccumulateGrad, Edge, Node, next_number
from .._core.storage import Storage
from .._core.tensor import Tensor
from ..engine.recorder import Jump, Recorder, Segment, lock, per_thread, unlocked
from ..engine.value import Value

__all__ = ["Folded", "Stretch", "stretch"]

_new = object.__new__


def stretch(key: list[Any], tensors: list[Tensor], forward: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """``forward(*args)``, jumped over where it is known what it records.

    Args:
        key: whatever besides the tensors decides what ``forward`` does; it is added to.
        tensors: all that ``forward`` reads. It writes to nothing that is there before the call.
    """
    own = per_thread.recorder
    if own.op_by_op or modes.rare:
        return forward(*args)
    if own.__class__ is Recorder:
        return _alone(own, key, tensors, forward, args)
    with lock:
        return _alone(own, key, tensors, forward, args)


@unlocked
def _alone(
    own: Recorder, key: list[Any], tensors: list[Tensor], forward: Callable[..., Any], args: tuple[Any, ...]
) -> Any:
    if own.at_boundary:
        own.end_step()
    segment, cursor = own.segment, own.cursor
    values: list[Value] = []
    met: list[Value] = []
    crowded = own.__class__ is not Recorder
    add = key.append
    add(modes.grad_enabled)
    for tensor in tensors:
        storage, view = tensor._storage, tensor._view
        if view is None:
            value = storage.value
        elif view.current(storage):
            value = view.value
        else:
            break
        if storage.host is not None or tensor._inference:
            break
        if value.segment is segment:
            add(value.position)
        elif value.array is None or (crowded and value.segment is not None and value.segment.recorder is not own):
            break  # another thread has to do with it
        else:
            add(value.aval)
            value.segment = segment
            value.position = ~len(met)  # tells a tensor that is given twice from two that are alike
            met.append(value)
        add(tensor._requires_grad)
        values.append(value)
    else:
        try:
            known: Any = cursor.walks.get(tuple(key))
        except TypeError:  # something in it cannot be hashed
            known = _NEVER
        if known.__class__ is Stretch and not (known.checked and _on_host(values)):
            return known.replay(own, segment, tensors, values)
        for value in met:
            value.segment = None
        if known is not None or any(value.traced for value in values):
            return forward(*args)
        first, leaves, before = len(segment.out_refs), len(segment.leaf_refs), next_number()
        result = forward(*args)
        if own.segment is segment and own.cursor is not cursor:
            cursor.walks[tuple(key)] = _learn(own, first, leaves, before, tensors, values, result) or _NEVER
        return result
    for value in met:
        value.segment = None
    return forward(*args)


_NEVER: Any = object()


def _on_host(values: Sequence[Value]) -> bool:
    """Whether an index may be wrong that can be told at this line."""
    return any(value.array.__class__ is np.ndarray for value in values)


class Inner(NamedTuple):
    """One node of a stretch. Numbers count what the stretch holds: see ``Folded``."""

    rule: Any
    avals: tuple[Any, ...]
    edges: tuple[tuple[bool, int, int] | None, ...]  # whether it leads out, the number of the edge or node, the output
    saved: tuple[int, ...]
    watched: tuple[int, ...]


class Stretch:
    """What a stretch records, and how its graph hangs together.

    ``held``: which of the inputs and outputs its nodes save; ``watched``: which inputs (-1: the result) must not have been written
    to when the backward comes; ``outer``: which inputs its edges lead to.
    """

    __slots__ = ("jump", "nodes", "held", "watched", "outer", "version", "output_nr", "checked")

    def __init__(
        self,
        jump: Jump,
        nodes: tuple[Inner, ...],
        held: tuple[int, ...],
        watched: tuple[int, ...],
        outer: tuple[int, ...],
        version: int,
        output_nr: int,
        checked: bool,
    ) -> None:
        self.jump, self.nodes, self.held, self.watched, self.outer = jump, nodes, held, watched, outer
        self.version, self.output_nr, self.checked = version, output_nr, checked

    def replay(self, own: Recorder, segment: Segment, tensors: list[Tensor], values: list[Value]) -> Tensor:
        count = len(values)
        values += own.jump(self.jump, values)
        result = _new(Tensor)
        result._storage = storage = _new(Storage)
        storage.value = values[count]
        if self.version:
            storage.version = storage.stamp = self.version
        if self.nodes:
            top = self.nodes[0]
            node = Folded()
            node.stretch, node.rule, node.avals, node.serial = self, top.rule, top.avals, segment.serial
            node.held = tuple([values[i] for i in self.held])
            node.outer = tuple([tensors[i]._edge() for i in self.outer])
            node.watched = watched = []
            for i in self.watched:
                if i < 0:
                    watched.append((storage, storage.version, storage.value.aval, ITSELF))
                else:
                    tensor = tensors[i]
                    watched.append((tensor._storage, tensor._storage.version, values[i].aval, tensor._grad_fn))
            node.sequence = next_number()
            result._grad_fn, result._output_nr, result._requires_grad = node, self.output_nr, True
        return result


class Folded(Node):
    """The node of a stretch's result. Looking at what is behind it makes the nodes there, and this one an ordinary node.

    ``held``: values that the nodes have saved, None once freed; ``outer``: the edges that lead out of the stretch; ``serial``: of the
    segment it was recorded in.
    """

    stretch: Stretch
    held: tuple[Value, ...] | None
    outer: tuple[Edge, ...]
    serial: int

    edges = property(lambda self: self.unfold().edges)  # pyright: ignore[reportAssignmentType]
    saved = property(lambda self: self.unfold().saved)  # pyright: ignore[reportAssignmentType]

    def unfold(self) -> Node:
        stretch, held, outer, watched, sequence = self.stretch, self.held, self.outer, self.watched, self.sequence
        del self.stretch, self.held, self.outer, self.serial
        self.__class__ = Node  # pyright: ignore[reportAttributeAccessIssue]  (of the same layout)
        nodes: list[Node] = [self, *[Node() for _ in stretch.nodes[1:]]]
        for rank, (node, inner) in enumerate(zip(nodes, stretch.nodes, strict=True)):
            node.rule, node.avals = inner.rule, inner.avals
            node.edges = tuple([e and (outer[e[1]] if e[0] else (nodes[e[1]], e[2])) for e in inner.edges])
            if held is None:
                node.saved, node.watched = (None if inner.saved else ()), ()
            else:
                node.saved = tuple([held[i] for i in inner.saved])
                node.watched = [watched[i] for i in inner.watched]
            node.sequence = sequence - rank / len(nodes)  # younger than what came before, older than what came after
        return self

    def release(self) -> None:
        self.held, self.watched = None, ()


def _learn(
    own: Recorder,
    first: int,
    leaves: int,
    before: int,
    tensors: list[Tensor],
    values: list[Value],
    result: Any,
) -> Stretch | None:
    """The stretch that ``result`` has come from; None if it is not of the plain kind.

    Args:
        first, leaves: outputs and leaves that the segment had before.
        before: number of the node made last before.
    """
    if result.__class__ is not Tensor or result._view is not None or result._storage.host is not None:
        return None
    if any(
        t is result or (t._storage.value if t._view is None else t._view.value) is not v
        for t, v in zip(tensors, values, strict=True)
    ):
        return None
    nodes = _nodes_since(before, result._grad_fn)
    if nodes is None or (result._grad_fn is not None and not nodes):
        return None
    rank = {node: i for i, node in enumerate(nodes)}
    place = {id(value): i for i, value in enumerate(values)}
    wanted = [result._storage.value]
    place.setdefault(id(wanted[0]), len(values))
    storages = {id(t._storage): i for i, t in enumerate(tensors)}
    storages[id(result._storage)] = -1
    # of a tensor and its node, the node says where the gradient goes
    ways = {
        (id(node), number): i
        for i, (node, number) in enumerate(t._edge() if t._requires_grad else (None, 0) for t in tensors)
    }
    held: dict[int, int] = {}
    watched: dict[int, int] = {}
    outer: dict[int, int] = {}
    inners = []
    for node in nodes:
        assert node.saved is not None
        for value in node.saved:
            if id(value) not in place:
                place[id(value)] = len(values) + len(wanted)
                wanted.append(value)
        edges: list[tuple[bool, int, int] | None] = []
        for edge in node.edges:
            if edge is None:
                edges.append(None)
            elif edge[0] in rank:
                edges.append((False, rank[edge[0]], edge[1]))
            else:
                to = ways.get((id(edge[0]), edge[1]))
                if to is None:
                    return None
                edges.append((True, outer.setdefault(to, len(outer)), 0))
        inners.append(Inner(
            node.rule,
            node.avals,
            tuple(edges),
            tuple([held.setdefault(place[id(v)], len(held)) for v in node.saved]),
            # what only the stretch itself has seen, nobody can write to
            tuple([watched.setdefault(storages[id(s)], len(watched)) for s, *_ in node.watched if id(s) in storages]),
        ))  # fmt: skip
    jump = own.landing(first, leaves, values, wanted)
    if jump is None:
        return None
    return Stretch(
        jump, tuple(inners), tuple(held), tuple(watched), tuple(outer),
        result._storage.version, result._output_nr, own.cursor.checked,
    )  # fmt: skip


def _nodes_since(before: int, top: Node | None) -> list[Node] | None:
    """The nodes younger than a number from ``top`` on, youngest first; None if one of them is more than a plain record."""
    found = [] if top is None or top.sequence < before else [top]
    seen = set(found)
    for node in found:  # grows on the way
        if node.__class__ is Folded:
            node.edges  # noqa: B018  (unfolds it)
        if node.__class__ is not Node or node.hooked or node.unpack is not None or node.saved is None or node.trace:
            return None
        for edge in node.edges:
            if (
                edge is not None
                and edge[0].sequence > before
                and edge[0].__class__ is not AccumulateGrad
                and edge[0] not in seen
            ):
                seen.add(edge[0])
                found.append(edge[0])
    return sorted(found, key=lambda node: -node.sequence)
