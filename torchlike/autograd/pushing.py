"""Derivatives forwards, along a graph that has been recorded: from the changes of some tensors to those of what was computed from them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._core.fields import node_of, output_number_of
from .._core.modes import modes
from .._core.node import SECOND_BACKWARD, Edge, Node
from .._core.tensor import Tensor, from_value
from ..dispatch.pullback import ForwardOnly, Rule
from ..engine.aval import Aval
from ..engine.value import Value
from .custom_jvp import call_jvp
from .dual import push_through
from .engine import _below, _saved_tensor, grad
from .function import Function, FunctionNode
from .grad_mode import no_grad, recording

__all__ = ["push"]


def push(outputs: Sequence[Tensor], changes: Mapping[Edge, Tensor]) -> list[Tensor | None]:
    """The changes of the outputs; None for an output that depends on nothing that changes.

    Args:
        changes: of what the edges lead to. They are recorded, and so are those of the outputs.
    """
    ends = [(node_of(out), output_number_of(out)) if out._tracked else None for out in outputs]
    known = dict(changes)
    nodes = _below([end[0] for end in ends if end is not None and end[0] is not None])
    for node in sorted(nodes, key=lambda node: node.sequence):
        if (node, 0) in changes:
            continue
        arriving = [None if edge is None else known.get(edge) for edge in node.edges]
        if any(tangent is not None for tangent in arriving):
            for number, tangent in _step(node, node.rule, arriving).items():
                known[node, number] = tangent
    return [None if end is None else known.get(end) for end in ends]  # pyright: ignore[reportArgumentType]


def _step(node: Node, rule: Any, tangents: list[Tensor | None]) -> Mapping[int, Tensor]:
    """The changes of a node's outputs, by their numbers."""
    if isinstance(rule, ForwardOnly):
        with no_grad():  # another derivative that goes forwards is not switched off
            return _step(node, rule.rule, tangents)
    if isinstance(rule, Rule):
        return _push(node, rule, tangents)
    if isinstance(node, FunctionNode) and rule.function.jvp is not Function.jvp:
        return _by_the_user(node, rule, tangents)
    push = getattr(rule, "push", None)
    if push is not None:
        return push(node, tangents)
    if isinstance(node, FunctionNode) and not rule.function.__module__.startswith(_PACKAGE):
        Function.jvp()  # raises
    return _transposed(node, rule, tangents)


_PACKAGE = __name__.partition(".")[0] + "."


def _push(node: Node, rule: Rule, tangents: list[Tensor | None]) -> Mapping[int, Tensor]:
    """Records the node's pushforward."""
    if node.saved is None:
        raise RuntimeError(SECOND_BACKWARD)
    saved = node.saved if node.unpack is None else node.unpack(node.saved)
    tensors = [_saved_tensor(node, rule, i, value) for i, value in zip(rule.saved, saved, strict=True)]
    return push_through(rule, tensors, tangents)


def _by_the_user(node: FunctionNode, rule: Any, tangents: list[Tensor | None]) -> Mapping[int, Tensor]:
    """Calls the user's ``jvp``."""
    hidden = node.hidden_from is not None and node.hidden_from.asks
    with no_grad() if hidden else contextlib.nullcontext():
        results = call_jvp(node, rule.function.jvp, tangents)
    changes = {}
    for number, (change, aval) in enumerate(zip(results, node.avals, strict=True)):
        if change is None:
            continue
        if not isinstance(change, Tensor):
            raise TypeError(f"expected Tensor or None (got {type(change).__name__})")
        if aval is not None and change._aval.shape != aval.shape:
            raise RuntimeError(
                f"Function's jvp returned an invalid forward gradient at index {number} - got {list(change.shape)} but expected shape "
                f"compatible with {list(aval.shape)}"
            )
        changes[number] = change
    return changes


def _transposed(node: Node, rule: Any, tangents: list[Tensor | None]) -> Mapping[int, Tensor]:
    """By the node's own backward: it is linear in the cotangents, and its derivative with respect to them is the change forwards."""
    create = modes.grad_enabled
    with recording(True):
        cotangents = {
            number: _zeros(aval)._require_grad()
            for number, aval in enumerate(node.avals)
            if aval is not None and aval.dtype.kind in "fcV"
        }
        gradients = rule.step(node, dict(cotangents), True)
        pairs = [
            (gradient, tangent)
            for gradient, tangent in zip(gradients, tangents, strict=True)
            if gradient is not None and tangent is not None and gradient.requires_grad
        ]
        if not pairs:
            return {}
        roots, seeds = zip(*pairs, strict=True)
        changes = grad(roots, tuple(cotangents.values()), seeds, create_graph=create, allow_unused=True)
    return {number: change for number, change in zip(cotangents, changes, strict=True) if change is not None}


def _zeros(aval: Aval) -> Tensor:
    return from_value(Value.on_host(np.zeros(aval.shape, aval.dtype), aval.placement))
