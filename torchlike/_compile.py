"""torch.compile: gives back what it is given, since the engine compiles whatever runs a second time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["compile"]


def compile(
    model: Callable[..., object] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., object] | None = None,
    mode: str | None = None,
    options: dict[str, object] | None = None,
    name: str | None = None,
    disable: bool = False,
) -> Any:
    """The function or module itself, or a decorator: steps are compiled whole without being told.

    Args:
        model: what to compile.
        fullgraph, dynamic, backend, mode, options, name, disable: how PyTorch would.

    Raises:
        RuntimeError: both a mode and options. NotImplementedError: a backend of your own.

    >>> torch.compile(torch.exp)(torch.zeros(1))
    tensor([1.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.compile.html
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if callable(backend):
        raise NotImplementedError("torchlike does not support torch.compile with a backend of your own: XLA compiles")
    return (lambda given: given) if model is None else model
