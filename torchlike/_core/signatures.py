"""Names for types in the signatures of what hands functions and their arguments on without looking at them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Args", "Function", "Kwargs"]

Function: TypeAlias = Callable[..., object]
Args: TypeAlias = tuple[object, ...]
Kwargs: TypeAlias = dict[str, object]
