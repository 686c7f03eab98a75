"""torch.cuda.memory: what JAX's allocator reports about a GPU's memory."""

from __future__ import annotations

import warnings
from typing import NoReturn

from .._core.annotations import DeviceLike
from .._core.devices import devices_of
from .devices import jax_device

__all__ = [
    "empty_cache", "ipc_collect", "max_memory_allocated", "max_memory_cached", "max_memory_reserved", "mem_get_info", "memory_allocated",
    "memory_cached", "memory_reserved", "memory_stats", "memory_summary", "reset_max_memory_allocated", "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]  # fmt: skip

# PyTorch's names for what JAX counts.
_NAMES = {
    "allocated_bytes.all.current": "bytes_in_use",
    "allocated_bytes.all.peak": "peak_bytes_in_use",
    "reserved_bytes.all.current": "pool_bytes",
    "reserved_bytes.all.peak": "peak_pool_bytes",
    "num_alloc_retries": "num_alloc_retries",
}


def memory_stats(device: DeviceLike | None = None) -> dict[str, int]:
    """Bytes in use and reserved, now and at the most, under PyTorch's names; empty where there is no GPU."""
    if not devices_of("cuda"):
        return {}
    statistics = jax_device(device).memory_stats() or {}
    stats = {name: int(statistics.get(of_jax, 0)) for name, of_jax in _NAMES.items()}
    for kind in ("current", "peak"):  # an allocator without a pool of its own reserves what is in use
        stats[f"reserved_bytes.all.{kind}"] = (
            stats[f"reserved_bytes.all.{kind}"] or stats[f"allocated_bytes.all.{kind}"]
        )
    return stats


def memory_allocated(device: DeviceLike | None = None) -> int:
    """Bytes in use on the GPU; 0 without one."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: DeviceLike | None = None) -> int:
    """The most bytes that were in use on the GPU; 0 without one."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: DeviceLike | None = None) -> int:
    """Bytes that JAX's pool holds; 0 without a GPU."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: DeviceLike | None = None) -> int:
    """The most bytes that JAX's pool held; 0 without a GPU."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def mem_get_info(device: DeviceLike | None = None) -> tuple[int, int]:
    """Free bytes, and all that JAX may use."""
    stats = jax_device(device).memory_stats() or {}
    limit = int(stats.get("bytes_limit", 0))
    return limit - int(stats.get("bytes_in_use", 0)), limit


def memory_summary(device: DeviceLike | None = None, abbreviated: bool = False) -> str:
    """The numbers of ``memory_stats``, a line each."""
    jax_device(device)
    return "\n".join(f"{name:32}{value:>20}" for name, value in memory_stats(device).items())


def empty_cache() -> None:
    """Does nothing: JAX keeps its memory pool."""


def reset_peak_memory_stats(device: DeviceLike | None = None) -> None:
    """Warns where there is a GPU: JAX counts the peak from the start of the process."""
    if devices_of("cuda"):
        warnings.warn("JAX counts the peak of memory from the start of the process: it cannot be reset", stacklevel=2)


def reset_max_memory_allocated(device: DeviceLike | None = None) -> None:
    """As ``reset_peak_memory_stats``."""
    reset_peak_memory_stats(device)


def _no_history() -> NoReturn:
    jax_device(None)
    raise NotImplementedError(
        "torchlike does not record the history of a GPU's memory, which is JAX's: jax.profiler.save_device_memory_profile writes what lies "
        "in it"
    )


def _record_memory_history(enabled: str | None = "all", *args: object, **kwargs: object) -> None:
    """Raises an error: there is no GPU, or the history of its memory cannot be had."""
    _no_history()


def _snapshot(device: DeviceLike | None = None, **options: object) -> dict[str, object]:
    """Raises an error, as ``_record_memory_history``."""
    _no_history()


def _dump_snapshot(filename: str = "dump_snapshot.pickle", **options: object) -> None:
    """Raises an error, as ``_record_memory_history``."""
    _no_history()


def memory_cached(device: DeviceLike | None = None) -> int:
    """``memory_reserved`` under its former name."""
    _renamed("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device: DeviceLike | None = None) -> int:
    """``max_memory_reserved`` under its former name."""
    _renamed("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


def _renamed(old: str, new: str) -> None:
    warnings.warn(f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`", FutureWarning, stacklevel=3)


def ipc_collect() -> None:
    """Does nothing where there is a GPU: no memory of it is shared between processes.

    Raises:
        RuntimeError: there is no GPU.
    """
    jax_device(None)


def set_per_process_memory_fraction(fraction: float, device: DeviceLike | None = None) -> None:
    """Raises an error: JAX reads the share of a GPU's memory once, before it starts, from ``XLA_PYTHON_CLIENT_MEM_FRACTION``.

    Raises:
        RuntimeError: there is no GPU. NotImplementedError: there is one.
    """
    jax_device(device)
    raise NotImplementedError(
        "torchlike does not support set_per_process_memory_fraction: set the environment variable XLA_PYTHON_CLIENT_MEM_FRACTION before "
        "the program starts"
    )
