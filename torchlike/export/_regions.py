"""Regions of a graph: operators that run with gradients or autocast switched otherwise than around them, as graphs within a graph."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from .. import _torch_ops
from .._core.dtypes import dtype as Dtype
from .._core.modes import modes
from ..amp import autocast
from ..autograd.grad_mode import is_grad_enabled, set_grad_enabled
from ..fx import Graph, GraphModule, Node

__all__ = ["Switches", "with_regions"]


# The operator that runs a graph with a switch, and how it is set.
Switch = tuple[Any, tuple[object, ...]]


class Switches(NamedTuple):
    """The switches under which an operator was called. ``autocast``: the dtype by type of device, where it is on."""

    grad: bool
    autocast: tuple[tuple[str, Dtype], ...] = ()

    @classmethod
    def now(cls, grad: bool | None = None) -> Switches:
        """Those of this thread."""
        halves: Any = modes.autocast or {}
        return cls(is_grad_enabled() if grad is None else grad, tuple(sorted(halves.items(), key=lambda item: item[0])))

    def differences(self, around: Switches) -> list[Switch]:
        """What has to be switched within ``around``: for each switch the operator that runs a graph with it, and how it is set."""
        found: list[Switch] = []
        inner, outer = dict(self.autocast), dict(around.autocast)
        for kind in sorted(inner.keys() | outer.keys()):
            if inner.get(kind) != outer.get(kind):
                setting = (kind, inner.get(kind, outer.get(kind)), kind in inner, None)
                found.append((wrap_with_autocast, setting))
        if self.grad != around.grad:
            found.append((wrap_with_set_grad_enabled, (self.grad,)))
        return found


class _Wrap:
    """An operator that runs a graph with a switch. ``torch.ops.higher_order`` has it."""

    def __init__(self, name: str, run: Callable[..., object]) -> None:
        self.__name__ = self.__qualname__ = self._name = name
        self.__module__, self.namespace = "torch.ops.higher_order", "higher_order"
        self._run = run
        setattr(_torch_ops.higher_order, name, self)

    def __call__(self, *args: object) -> object:
        return self._run(*args)

    def __str__(self) -> str:
        return self._name

    __repr__ = __str__


def _with_grad(enabled: bool, wrapped_func: Callable[..., object], *args: object) -> object:
    with set_grad_enabled(enabled):
        return wrapped_func(*args)


def _with_autocast(
    device_type: str, dtype: Dtype | None, enabled: bool, cache_enabled: bool | None, wrapped_func: Callable[..., object],
    *args: object,
) -> object:  # fmt: skip
    with autocast(device_type, dtype, enabled, cache_enabled):
        return wrapped_func(*args)


wrap_with_set_grad_enabled = _Wrap("wrap_with_set_grad_enabled", _with_grad)
wrap_with_autocast = _Wrap("wrap_with_autocast", _with_autocast)


def with_regions(
    graph: Graph, inputs: Sequence[Node], switches: dict[Node, Switches], around: Switches
) -> tuple[Graph, dict[str, GraphModule]]:
    """The graph in which neighbours that were called under the same other switches are one node, which runs a graph of theirs.

    Args:
        inputs: the inputs of the graph in their order.
        switches: those of each operator; what is not in it belongs to what is around it.
        around: the switches under which the graph runs.

    Returns:
        The graph, and the modules of its regions by the names by which its nodes take them.
    """
    result, modules = Graph(), {}
    new = {node: result.node_copy(node) for node in inputs}
    for region, nodes in _runs([node for node in graph.nodes if node not in new], switches, around):
        if region is None:
            for node in nodes:
                new[node] = result.node_copy(node, lambda used: new[used])
        else:
            _enter_region(result, nodes, region, new, modules)
    return result, modules


def _runs(
    nodes: Sequence[Node], switches: dict[Node, Switches], around: Switches
) -> Iterator[tuple[list[Switch] | None, list[Node]]]:
    """Neighbours with the same switches, with what these change; None for what is around."""

    def key(node: Node) -> Switches:
        return switches.get(node, around)

    for own, group in groupby(nodes, key):
        yield own.differences(around) or None, list(group)


def _enter_region(
    graph: Graph, nodes: list[Node], region: list[Switch], new: dict[Node, Node],
    modules: dict[str, GraphModule],
) -> None:  # fmt: skip
    inside = set(nodes)
    taken = list(dict.fromkeys(used for node in nodes for used in node.all_input_nodes if used not in inside))
    given = [node for node in nodes if any(user not in inside for user in node.users)]
    names = [used.name for used in taken]
    body, own = Graph(), {}
    for used in taken:
        own[used] = body.placeholder(used.name)
    for node in nodes:
        own[node] = body.node_copy(node, lambda used: own[used])
    body.output(tuple(own[node] for node in given))
    module = GraphModule({}, body)
    for wrap, setting in reversed(region[1:]):  # each switch around the next
        outer = Graph()
        places = [outer.placeholder(name) for name in names]
        call = outer.call_function(wrap, (*setting, outer.get_attr("submod_1"), *places))
        results = [outer.call_function(operator.getitem, (call, number)) for number in range(len(given))]
        outer.output(tuple(results))
        module = GraphModule({"submod_1": module}, outer)
    name = f"submod_{len(modules) + 1}"
    modules[name] = module
    wrap, setting = region[0]
    attribute = graph.create_node("get_attr", name, (), {}, name=name)
    call = graph.call_function(wrap, (*setting, attribute, *[new[used] for used in taken]))
    for number, node in enumerate(given):
        new[node] = graph.create_node("call_function", operator.getitem, (call, number), {}, name=node.name)
        new[node].meta = dict(node.meta)
