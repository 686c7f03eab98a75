"""A type for a value while a function is traced."""

from __future__ import annotations

from typing import TypeVar

from .proxy import Proxy

__all__ = ["annotate"]

T = TypeVar("T")


def annotate(val: T, type: object) -> T:
    """Gives the node behind a value a type, which the generated code then shows; a value that is no proxy is returned as it is.

    Raises:
        RuntimeError: the node has a type.
    """
    if not isinstance(val, Proxy):
        return val
    if val.node.type is not None:
        raise RuntimeError(
            f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type} and new type is {type}. This "
            "could happen if you tried to annotate a function parameter value (in which case you should use the type slot on the function "
            "signature) or you called annotate on the same value twice"
        )
    val.node.type = type
    return val
