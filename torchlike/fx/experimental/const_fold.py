"""Constant folding: what a graph computes from attributes alone is computed once, and kept as an attribute."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..._core.tensor import Tensor
from ...nn import Module, Parameter, ParameterList
from ...ops import tensor
from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import Node

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


class FoldedGraphModule(GraphModule):
    """A graph, and another one of its constants, which runs before the first call.

    Attributes:
        const_subgraph_module: computes the constants; None if there are none.
        fx_const_folded_attrs_name: the attribute in which they are kept: one parameter, or a list of them.
    """

    def __init__(
        self,
        root: Module,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cuda",
    ) -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: object, **kwargs: object) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Computes the constants."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("run_folding has already been called")
        self.has_folding_been_run = True
        found: Any = self.const_subgraph_module()
        several = isinstance(found, tuple)
        kept = [self._kept(each) for each in (found if several else (found,))]
        setattr(self, self.fx_const_folded_attrs_name, ParameterList(kept) if several else kept[0])

    def _kept(self, value: Any) -> Parameter:
        if isinstance(value, Tensor):
            return Parameter(value.detach().clone(), value.requires_grad)  # pyright: ignore[reportAttributeAccessIssue]
        return Parameter(tensor([value], device=self.device_for_folded_attrs), False)  # pyright: ignore[reportArgumentType]


def get_unique_attr_name_in_module(mod_traced: Module, name: str) -> str:
    """The name, with a number behind it if the module has an attribute of this name."""
    number, unique = 0, name
    while hasattr(mod_traced, unique):
        number, unique = number + 1, f"{name}_{number + 1}"
    return unique


def split_const_subgraphs(
    module: Module | GraphModule,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
) -> FoldedGraphModule:
    """The module with what depends on its attributes alone computed once, before the first call.

    Args:
        skip_folding_node_fn: of a node, whether it is computed in each call nevertheless.
        device_for_folded_attrs: where constants that are no tensors are kept.
    """
    traced: Any = module if isinstance(module, GraphModule) else symbolic_trace(module)
    constant = _constant_nodes(traced.graph, skip_folding_node_fn)
    ends = [
        node for node in traced.graph.nodes
        if node in constant and node.op != "get_attr" and any(user not in constant for user in node.users)
    ]  # fmt: skip
    if not ends:
        return FoldedGraphModule(traced, traced.graph)
    name = get_unique_attr_name_in_module(traced, "_FX_CONST_FOLDED_ATTRS")
    needed, more = set(ends), list(ends)
    while more:
        inputs = more.pop().all_input_nodes
        more += [node for node in inputs if node not in needed]
        needed.update(inputs)
    folded, copies = Graph(), {}
    for node in traced.graph.nodes:
        if node in needed:
            copies[node] = folded.node_copy(node, copies.__getitem__)
    results = [copies[node] for node in ends]
    folded.output(tuple(results) if len(results) > 1 else results[0])

    graph, copies, kept = Graph(tracer_cls=getattr(traced.graph, "_tracer_cls", None)), {}, None
    for node in traced.graph.nodes:
        if node in ends:
            kept = kept or graph.get_attr(name)
            several = len(ends) > 1
            copies[node] = graph.call_function(operator.getitem, (kept, ends.index(node))) if several else kept
            copies[node].meta = dict(node.meta)
        elif node not in constant or (node.op == "get_attr" and any(user not in constant for user in node.users)):
            copies[node] = graph.node_copy(node, copies.__getitem__)
    empty = [Parameter(tensor(0.0)) for _ in ends]
    setattr(traced, name, empty[0] if len(ends) == 1 else ParameterList(empty))  # until they are computed
    try:
        return FoldedGraphModule(traced, graph, folded, name, device_for_folded_attrs)
    finally:
        delattr(traced, name)


def _constant_nodes(graph: Graph, skip: Callable[[Node], bool] | None) -> set[Node]:
    """The nodes that depend on attributes and numbers alone, and do nothing but compute."""
    constant: set[Node] = set()
    for node in graph.nodes:
        if node.op in ("placeholder", "output") or not constant.issuperset(node.all_input_nodes):
            continue
        if not (skip is not None and skip(node)) and not node.is_impure():
            constant.add(node)
    return constant
