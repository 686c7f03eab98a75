"""Tracing for a file: operations are then traced for no machine, and use nothing that only this process has."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .aval import Aval, Placement, TracedAval

__all__ = ["aval_for", "portable"]

# No device of JAX: what would be written so for a processor's sake is not written so for this one. Kernels are kept by placement, so
# those of a file are others than those that run.
PORTABLE = Placement("portable", 0)


class _Tracing(threading.local):
    portable = False


_tracing = _Tracing()


@contextmanager
def portable() -> Iterator[None]:
    """Within it, what this thread traces by JAX is traced for a file."""
    before, _tracing.portable = _tracing.portable, True
    try:
        yield
    finally:
        _tracing.portable = before


def aval_for(aval: Aval | TracedAval) -> Aval:
    """The aval under which an operation on tracers finds its kernel."""
    if _tracing.portable:
        return Aval(aval.shape, aval.dtype, PORTABLE)
    return aval.plain()
