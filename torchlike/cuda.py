"""torch.cuda: the NVIDIA (or ROCm) devices that JAX sees, under PyTorch's names."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import jax

from ._core.devices import default_device, device as device_, devices_of, set_default_device

__all__ = [
    "current_device",
    "device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "is_available",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "memory_allocated",
    "set_device",
    "synchronize",
]


def is_available() -> bool:
    """Whether JAX sees a GPU here.

    >>> torch.cuda.is_available() == (torch.cuda.device_count() > 0)
    True
    """
    return bool(devices_of("cuda"))


def device_count() -> int:
    """How many GPUs JAX sees."""
    return len(devices_of("cuda"))


def _one(index: Any) -> Any:
    found = devices_of("cuda")
    if not found:
        raise RuntimeError("No CUDA GPUs are available")
    number = current_device() if index is None else device_(index).index or 0
    if number >= len(found):
        raise RuntimeError("CUDA error: invalid device ordinal")
    return found[number]


def current_device() -> int:
    """The number of the device that ``torch.device('cuda')`` means."""
    where = default_device()
    return where.index or 0 if where.type == "cuda" else 0


def set_device(device: Any) -> None:
    """Makes a GPU the default one for new CUDA tensors."""
    _one(device)
    if default_device().type == "cuda":
        set_default_device(device_(device))


def get_device_name(device: Any = None) -> str:
    """What the GPU is called."""
    return _one(device).device_kind


def synchronize(device: Any = None) -> None:
    """Waits until everything that was handed to the GPU has run."""
    from .engine import flush

    flush()
    for where in devices_of("cuda"):
        jax.device_put(0.0, where).block_until_ready()


def _memory(device: Any, what: str) -> int:
    stats = _one(device).memory_stats() if is_available() else None
    return int((stats or {}).get(what, 0))


def memory_allocated(device: Any = None) -> int:
    """Bytes in use on the GPU."""
    return _memory(device, "bytes_in_use")


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that were in use on the GPU."""
    return _memory(device, "peak_bytes_in_use")


def empty_cache() -> None:
    """Does nothing: JAX keeps its memory pool."""


def manual_seed(seed: int) -> None:
    """Seeds the generator, which serves all devices."""
    from .ops.random import manual_seed as seed_all

    seed_all(seed)


manual_seed_all = manual_seed


class device:
    """Within it, new CUDA tensors go to this GPU."""

    def __init__(self, device: Any) -> None:
        self._device = device_(device) if not isinstance(device, int) else device_("cuda", device)

    def __enter__(self) -> None:
        self._device.__enter__()

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._device.__exit__()
