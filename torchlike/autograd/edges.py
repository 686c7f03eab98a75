"""Edges of the graph as programs name them, and the tensors that stand for them in a backward pass."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core.node import AccumulateGrad, Node
from .._core.tensor import Tensor, from_value
from ..engine.value import Value

__all__ = ["GradientEdge", "as_tensors", "has_edges"]


class GradientEdge(NamedTuple):
    """The target of a gradient: a node, and the number of its output in the forward pass.

    ``torch.autograd.grad`` and ``backward`` take it for a tensor, of which it keeps nothing else.
    """

    node: Node
    output_nr: int


def as_tensors(values: Any) -> tuple[Any, ...]:
    """One tensor or edge, or several, as a tuple of tensors."""
    if isinstance(values, (Tensor, GradientEdge)):
        values = (values,)
    return tuple([_stand_in(each) if isinstance(each, GradientEdge) else each for each in values])


def has_edges(values: object) -> bool:
    """Whether there is an edge among them."""
    return isinstance(values, GradientEdge) or (
        isinstance(values, (list, tuple)) and any(isinstance(each, GradientEdge) for each in values)
    )


def _stand_in(edge: GradientEdge) -> Tensor:
    """The leaf that an edge leads to, or a tensor of the same shape as the result, whose elements nobody reads."""
    node = edge.node
    if isinstance(node, AccumulateGrad):
        leaf: Any = node.variable
        if leaf is not None and leaf._edge()[0] is node:
            return leaf
        # Else the leaf is gone, or has left its graphs and has another node.
    aval = node.avals[edge.output_nr]
    if aval is None:
        raise RuntimeError(f"output {edge.output_nr} of {node.name()} is no tensor")
    tensor = from_value(Value.on_host(np.zeros(aval.shape, aval.dtype), aval.placement))
    tensor._set_history(node, edge.output_nr)
    return tensor
