"""Which operation of a module an equation of a program comes from, and at which line."""

from __future__ import annotations

import os
from typing import Any

import jax

__all__ = ["line_of"]

_OWN = tuple(os.path.dirname(os.path.abspath(path)) + os.sep for path in (os.path.dirname(__file__), jax.__file__))


def line_of(equation: Any) -> str:
    """In words for an error: the operation, and the line of the program that called it."""
    source = equation.source_info
    operation = str(source.name_stack).rpartition("/")[2] or str(equation.primitive)
    for frame in source.traceback.frames if source.traceback else ():
        if not frame.file_name.startswith(_OWN) and not frame.file_name.startswith("<"):
            return f"{operation} ({frame.file_name}:{frame.line_num})"
    return operation
