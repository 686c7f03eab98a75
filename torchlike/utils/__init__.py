"""Utilities for training: data loading, checkpointing of activations, handles of hooks."""

from . import (
    _pytree as _pytree,
    checkpoint as checkpoint,
    data as data,
    deterministic as deterministic,
    graph as graph,
    hooks as hooks,
)
from ._swap import swap_tensors as swap_tensors


def set_module(obj: object, mod: str) -> None:
    """Lets a class or function say that it is defined in a module.

    Raises:
        TypeError: the module's name is no text.
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod
