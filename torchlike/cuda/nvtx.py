"""torch.cuda.nvtx: marks that show in NVIDIA's profilers. JAX writes them as annotations of its own traces as well."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from .._core.devices import devices_of

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


class _Open(threading.local):
    def __init__(self) -> None:
        self.pushed: list[Any] = []
        self.started: dict[int, Any] = {}


_open = _Open()


def _annotation(msg: str) -> Any:
    if not devices_of("cuda"):
        raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
    import jax

    annotation = jax.profiler.TraceAnnotation(msg)
    annotation.__enter__()
    return annotation


def range_push(msg: str) -> int:
    """Begins a range within the one begun last. Returns how many were open before.

    Raises:
        RuntimeError: there is no GPU.
    """
    _open.pushed.append(_annotation(msg))
    return len(_open.pushed) - 1


def range_pop() -> int:
    """Ends the range begun last. Returns how many are open still."""
    if not devices_of("cuda"):
        raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
    if _open.pushed:
        _open.pushed.pop().__exit__(None, None, None)
    return len(_open.pushed)


def range_start(msg: str) -> int:
    """Begins a range that ``range_end`` ends by its number, whatever began meanwhile."""
    annotation = _annotation(msg)
    number = id(annotation)
    _open.started[number] = annotation
    return number


def range_end(range_id: int) -> None:
    """Ends a range that ``range_start`` began."""
    annotation = _open.started.pop(range_id, None)
    if annotation is not None:
        annotation.__exit__(None, None, None)


def mark(msg: str) -> None:
    """Marks a moment."""
    _annotation(msg).__exit__(None, None, None)


@contextlib.contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """A range for what is done within it; ``msg`` is a format for the arguments."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
