"""torch.xpu: Intel's GPUs. torchlike never has one: queries say so, and functions that need one raise PyTorch's errors."""

from __future__ import annotations

from typing import Any, NoReturn

from .._core.annotations import DeviceLike

__all__ = [
    "Event", "Stream", "current_device", "current_stream", "device_count", "empty_cache", "get_device_capability", "get_device_name",
    "get_device_properties", "init", "is_available", "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all",
    "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "reset_peak_memory_stats", "set_device",
    "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is an Intel GPU: no."""
    return False


def is_initialized() -> bool:
    """Whether one is in use: no."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether it computes in bfloat16: there is none."""
    return False


def device_count() -> int:
    """The number of XPU devices: 0."""
    return 0


def _refuse() -> NoReturn:
    raise AssertionError("Torch not compiled with XPU enabled")


def init() -> None:
    """Raises AssertionError: there is none."""
    _refuse()


def current_device() -> int:
    """Raises AssertionError: there is none."""
    _refuse()


def set_device(device: DeviceLike) -> None:
    """Raises AssertionError: there is none."""
    _refuse()


def synchronize(device: DeviceLike | None = None) -> None:
    """Raises AssertionError: there is none."""
    _refuse()


def current_stream(device: DeviceLike | None = None) -> Any:
    """Raises AssertionError: there is none."""
    _refuse()


def get_device_name(device: DeviceLike | None = None) -> str:
    """Raises AssertionError: there is none."""
    _refuse()


def get_device_capability(device: DeviceLike | None = None) -> dict[str, Any]:
    """Raises AssertionError: there is none."""
    _refuse()


def get_device_properties(device: DeviceLike | None = None) -> Any:
    """Raises AssertionError: there is none."""
    _refuse()


def empty_cache() -> None:
    """Does nothing: there is no memory to give back."""


def manual_seed(seed: int) -> None:
    """Does nothing: there is no generator to seed."""


def manual_seed_all(seed: int) -> None:
    """Does nothing: there is no generator to seed."""


def memory_allocated(device: DeviceLike | None = None) -> int:
    """Bytes in use: 0."""
    return 0


def max_memory_allocated(device: DeviceLike | None = None) -> int:
    """The most bytes that were in use: 0."""
    return 0


def memory_reserved(device: DeviceLike | None = None) -> int:
    """Bytes in a pool: 0."""
    return 0


def max_memory_reserved(device: DeviceLike | None = None) -> int:
    """The most bytes that were in a pool: 0."""
    return 0


def reset_peak_memory_stats(device: DeviceLike | None = None) -> None:
    """Does nothing: there is nothing to count."""


class Stream:
    """A stream of an Intel GPU.

    Raises:
        RuntimeError: always, since there is none.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise RuntimeError("Tried to instantiate dummy base class Stream")


class Event:
    """An event on an Intel GPU.

    Raises:
        RuntimeError: always, since there is none.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        raise RuntimeError("Tried to instantiate dummy base class Event")
