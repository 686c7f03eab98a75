"""torch.cuda.amp: what ``torch.amp`` has, for GPUs."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from ..._core import dtypes
from ..._core.annotations import Dtype
from ...amp import (
    GradScaler as _GradScaler,
    autocast as _autocast,
    custom_bwd as _custom_bwd,
    custom_fwd as _custom_fwd,
)

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _deprecated(name: str) -> None:
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cuda', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(_autocast):
    """``torch.amp.autocast("cuda", ...)``. Deprecated."""

    def __init__(self, enabled: bool = True, dtype: Dtype | None = dtypes.float16, cache_enabled: bool = True) -> None:
        _deprecated("autocast")
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """``torch.amp.GradScaler("cuda", ...)``. Deprecated."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        _deprecated("GradScaler")
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


custom_fwd = functools.partial(_custom_fwd, device_type="cuda")
custom_bwd = functools.partial(_custom_bwd, device_type="cuda")
