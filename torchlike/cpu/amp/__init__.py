"""torch.cpu.amp: what ``torch.amp`` has, for the CPU."""

from __future__ import annotations

import warnings

from ..._core import dtypes
from ..._core.annotations import Dtype
from ...amp import GradScaler as _GradScaler, autocast as _autocast

__all__ = ["GradScaler", "autocast"]


def _deprecated(name: str) -> None:
    warnings.warn(
        f"`torch.cpu.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cpu', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(_autocast):
    """``torch.amp.autocast("cpu", ...)``. Deprecated."""

    def __init__(self, enabled: bool = True, dtype: Dtype | None = dtypes.bfloat16, cache_enabled: bool = True) -> None:
        _deprecated("autocast")
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """``torch.amp.GradScaler("cpu", ...)``. Deprecated."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _deprecated("GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
