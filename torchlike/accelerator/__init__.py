"""torch.accelerator: the accelerator that JAX sees, whatever its type."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from .._core.devices import (
    accelerator,
    default_device,
    device,
    device as _device,
    devices_of,
    placement,
    set_default_device,
)
from ..engine.aval import jax_devices, wait_for

if TYPE_CHECKING:
    from .._core.annotations import DeviceLike


__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count", "device_index", "is_available",
    "empty_cache", "get_memory_info", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats",
    "reset_peak_memory_stats", "set_device_idx", "set_device_index", "set_stream", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is an accelerator: a GPU, a TPU or Apple's.

    >>> torch.accelerator.is_available() == (torch.accelerator.current_accelerator() is not None)
    True
    """
    return current_accelerator() is not None


def current_accelerator(check_available: bool = False) -> device | None:
    """The accelerator's device type, or None where there is only the CPU."""
    return accelerator()


def device_count() -> int:
    """The number of accelerators."""
    device_found = current_accelerator()
    return 0 if device_found is None else len(devices_of(device_found.type))


def current_device_index() -> int:
    """The number of the accelerator in use."""
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    where = default_device()
    return where.index or 0 if where.type != "cpu" else 0


def current_device_idx() -> int:
    """``current_device_index`` under its former name."""
    return current_device_index()


def set_device_index(device: DeviceLike | int, /) -> None:
    """Makes an accelerator the default one for new tensors on accelerators.

    Raises:
        RuntimeError: there is none, or none of this number.
    """
    device_present = _present()
    index = device if isinstance(device, int) else _device(device).index or 0
    where = _device(device_present.type, index)
    placement(where)  # which says where there is no such device
    if default_device().type == device_present.type:
        set_default_device(where)


def set_device_idx(device: DeviceLike, /) -> None:
    """``set_device_index`` under its former name."""
    set_device_index(device)


class device_index:
    """Within it, an accelerator is the current one; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        self.index = device

    def __enter__(self) -> None:
        if self.index is not None:
            self.before = current_device_index()
            set_device_index(self.index)

    def __exit__(self, *exc: object) -> None:
        if self.index is not None:
            set_device_index(self.before)


def current_stream(device: DeviceLike | None = None, /) -> Any:
    """The stream of the accelerator, of which there is one."""
    from ._streams import Stream

    return Stream(_present() if device is None else device)


def set_stream(stream: Any) -> None:
    """Does nothing but check that there is an accelerator: it has one stream."""
    _present()


def _statistics(index: DeviceLike | int | None) -> dict[str, int]:
    """What JAX counts on an accelerator."""
    device_present = _present()
    number = index if isinstance(index, int) else 0 if index is None else _device(index).index or 0
    return devices_of(device_present.type)[number].memory_stats() or {}


def memory_allocated(device_index: DeviceLike | int | None = None, /) -> int:
    """Bytes in use on the accelerator.

    Raises:
        RuntimeError: there is none, as for the functions after it.
    """
    return int(_statistics(device_index).get("bytes_in_use", 0))


def max_memory_allocated(device_index: DeviceLike | int | None = None, /) -> int:
    """The most bytes that were in use on the accelerator."""
    return int(_statistics(device_index).get("peak_bytes_in_use", 0))


def memory_reserved(device_index: DeviceLike | int | None = None, /) -> int:
    """Bytes that JAX's pool holds; those in use where it has no pool."""
    statistics = _statistics(device_index)
    return int(statistics.get("pool_bytes") or statistics.get("bytes_in_use", 0))


def max_memory_reserved(device_index: DeviceLike | int | None = None, /) -> int:
    """The most bytes that JAX's pool held."""
    statistics = _statistics(device_index)
    return int(statistics.get("peak_pool_bytes") or statistics.get("peak_bytes_in_use", 0))


def memory_stats(device_index: DeviceLike | int | None = None, /) -> dict[str, int]:
    """Bytes in use and reserved, now and at the most, under PyTorch's names."""
    return {
        "allocated_bytes.all.current": memory_allocated(device_index),
        "allocated_bytes.all.peak": max_memory_allocated(device_index),
        "reserved_bytes.all.current": memory_reserved(device_index),
        "reserved_bytes.all.peak": max_memory_reserved(device_index),
    }


def get_memory_info(device_index: DeviceLike | int | None = None, /) -> tuple[int, int]:
    """Free bytes, and all that JAX may use."""
    statistics = _statistics(device_index)
    limit = int(statistics.get("bytes_limit", 0))
    return limit - int(statistics.get("bytes_in_use", 0)), limit


def empty_cache() -> None:
    """Does nothing on an accelerator: JAX keeps its memory pool."""
    _present()


def reset_peak_memory_stats(device_index: DeviceLike | int | None = None, /) -> None:
    """Warns on an accelerator: JAX counts the peak from the start of the process."""
    _present()
    warnings.warn("JAX counts the peak of memory from the start of the process; it is not reset", stacklevel=2)


def _present() -> device:
    device_found = current_accelerator()
    if device_found is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return device_found


def synchronize(device: device | None = None) -> None:
    """Waits until everything that was handed to the accelerator has run."""
    from ..engine import flush

    flush()
    wait_for(jax_devices())
