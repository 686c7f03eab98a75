"""Tensors that cross the border of a ``vmap``: into it, out of it, and between what its examples share and what each has of its own.

The four functions are linear, and each pair is the other's derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .._core import vmapped
from .._core.modes import carries, modes
from .._core.node import Node, node_class
from .._core.tensor import Tensor, from_value
from .._core.vmapped import Level
from ..engine.value import Value

__all__ = ["drop", "enter", "leave", "same_for_all"]


class Crossing:
    """The rule of a node for one of the functions, at some levels. ``back``: computes its derivative."""

    saved, used_once = (), False

    def __init__(
        self, name: str, levels: object, there: Callable[[Value, Any], Value], back: Callable[..., Any]
    ) -> None:
        self.name, self.levels, self.there, self.back = name, levels, there, back
        self.node_class = node_class(name)

    def step(self, node: Node, cotangents: dict[int, Any], create: bool) -> list[Any]:
        """The gradient: a value, or with ``create`` a tensor that has a history."""
        if not cotangents:
            return [None]
        gradient = self.back(cotangents[0] if create else from_value(cotangents[0]), self.levels)
        return [gradient if create else gradient._value()]

    def push(self, node: Node, tangents: Sequence[Tensor | None]) -> dict[int, Tensor]:
        """The change of the result with that of the tensor."""
        (tangent,) = tangents
        assert tangent is not None
        return {0: _cross(self.name, tangent, self.levels, self.there, self.back)}


def _cross(
    name: str, tensor: Tensor, levels: object, there: Callable[[Value, Any], Value], back: Callable[..., Any]
) -> Tensor:
    value = tensor._value()
    crossed = there(value, levels)
    if crossed is value:
        return tensor
    result = from_value(crossed)
    if carries(tensor):
        modes.level.put(result, _cross(name, modes.level.tangent(tensor), levels, there, back))
    if tensor._tracked:  # within ``no_grad`` too: PyTorch has no operation here
        rule: Any = Crossing(name, levels, there, back)
        result._set_history(rule.node_class.create(rule, (tensor._edge(),), (), (), (crossed.aval,)))
    return result


def enter(tensor: Tensor, level: Level) -> Tensor:
    """One example of a tensor, whose first dimension counts the examples."""
    return _cross("IntoVmapBackward", tensor, level, vmapped.enter, leave)


def leave(tensor: Tensor, level: Level) -> Tensor:
    """All examples of a tensor, along a new first dimension."""
    return _cross("OutOfVmapBackward", tensor, level, vmapped.leave, enter)


def same_for_all(tensor: Tensor, levels: Iterable[Level]) -> Tensor:
    """The tensor as one that each example has of its own."""
    missing = tuple(level for level in levels if level not in vmapped.levels_of(tensor._aval))
    return _cross("ExpandBackward0", tensor, missing, vmapped.same_for_all, drop) if missing else tensor


def drop(tensor: Tensor, levels: Iterable[Level]) -> Tensor:
    """The sum over the examples at these levels."""
    return _cross("SumBackward1", tensor, tuple(levels), vmapped.drop, same_for_all)
