"""Derivatives forwards, along a graph that has been recorded: from the changes of some tensors to those of what was computed from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._core.fields import node_of, output_number_of, requires_grad_flag
from .._core.modes import modes
from .._core.node import SECOND_BACKWARD, Edge, Node
from .._core.tensor import Tensor, from_value
from ..dispatch.apply import link
from ..dispatch.pullback import ForwardOnly, Rule, rules_of_gradients
from ..engine.aval import Aval
from ..engine.recorder import recorder
from ..engine.value import Value
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
    arrived = tuple(number for number, tangent in enumerate(tangents) if tangent is not None)
    tensors = [_saved_tensor(node, rule, i, value) for i, value in zip(rule.saved, saved, strict=True)]
    tensors += [tangent for tangent in tangents if tangent is not None]
    values = [tensor._value() for tensor in tensors]
    kernel, outs = recorder().record(rule.pushforward(arrived), (), values, ())
    results = [from_value(value) for value in outs]
    mask = sum(1 << i for i, tensor in enumerate(tensors) if requires_grad_flag(tensor))
    if mask and modes.grad_enabled:
        for second in rules_of_gradients(kernel, mask):
            second_node = link(second, kernel, values, tensors, None)
            for number in second.outputs:
                results[number]._set_history(second_node, number)
    return dict(zip(rule.outputs, results, strict=True))


def _by_the_user(node: FunctionNode, rule: Any, tangents: list[Tensor | None]) -> Mapping[int, Tensor]:
    """Calls the user's ``jvp``."""
    arriving, given = iter(tangents), []
    for is_tensor, aval in zip(node.is_tensor, node.input_avals, strict=True):
        tangent = next(arriving) if is_tensor else None
        if tangent is None and is_tensor and node.materialize_grads and aval is not None and aval.dtype.kind in "fcV":
            tangent = _zeros(aval)
        given.append(tangent)
    node.in_jvp = True
    try:
        result = rule.function.jvp(node, *given)
    finally:
        node.in_jvp = False
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(node.avals):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(node.avals)} but got {len(results)})"
        )
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
            number: _zeros(aval).requires_grad_()
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
