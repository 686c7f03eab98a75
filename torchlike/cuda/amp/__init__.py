"""torch.cuda.amp: the names of ``torch.amp``, for GPUs."""

from __future__ import annotations

import functools
from typing import Any

from ..._core import dtypes
from ..._core.annotations import Dtype
from ...amp import (
    autocast as _autocast,
    custom_bwd as _custom_bwd,
    custom_fwd as _custom_fwd,
)
from ...amp._of_device import DeviceGradScaler, warn_deprecated

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(_autocast):
    """``torch.amp.autocast("cuda", ...)``. Deprecated."""

    def __init__(self, enabled: bool = True, dtype: Dtype | None = dtypes.float16, cache_enabled: bool = True) -> None:
        warn_deprecated("cuda", "autocast")
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(DeviceGradScaler):
    """``torch.amp.GradScaler("cuda", ...)``. Deprecated."""

    _of_device = "cuda"


custom_fwd = functools.partial(_custom_fwd, device_type="cuda")
custom_bwd = functools.partial(_custom_bwd, device_type="cuda")
