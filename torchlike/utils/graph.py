"""A picture of the graph behind a tensor, as text for Graphviz."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._core.node import AccumulateGrad, Node
from .._core.tensor import Tensor

__all__ = ["dot"]

_COLOURS = {"leaf": "lightblue", "result": "darkolivegreen1", "node": "lightgrey"}


def dot(
    *tensors: Tensor,
    params: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]] = (),
    rankdir: str = "TB",
) -> str:
    """Returns the graph that ``backward`` would traverse from these tensors, in Graphviz's language.

    Boxes are the nodes (``AddmmBackward0``); light blue ones are leaves, with their names and shapes; green ones are the tensors given.
    Arrows point from the leaves to the results, as values flow in the forward pass.

    Args:
        tensors: results.
        params: names for leaves: ``model.named_parameters()``, or a dictionary.
        rankdir: the direction of the arrows: ``"TB"`` down, ``"LR"`` to the right, ...

    Raises:
        RuntimeError: a tensor does not require a gradient.

    Returns:
        Text for a file that ``dot -Tsvg`` draws, or for ``graphviz.Source``.

    >>> w = torch.ones(2, requires_grad=True)
    >>> print(torchlike.utils.graph.dot((w * 2).sum(), params={"w": w}))
    digraph {
      rankdir=TB
      node [shape=box, style=filled, fontname=monospace, fontsize=10]
      n0 [label="()", fillcolor=darkolivegreen1]
      n1 [label="SumBackward0", fillcolor=lightgrey]
      n2 [label="MulBackward0", fillcolor=lightgrey]
      n3 [label="w\\n(2,)", fillcolor=lightblue]
      n1 -> n0
      n2 -> n1
      n3 -> n2
    }
    """
    pairs = params.items() if isinstance(params, Mapping) else params
    names = {id(tensor): name for name, tensor in pairs}
    boxes, arrows = [], []
    numbers: dict[object, str] = {}

    def box(key: object, label: str, kind: str) -> str:
        number = numbers[key] = f"n{len(numbers)}"
        escaped = label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        boxes.append(f'  {number} [label="{escaped}", fillcolor={_COLOURS[kind]}]')
        return number

    def labelled(tensor: Any) -> str:
        name = names.get(id(tensor))
        shape = str(tuple(tensor.shape))
        return shape if name is None else f"{name}\n{shape}"

    def enter(node: Node) -> str:
        if node in numbers:
            return numbers[node]
        leaf = node.leaf() if isinstance(node, AccumulateGrad) else None
        number = box(node, node.label, "node") if leaf is None else box(node, labelled(leaf), "leaf")
        waiting.append(node)
        return number

    waiting: list[Node] = []
    for tensor in tensors:
        if not tensor.requires_grad:
            raise RuntimeError("dot(): a tensor has no graph: it does not require grad")
        result = box(id(tensor), labelled(tensor), "result")
        arrows.append(f"  {enter(tensor._edge()[0])} -> {result}")
    for node in waiting:  # the loop appends to it
        arrows += [f"  {enter(edge[0])} -> {numbers[node]}" for edge in node.edges if edge is not None]
    head = ["digraph {", f"  rankdir={rankdir}", "  node [shape=box, style=filled, fontname=monospace, fontsize=10]"]
    return "\n".join([*head, *boxes, *arrows, "}"])
