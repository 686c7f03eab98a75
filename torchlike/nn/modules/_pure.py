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
    cls, own = module.__class__, module.__dict__
    pure = cls._pure
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
    key.append(cls)
    key += map(own.get, pure.reads)
    for table in own["_parameters"], own["_buffers"]:
        if table:
            for name, tensor in table.items():
                if tensor is None:
                    key.append(name)
                else:
                    tensors.append(tensor)
    children = own["_modules"]
    if children:
        key.append(len(children))
        for child in children.values():
            if child is None or not describe(child, key, tensors):
                return False
    return True
