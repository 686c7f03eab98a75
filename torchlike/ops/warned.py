"""Warnings that PyTorch gives once in a process."""

from __future__ import annotations

import warnings

__all__ = ["warn_once"]

_given: set[str] = set()


def warn_once(message: str, stacklevel: int, key: str = "") -> None:
    """Warns of something the first time only.

    Args:
        stacklevel: as for ``warnings.warn``, counted from here.
        key: what happens once, where the message varies.
    """
    if (key or message) not in _given:
        _given.add(key or message)
        warnings.warn(message, UserWarning, stacklevel=stacklevel)
