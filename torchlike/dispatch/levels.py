"""Writes in place within derivatives of ``torch.func``: what may be written to, and what ``no_grad`` hides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core.fields import requires_grad_flag
from .._core.modes import modes
from .._core.node import AccumulateGrad, ForwardLeaf, LevelLeaf, Node
from .._core.tensor import Tensor, alias

__all__ = ["KeptHistory", "check_argument", "is_leaf", "note_write"]


def is_leaf(node: Node | None) -> bool:
    """Whether a tensor with this node is a leaf, as far as the function sees that is differentiated."""
    return node is None or node.__class__ is LevelLeaf


def check_argument(node: Node | None) -> None:
    """Checks a write to an argument of ``jvp``. What the argument is outside is written to as well.

    Raises:
        RuntimeError: that is a leaf.
    """
    if not isinstance(node, ForwardLeaf) or not node.edges or node.edges[0] is None:
        return
    outside = node.edges[0][0]
    if isinstance(outside, (AccumulateGrad, LevelLeaf)):
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")


def note_write(tensor: Tensor, result: Tensor, write: Callable[[], object], keeps_history: bool) -> bool:
    """Checks a write for the derivative in progress; or writes itself, where ``no_grad`` forbids to record it, and returns True."""
    if modes.forward_only and not any(d.reached_forwards(tensor, result) for d in modes.derivatives):
        modes.grad_enabled = modes.forward_only = False
        try:
            write()
        finally:
            modes.grad_enabled = modes.forward_only = True
        return True
    if modes.derivatives and requires_grad_flag(result):
        modes.derivatives[-1].refuse_captured(tensor)
    if modes.level is not None:
        modes.level.written(tensor, result, keeps_history)
    return False


class KeptHistory:
    """The rule of a tensor that was written to under ``no_grad`` within ``jvp``: its edges lead to what it was, and to what it is.

    The write is hidden from backward passes, which go on where the tensor came from.
    """

    name, saved, used_once = "CopySlices", (), False

    @classmethod
    def node(cls, before: Tensor, after: Tensor) -> Node:
        """The node of the tensor."""
        return Node.create(cls, (before._edge(), after._edge() if after._tracked else None), (), (), (after._aval,))

    @staticmethod
    def step(node: Node, cotangents: dict[int, Any], create: bool) -> list[Any]:
        """The gradient, for what the tensor was."""
        return [cotangents.get(0), None]

    @staticmethod
    def push(node: Node, tangents: Sequence[Tensor | None]) -> dict[int, Tensor]:
        """The change of what it is, which was written to in the same way."""
        before, after = tangents
        if after is None:
            return {}
        if before is not None and before._tracked and modes.grad_enabled:
            written, after = after, alias(after)
            after._set_history(KeptHistory.node(before, written))
        return {0: after}
