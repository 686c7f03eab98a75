"""The deprecated ``torch.cpu.amp`` and ``torch.cuda.amp``: the names of ``torch.amp`` for one device."""

from __future__ import annotations

import warnings

from .grad_scaler import GradScaler

__all__ = ["DeviceGradScaler", "warn_deprecated"]


def warn_deprecated(device: str, name: str) -> None:
    """Says, at the line that calls the caller, what is to be used instead."""
    warnings.warn(
        f"`torch.{device}.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('{device}', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


class DeviceGradScaler(GradScaler):
    """``torch.amp.GradScaler`` for the device of the class."""

    _of_device: str

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn_deprecated(self._of_device, "GradScaler")
        super().__init__(self._of_device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
