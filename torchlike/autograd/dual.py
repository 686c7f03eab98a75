"""Tangents: a level of forward-mode derivatives, the tangents of its dual tensors, and how operations and writes carry them on.

Each operation on duals computes the tangents of its results at once, as PyTorch does, by the pushforward of its kernel. So a tangent is a
tensor like any other: a view's tangent is a view of the tangent, a write in place writes into it, and it has a history of its own.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .. import ops
from .._core.dtypes import from_numpy_dtype
from .._core.fields import requires_grad_flag, steps_of, view_record
from .._core.modes import modes
from .._core.node import Node
from .._core.tensor import Tensor, from_value
from .._core.views import ViewStep
from .._core.vmapped import levels_of
from ..dispatch.apply import Dispatcher, apply, link
from ..dispatch.lowering import Lowered
from ..dispatch.pullback import MissingRule, Rule, no_tangent, rule_for, rules_of_gradients
from ..engine.recorder import recorder
from ..engine.value import Value
from .crossings import same_for_all
from .grad_mode import without_tangents

__all__ = ["DualLevel", "push_through"]


class DualLevel:
    """The tangents of one level. Tensors and nodes that nobody else refers to are not kept alive."""

    def __init__(self) -> None:
        # By the id of a tensor: a reference to it, and its tangent. None: it has none, although its base may.
        self._tangents: dict[int, tuple[weakref.ref[Tensor], Tensor | None]] = {}
        # Of the inputs that a node has saved, by their numbers: the tangents that they had.
        self._saved: weakref.WeakKeyDictionary[Node, dict[int, Tensor]] = weakref.WeakKeyDictionary()

    def tangent(self, tensor: Tensor) -> Tensor | None:
        """The tangent of a tensor. That of a view is the same view of its base's tangent."""
        entry = self._tangents.get(id(tensor))
        if entry is not None:
            return entry[1]
        view = view_record(tensor)
        if view is None or view.base is None or id(view.base) not in self._tangents:
            return None
        tangent = self.tangent(view.base)
        if tangent is not None:
            self._show(tensor, view.base, tangent)
        return self._tangents[id(tensor)][1] if tangent is not None else None

    def put(self, tensor: Tensor, tangent: Tensor | None, alone: bool = False) -> None:
        """Gives a tensor its tangent. ``alone``: it may be None, and not the one of the tensor's base."""
        if tangent is not None or alone:
            key, tangents = id(tensor), self._tangents
            tangents[key] = weakref.ref(tensor, lambda _: tangents.pop(key, None)), tangent

    def drop(self, tensor: Tensor) -> None:
        """Takes the tangent of a tensor away."""
        self.put(tensor, None, alone=True)

    def __bool__(self) -> bool:
        """Whether there are any tangents."""
        return bool(self._tangents)

    def _show(self, view: Tensor, base: Tensor, tangent: Tensor) -> None:
        """Gives a view the same view of its base's tangent."""
        record = view_record(view)
        assert record is not None
        with without_tangents():
            for step in record.steps[len(steps_of(base)) :]:
                tangent = _taken(step, tangent)
        self.put(view, tangent)

    # ---- operations

    def carry(
        self,
        kernel: Lowered,
        tensors: Sequence[Tensor],
        values: Sequence[Value],
        results: Sequence[Tensor],
        rules: Callable[[Lowered, int], Sequence[Any]] = lambda kernel, mask: [rule_for(kernel, mask)],
    ) -> None:
        """Gives the results of a recorded operation their tangents.

        Args:
            rules: the derivatives of a kernel with respect to some of its inputs, given as a bit mask.
        """
        tangents = [self.tangent(tensor) for tensor in tensors]
        mask = sum(1 << i for i, tangent in enumerate(tangents) if tangent is not None)
        for rule in rules(kernel, mask) if mask else ():
            if isinstance(rule, MissingRule):
                raise no_tangent(rule.missing)
            if rule is not None:
                # A number that became an input of the program comes after the tensors.
                saved = [tensors[i] if i < len(tensors) else from_value(values[i]) for i in rule.saved]
                arriving = [tangents[i] for i in rule.grad_inputs]
                with without_tangents():
                    for number, change in push_through(rule, saved, arriving).items():
                        self.put(results[number], change)

    def carry_views(
        self, dispatcher: Dispatcher, args: tuple[object, ...], kernel: Lowered, results: Sequence[Tensor]
    ) -> None:
        """Gives views the same views of the tangent."""
        tangent = self.tangent(args[0])  # pyright: ignore[reportArgumentType]
        if tangent is None or rule_for(kernel, 1) is None:
            return
        with without_tangents():
            views = apply(dispatcher, (tangent, *args[1:]))
        for result, view in zip(results, [views] if isinstance(views, Tensor) else views, strict=True):
            self.put(result, view)

    def written(self, tensor: Tensor, result: Tensor, keeps: bool) -> None:
        """Writes the tangent of what is written in place into that of the tensor. ``keeps``: a result without one leaves it as it is."""
        new, own = self.tangent(result), self.tangent(tensor)
        if new is None and (own is None or keeps):
            return
        with without_tangents():
            if own is None:
                own = self._begin(tensor, new)
                if own is new:
                    return
            if new is None:
                own.zero_()  # pyright: ignore[reportAttributeAccessIssue]
            elif own is not new:
                own.copy_(new)  # pyright: ignore[reportAttributeAccessIssue]

    def _begin(self, tensor: Tensor, tangent: Any) -> Tensor:
        """The tangent of a tensor that had none: the given one, or of a view a part of one that its base gets."""
        view = view_record(tensor)
        if view is None or view.base is None or id(tensor) in self._tangents:
            self.put(tensor, tangent)
            return tangent
        base: Tensor = view.base
        zeros = ops.zeros_like(base.detach())  # pyright: ignore[reportAttributeAccessIssue]
        self.put(base, same_for_all(zeros, levels_of(tangent._aval)))
        own = self.tangent(tensor)
        assert own is not None
        return own

    # ---- backward passes

    def keep_saved(self, node: Node, rule: Any, tensors: Sequence[Tensor]) -> None:
        """Keeps the tangents of what a node has saved, as they are now: a later write to the tensor changes its tangent too."""
        saved = {i: self.tangent(tensors[i]) for i in rule.saved if i < len(tensors)}
        kept = {i: _now(tangent) for i, tangent in saved.items() if tangent is not None}
        if kept:
            self._saved[node] = kept

    def restore_saved(self, node: Node, numbers: Sequence[int], tensors: Sequence[Tensor]) -> None:
        """Gives the tensors that a node has saved, of these numbers, their tangents again."""
        kept = self._saved.get(node)
        if kept:
            for number, tensor in zip(numbers, tensors, strict=True):
                self.put(tensor, kept.get(number))


def _now(tensor: Tensor) -> Tensor:
    """A tensor with the value and history that this one has now."""
    same = from_value(tensor._value())
    if tensor._tracked:
        same._set_history(*tensor._edge())
    return same


def _taken(step: ViewStep, tensor: Tensor) -> Tensor:
    """One step of a view, of another tensor."""
    args = (tensor, *step.args[1:])
    if step.starts:
        args = (*args[:-1], from_value(step.starts[0]))
    shown = apply(step.op, args)
    return shown if isinstance(shown, Tensor) else shown[step.number]


def push_through(rule: Rule, saved: Sequence[Tensor], tangents: Sequence[Tensor | None]) -> dict[int, Tensor]:
    """Records the pushforward of a kernel: the changes of its outputs, by their numbers.

    Args:
        saved: the inputs that the rule saves.
        tangents: of the inputs that it differentiates; None for one that does not change.
    """
    arrived = tuple(number for number, tangent in enumerate(tangents) if tangent is not None)
    avals = [rule.kernel.in_avals[i] for i in rule.grad_inputs]
    arriving: list[Any] = [
        tangent if tangent._aval.dtype == aval.dtype else tangent.to(from_numpy_dtype(aval.dtype))
        for tangent, aval in zip(tangents, avals, strict=True)
        if tangent is not None
    ]
    tensors = [*saved, *arriving]
    values = [tensor._value() for tensor in tensors]
    kernel, outs = recorder().record(rule.pushforward(arrived), (), values, ())
    results = [from_value(value) for value in outs]
    mask = sum(1 << i for i, tensor in enumerate(tensors) if requires_grad_flag(tensor))
    if mask and modes.grad_enabled:
        for second in rules_of_gradients(kernel, mask):
            node = link(second, kernel, values, tensors, None)
            for number in second.outputs:
                results[number]._set_history(node, number)
    return dict(zip(rule.outputs, results, strict=True))
