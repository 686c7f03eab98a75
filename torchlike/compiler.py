"""torch.compiler: what programs say about compiling. The engine compiles whatever runs a second time, so nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._compile import compile as compile

__all__ = [
    "allow_in_graph",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "reset",
]


def is_compiling() -> bool:
    """False: what runs is never being traced by ``torch.compile``.

    >>> torch.compiler.is_compiling()
    False
    """
    return False


def is_dynamo_compiling() -> bool:
    """False, as ``is_compiling``."""
    return False


def disable(fn: Callable[..., object] | None = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself, or a decorator. To run without the engine's compiling, use ``torch.op_by_op()``."""
    return (lambda given: given) if fn is None else fn


def allow_in_graph(fn: Callable[..., object]) -> Any:
    """The function itself."""
    return fn


def cudagraph_mark_step_begin() -> None:
    """Does nothing: steps are found without being marked."""


def reset() -> None:
    """Forgets the recorded paths and the programs compiled for them."""
    from .engine.recorder import forget

    forget()
