"""torch.fx.experimental.optimization: modules made quicker for evaluation, with the same results."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from ... import nn
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from .._symbolic_trace import symbolic_trace
from ..graph_module import GraphModule
from ..node import Node

__all__ = ["fuse", "matches_module_pattern", "remove_dropout", "replace_node_module"]

_PATTERNS: tuple[tuple[type, type], ...] = (
    (nn.Conv1d, nn.BatchNorm1d),
    (nn.Conv2d, nn.BatchNorm2d),
    (nn.Conv3d, nn.BatchNorm3d),
    (nn.Linear, nn.BatchNorm1d),
)


def matches_module_pattern(pattern: Iterable[type], node: Node, modules: dict[str, Any]) -> bool:
    """Whether a node calls a module of the last class of the pattern, on the result of one of the class before it."""
    if not node.args:
        return False
    nodes = (node.args[0], node)
    for expected, current in zip(pattern, nodes, strict=True):
        if not isinstance(current, Node) or current.op != "call_module" or not isinstance(current.target, str):
            return False
        if type(modules.get(current.target)) is not expected:
            return False
    return True


def replace_node_module(node: Node, modules: dict[str, Any], new_module: nn.Module) -> None:
    """Replaces the module that a node calls."""
    assert isinstance(node.target, str)
    parent, _, name = node.target.rpartition(".")
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: nn.Module, inplace: bool = False, no_trace: bool = False) -> nn.Module:
    """A module in which batch norms are part of the convolution, or linear layer, before them.

    Args:
        model: in evaluation mode.
        inplace: change the module itself; else a copy.
        no_trace: it is a ``GraphModule`` already.

    Raises:
        AssertionError: a layer is in training mode.

    >>> model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU()).eval()
    >>> [type(layer).__name__ for layer in torch.fx.experimental.optimization.fuse(model).children()]
    ['Conv2d', 'ReLU']
    """
    traced = model if inplace else copy.deepcopy(model)
    if not no_trace or not isinstance(traced, GraphModule):
        traced = symbolic_trace(traced)
    modules: dict[str, Any] = dict(traced.named_modules())
    for pattern in _PATTERNS:
        for node in list(traced.graph.nodes):
            if not matches_module_pattern(pattern, node, modules):
                continue
            before: Node = node.args[0]
            norm, layer = modules[str(node.target)], modules[str(before.target)]
            # Another reader needs the layer's own result; without running statistics there is nothing to fold in.
            if len(before.users) > 1 or not norm.track_running_stats:
                continue
            fused = fuse_linear_bn_eval(layer, norm) if pattern[0] is nn.Linear else fuse_conv_bn_eval(layer, norm)
            replace_node_module(before, modules, fused)
            node.replace_all_uses_with(before)
            traced.graph.erase_node(node)
    return GraphModule(traced, traced.graph)


def remove_dropout(model: nn.Module) -> nn.Module:
    """A module without its dropout layers.

    >>> model = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Dropout())
    >>> [type(layer).__name__ for layer in torch.fx.experimental.optimization.remove_dropout(model).children()]
    ['Linear']
    """
    traced = symbolic_trace(model)
    modules = dict(traced.named_modules())
    for node in list(traced.graph.nodes):
        if node.op == "call_module" and isinstance(modules[node.target], nn.Dropout):
            node.replace_all_uses_with(node.args[0])
            traced.graph.erase_node(node)
    return GraphModule(traced, traced.graph)
