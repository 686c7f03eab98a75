"""Layers whose ``forward`` is a function of what it is given and of what the layer holds: what they record once is known."""

from __future__ import annotations

from typing import Any

from ..._core.tensor import Tensor

__all__ = ["Pure", "describe"]


class Pure:
    """What a class says of its ``forward``: that it reads these attributes, the layer's members and its arguments, and changes nothing.

    Args:
        reads: names of attributes.
        in_training: whether that holds in training too.
        several: whether ``forward`` records several ops, so that it is worth while to record them in one step.
    """

    __slots__ = ("reads", "in_training", "several", "forward")

    forward: Any  # as it was when the class was made

    def __init__(self, *reads: str, in_training: bool = True, several: bool = False) -> None:
        self.reads, self.in_training, self.several = reads, in_training, several

    def of(self, forward: Any) -> Pure:
        self.forward = forward
        return self


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
            or not (pure.in_training or not own["training"])
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
