"""torch.cpu.amp: the names of ``torch.amp``, for the CPU."""

from __future__ import annotations

from ..._core import dtypes
from ..._core.annotations import Dtype
from ...amp import autocast as _autocast
from ...amp._of_device import DeviceGradScaler, warn_deprecated

__all__ = ["GradScaler", "autocast"]


class autocast(_autocast):
    """``torch.amp.autocast("cpu", ...)``. Deprecated."""

    def __init__(self, enabled: bool = True, dtype: Dtype | None = dtypes.bfloat16, cache_enabled: bool = True) -> None:
        warn_deprecated("cpu", "autocast")
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(DeviceGradScaler):
    """``torch.amp.GradScaler("cpu", ...)``. Deprecated."""

    _of_device = "cpu"
