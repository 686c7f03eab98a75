"""Warnings at the line of the program, also those that PyTorch gives once in a process."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

__all__ = ["once", "warn", "warn_once"]


class _Once:
    """The warnings that have been given, and whether ``torch.set_warn_always`` has them given each time."""

    def __init__(self) -> None:
        self.given: set[str] = set()
        self.always = False


once = _Once()
_PACKAGE = str(Path(__file__).parents[1])


def warn_once(message: str) -> None:
    """Warns of something the first time only, unless a program wants it always, at the line of the program that led here."""
    if once.always or message not in once.given:
        once.given.add(message)
        warn(message)


def warn(message: str) -> None:
    """Warns at the line of the program that led here."""
    warnings.warn(message, UserWarning, stacklevel=_level())


def _level() -> int:
    """How many calls up from ``warn`` the program's own line is.

    It varies: what may be overridden is called by one function more, and compiled functions (``_extensions``) have no frames.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level
