"""The line of the program that a warning names."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["level_of_program"]

_PACKAGE = str(Path(__file__).parents[1])


def level_of_program() -> int:
    """How many calls up from the caller the program's own line is, as ``stacklevel`` of a warning.

    It varies: what may be overridden is called by one function more, and compiled functions (``_extensions``) have no frames.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    return level
