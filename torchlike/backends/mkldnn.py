"""torch.backends.mkldnn: oneDNN, which computes convolutions and LSTMs on the CPU where ``torchlike[onednn]`` is installed.

Its switches are stored, and choose no other way of computing: whether oneDNN takes part is decided by what is installed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..engine import onednn

__all__ = ["flags", "is_available", "set_flags"]

enabled = True
deterministic = False
allow_tf32: bool | None = None
fp32_precision = "none"


def is_available() -> bool:
    """Whether oneDNN's library is installed and can be loaded."""
    return onednn.available()


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
) -> tuple[bool, bool, bool | None, str]:
    """Stores the switches, of which None keeps the one there is, and returns what they were."""
    global enabled, deterministic, allow_tf32, fp32_precision
    before = enabled, deterministic, allow_tf32, fp32_precision
    enabled = enabled if _enabled is None else _enabled
    deterministic = deterministic if _deterministic is None else _deterministic
    allow_tf32 = allow_tf32 if _allow_tf32 is None else _allow_tf32
    fp32_precision = _fp32_precision
    return before


@contextlib.contextmanager
def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none"
) -> Iterator[None]:
    """Within it, the switches have other values.

    >>> with torch.backends.mkldnn.flags(enabled=False):
    ...     torch.backends.mkldnn.enabled
    False
    """
    before = set_flags(enabled, deterministic, allow_tf32, fp32_precision)
    try:
        yield
    finally:
        globals().update(zip(("enabled", "deterministic", "allow_tf32", "fp32_precision"), before, strict=True))
