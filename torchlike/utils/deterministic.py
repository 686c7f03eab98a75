"""torch.utils.deterministic: whether new memory is filled while deterministic algorithms are asked for."""

from __future__ import annotations

import sys
from types import ModuleType

from ..dispatch.warned import Determinism as _Determinism

__all__ = ["fill_uninitialized_memory"]

fill_uninitialized_memory: bool


class _Deterministic(ModuleType):
    """The module itself, whose attribute is a setting."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether ``torch.empty`` and ``resize_`` fill new memory with NaN, or the largest integer, in deterministic mode."""
        return _Determinism.fill_uninitialized_memory

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(f"expected mode to be bool, but got {type(mode)}")
        _Determinism.fill_uninitialized_memory = mode


sys.modules[__name__].__class__ = _Deterministic
