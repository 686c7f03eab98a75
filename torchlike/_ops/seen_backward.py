"""The backward pass where somebody sees its operators: the nodes of dispatched calls, their gradients, and what leaves accumulate."""

from __future__ import annotations

from typing import Any

from .._core.fields import grad_of, node_of, set_grad
from .._core.modes import DISPATCHED, hooks
from .._core.node import SECOND_BACKWARD, Node, check_versions, node_class
from .._core.tensor import Tensor, from_value
from ..dispatch.pullback import Rule
from ..engine.recorder import recorder
from . import OpOverload, OpOverloadPacket, operator as op
from .derivatives import SAVED_RESULTS, Call, gradients_as_one, gradients_of

__all__ = ["remember"]


class SeenRule:
    """The rule of a call whose tensors are of a subclass that computes: there is nothing that JAX could differentiate."""

    used_once = False
    saved = watched = ()

    def __init__(self, name: str) -> None:
        self.name = name
        self.node_class: type[Node] = node_class(name)

    def step(self, node: Any, cotangents: dict[int, Any], create: bool) -> list[Any]:
        return _step(node, cotangents, create)


_rules: dict[str, SeenRule] = {}


def remember(call: Call, results: list[Tensor], wrapped: bool) -> None:
    """Keeps a call at the node of its results, for the backward pass."""
    node: Any = next((node_of(result) for result in results if node_of(result) is not None), None)
    if node is None:
        return
    saved = SAVED_RESULTS.get(call.name, ())
    # A result whose own history begins here must not be kept by it. Formulas read those that PyTorch saves, and those without history.
    call.results = [
        op("detach")(result) if i in saved else result if node_of(result) is None else None
        for i, result in enumerate(results)
    ]
    if not wrapped:
        if node.rule.__class__ is Rule and {edge for edge in node.edges if edge is not None} == set(call.edges):
            node.seen_call = call
        return
    name = node.rule.name
    rule = _rules.get(name) or _rules.setdefault(name, SeenRule(name))
    own: Any = rule.node_class.create(rule, tuple(call.edges), (), (), tuple(result._aval for result in results))
    own.seen_call = call
    for number, result in enumerate(results):
        if node_of(result) is not None:
            result._set_history(own, number)


def _step(node: Any, cotangents: dict[int, Any], create: bool) -> list[Any]:
    """The gradients of a node, as tensors, by operators that are seen."""
    rule = node.rule
    if rule.__class__ is not Rule and rule.__class__ is not SeenRule:
        return rule.step(node, cotangents, True)
    if node.saved is None:
        raise RuntimeError(SECOND_BACKWARD)
    if create and rule.__class__ is not SeenRule:
        return hooks.pull(node, cotangents, True)
    if node.watched:
        check_versions(node)
    call: Any = getattr(node, "seen_call", None)
    if create:  # the formulas are recorded, and what they read has its history
        call = call.recorded_at(node)
    elif call is None:  # it ran while no handler was asked
        return _of_rule(node, cotangents, rule.kernel.op.name.removeprefix("_"))
    if not cotangents:  # none of its results has a gradient
        return [None] * len(node.edges)
    gradients = gradients_of(call, cotangents)
    if gradients is None and rule.__class__ is Rule:
        return _of_rule(node, cotangents, call.name)
    if gradients is None:
        gradients = gradients_as_one(call, cotangents)
    by_edge: dict[Any, Any] = {}
    for tensor, edge in {
        id(tensor): (tensor, edge) for tensor, edge in zip(call.tracked, call.edges, strict=True)
    }.values():
        gradient = gradients.get(id(tensor))
        if gradient is not None:
            by_edge[edge] = op("add", "Tensor")(by_edge[edge], gradient) if edge in by_edge else gradient
    # A tensor that was passed twice has two edges, which are equal; its gradient is the sum already, so the second gets nothing.
    return [by_edge.pop(edge, None) for edge in node.edges]


def _of_rule(node: Any, cotangents: dict[int, Any], name: str) -> list[Any]:
    """The gradients of a call by its own derivative, which is seen as one operator. ``name``: that of the operator of the call."""
    rule: Rule = node.rule
    saved = node.saved if node.unpack is None else node.unpack(node.saved)
    numbers = tuple(sorted(cotangents))
    if not numbers:
        return [None] * len(node.edges)
    if rule.kernel.op.name == "t":  # of the weight of a layer whose input alone is of a subclass
        return [op("t")(cotangents[0])]

    def backward(*tensors: Tensor) -> Any:
        outs = recorder().record(rule.pullback(numbers), (), [tensor._value() for tensor in tensors], ())[1]
        return tuple(map(from_value, outs))

    function = OpOverload(OpOverloadPacket(f"aten::{name}_backward", backward), backward, "default")
    return list(function(*map(from_value, saved), *[cotangents[number] for number in numbers]))


def _accumulate(leaf: Any, gradient: Tensor) -> None:
    """Adds a gradient to that of a leaf."""
    if grad_of(leaf) is not None:
        op("add_", "Tensor")(grad_of(leaf), gradient)
        return
    if type(gradient) in DISPATCHED or gradient.stride() == leaf.stride():
        gradient_copy = op("detach")(gradient)
    else:
        copy = op("new_empty_strided")(gradient, list(leaf.shape), list(leaf.stride()))
        gradient_copy = op("copy_")(copy, gradient)
    if type(gradient_copy) is Tensor:
        gradient_copy = from_value(gradient_copy._value())  # not a view, which would keep more than the gradient
    set_grad(leaf, gradient_copy)


hooks.step = _step
hooks.accumulate = _accumulate
