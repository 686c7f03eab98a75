"""torch.mtia: Meta's accelerators. torchlike never has one: queries say so, and functions that need one raise PyTorch's errors."""

from __future__ import annotations

from .._core.annotations import DeviceLike

__all__ = ["current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]


def is_available() -> bool:
    """Whether there is one: no."""
    return False


def is_initialized() -> bool:
    """Whether one is in use: no."""
    return False


def device_count() -> int:
    """The number of MTIA devices: 0."""
    return 0


def _absent(what: str) -> RuntimeError:
    return RuntimeError(f"Cannot execute {what}() without MTIA backend.")


def current_device() -> int:
    """Raises RuntimeError: there is none."""
    raise _absent("getCurrentDevice")


def set_device(device: DeviceLike) -> None:
    """Raises RuntimeError: there is none."""
    raise _absent("setCurrentDevice")


def synchronize(device: DeviceLike | None = None) -> None:
    """Raises RuntimeError: there is none."""
    raise _absent("getCurrentDevice")
