"""Layers whose ``forward`` is a function of what it is given and of what the layer holds: what they record once is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core.tensor import Tensor

__all__ = ["Pure", "describe", "training"]


class Pure:
    """What a class says of its ``forward``: that it reads these attributes, the layer's members and its arguments, and changes nothing.

    Args:
        reads: names of attributes.
        unless: tells of a module's attributes whether it does not hold for that module as it is now.
        several: whether ``forward`` records several ops, so that it is worth while to record them in one step.
    """

    __slots__ = ("reads", "always", "unless", "several", "forward", "file")

    forward: Any  # as it was when the class was made
    file: str

    def __init__(
        self, *reads: str, unless: Callable[[dict[str, Any]], Any] | None = None, several: bool = False
    ) -> None:
        self.reads, self.always, self.unless, self.several = reads, unless is None, unless, several

    @staticmethod
    def of(kind: Any) -> Pure | None:
        """What a new class says of itself, or what its base says where both stand in one file: elsewhere a subclass may do anything."""
        pure = kind.__dict__.get("_pure")
        if pure is not None:
            pure.forward, pure.file = kind.forward, kind.__module__
            return pure
        inherited = kind._pure
        if inherited is None or inherited.forward is not kind.forward or inherited.file != kind.__module__:
            return None
        return inherited


def training(own: dict[str, Any]) -> bool:
    """For layers that draw or write in training only."""
    return own["training"]


def describe(module: Any, key: list[Any], tensors: list[Tensor]) -> bool:
    """Adds to ``key`` all that decides what the call of a module records, and to ``tensors`` its members.

    Returns whether that is all: False where a class does not say what it reads, or where somebody hooked in.
    """
    add = key.append
    modules = [module]
    for each in modules:  # grows on the way
        cls, own = each.__class__, each.__dict__
        pure = getattr(cls, "_pure", None)
        if (
            pure is None
            or pure.forward is not cls.forward  # replaced for all instances, or
            or "forward" in own  # for one
            or own["_forward_hooks"]
            or own["_forward_pre_hooks"]
            or own["_backward_hooks"]
            or own["_backward_pre_hooks"]
            or not (pure.always or not pure.unless(own))
        ):
            return False
        add(cls)
        for name in pure.reads:
            add(own.get(name))
        for name, tensor in own["_parameters"].items():
            add(name) if tensor is None else tensors.append(tensor)
        if own["_buffers"]:
            for name, tensor in own["_buffers"].items():
                add(name) if tensor is None else tensors.append(tensor)
        children = own["_modules"]
        if children:
            add(len(children))
            modules += children.values()
    return True
