"""torch.backends.nnpack: a library of convolutions that is not used here. Its switch is stored and not read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["flags", "is_available", "set_flags"]

enabled = True


def is_available() -> bool:
    """False: XLA and oneDNN compute convolutions."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Stores the switch, and returns what it was."""
    global enabled
    before, enabled = enabled, _enabled
    return (before,)


@contextlib.contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """Within it, the switch is another."""
    before = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(*before)
