"""What PyTorch asks NVIDIA's management library and allocator about a GPU. Only answers that JAX gives as well are there."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, NoReturn

from .._core.annotations import DeviceLike
from .devices import jax_device
from .memory import memory_stats

__all__ = [
    "clock_rate", "default_generators", "device_memory_used", "get_gencode_flags", "get_sync_debug_mode", "has_half", "host_memory_stats",
    "host_memory_stats_as_nested_dict", "list_gpu_processes", "memory_stats_as_nested_dict", "memory_usage", "power_draw",
    "set_sync_debug_mode", "temperature", "utilization",
]  # fmt: skip

has_half = True
default_generators: tuple[()] = ()


def _ask_nvml(name: str) -> NoReturn:
    if find_spec("pynvml") is None:
        raise ModuleNotFoundError("nvidia-ml-py does not seem to be installed or it can't be imported.")
    jax_device(None)
    raise NotImplementedError(f"torchlike does not support torch.cuda.{name}: nvidia-smi says it")


def utilization(device: DeviceLike | None = None) -> int:
    """Raises: NVIDIA's management library is not asked. So do the functions after it.

    Raises:
        ModuleNotFoundError: nvidia-ml-py is not installed.
        NotImplementedError: it is.
    """
    _ask_nvml("utilization")


def memory_usage(device: DeviceLike | None = None) -> int:
    """Raises, as ``utilization``."""
    _ask_nvml("memory_usage")


def device_memory_used(device: DeviceLike | None = None) -> int:
    """Raises, as ``utilization``."""
    _ask_nvml("device_memory_used")


def temperature(device: DeviceLike | None = None) -> int:
    """Raises, as ``utilization``."""
    _ask_nvml("temperature")


def power_draw(device: DeviceLike | None = None) -> int:
    """Raises, as ``utilization``."""
    _ask_nvml("power_draw")


def clock_rate(device: DeviceLike | None = None) -> int:
    """Raises, as ``utilization``."""
    _ask_nvml("clock_rate")


def list_gpu_processes(device: DeviceLike | None = None) -> str:
    """Says that NVIDIA's management library is not installed.

    Raises:
        NotImplementedError: it is.
    """
    if find_spec("pynvml") is None:
        return "pynvml module not found, please install nvidia-ml-py"
    _ask_nvml("list_gpu_processes")


def get_gencode_flags() -> str:
    """No flags: nothing was compiled by NVIDIA's compiler."""
    return ""


def memory_stats_as_nested_dict(device: DeviceLike | None = None) -> dict[str, object]:
    """``memory_stats`` with a dictionary for each part of its names; empty where there is no GPU."""
    nested: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *path, last = name.split(".")
        inner = nested
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


def host_memory_stats() -> dict[str, object]:
    """Nothing: JAX keeps no pinned memory that it counts."""
    return {}


def host_memory_stats_as_nested_dict() -> dict[str, object]:
    """Nothing, as ``host_memory_stats``."""
    return {}


def get_sync_debug_mode() -> int:
    """0: nothing warns of what waits for the GPU.

    Raises:
        RuntimeError: there is no GPU.
    """
    jax_device(None)
    return 0


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Takes "default" or 0.

    Raises:
        RuntimeError: there is no GPU.
        NotImplementedError: another mode.
    """
    jax_device(None)
    if debug_mode not in (0, "default"):
        raise NotImplementedError(f"torchlike does not support torch.cuda.set_sync_debug_mode({debug_mode!r})")
