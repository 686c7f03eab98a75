"""Arguments that are one number for all dimensions, or one number for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def ntuple(value: object, n: int) -> tuple[Any, ...]:
    """A tuple of ``n`` numbers, from one number or from several."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * n
