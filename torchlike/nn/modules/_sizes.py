"""Sizes given as one number for all dimensions, or one for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def ntuple(value: object, n: int) -> tuple[Any, ...]:
    """``n`` times the number, or the numbers as they are."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * n
