"""torch.mps: Apple's GPU, where JAX sees one."""

from __future__ import annotations

from typing import Any

from .._core.devices import devices_of
from ..engine import flush
from ..engine.aval import wait_for

__all__ = [
    "current_allocated_memory", "device_count", "driver_allocated_memory", "empty_cache", "is_available", "manual_seed",
    "recommended_max_memory", "seed", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether JAX sees Apple's GPU here."""
    return bool(devices_of("mps"))


def device_count() -> int:
    """The number of MPS devices: 1 or 0."""
    return int(is_available())


def _gpu(what: str) -> Any:
    gpus = devices_of("mps")
    if not gpus:
        raise RuntimeError(f"Cannot execute {what}() without MPS backend.")
    return gpus[0]


def _bytes(what: str, name: str) -> int:
    return int((_gpu(what).memory_stats() or {}).get(name, 0))


def synchronize() -> None:
    """Waits until everything that was handed to it has run."""
    there = _gpu("deviceSynchronize")
    flush()
    wait_for([there])


def empty_cache() -> None:
    """Does nothing: JAX keeps its memory pool."""
    _gpu("emptyCache")


def current_allocated_memory() -> int:
    """Bytes in use by tensors, as far as JAX counts them."""
    return _bytes("getCurrentAllocatedMemory", "bytes_in_use")


def driver_allocated_memory() -> int:
    """Bytes in JAX's pool, as far as JAX counts them."""
    return _bytes("getDriverAllocatedMemory", "pool_bytes")


def recommended_max_memory() -> int:
    """Bytes that JAX may use, as far as it says so."""
    return _bytes("getRecommendedMaxMemory", "bytes_limit")


def manual_seed(seed: int) -> None:
    """Seeds the one generator that all devices draw from, if there is such a GPU."""
    if is_available():
        from ..ops.creation.generators import manual_seed as seed_all

        seed_all(seed)


def seed() -> None:
    """Seeds the one generator that all devices draw from by the operating system's numbers, if there is such a GPU."""
    if is_available():
        from ..ops.creation.generators import seed as seed_all

        seed_all()
