"""Lists the GPUs, and finds the one that an argument or the current device names."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any

from .._core.annotations import DeviceLike
from .._core.devices import as_device as device_, default_device, devices_of, set_default_device
from ..engine import flush
from ..engine.aval import wait_for

__all__ = [
    "can_device_access_peer", "current_device", "device", "device_count", "device_of", "get_arch_list", "get_device_capability",
    "get_device_name", "get_device_properties", "init", "is_available", "is_bf16_supported", "is_initialized", "set_device",
    "synchronize",
]  # fmt: skip


ABSENT = "No CUDA GPUs are available"


def is_available() -> bool:
    """Whether JAX sees a GPU here.

    >>> torch.cuda.is_available() == (torch.cuda.device_count() > 0)
    True
    """
    return bool(devices_of("cuda"))


def device_count() -> int:
    """How many GPUs JAX sees."""
    return len(devices_of("cuda"))


class _DeviceGuard:
    """Within it, a GPU is the current one."""

    def __init__(self, index: int) -> None:
        self.index = index

    def __enter__(self) -> None:
        self.before = current_device()
        set_device(self.index)

    def __exit__(self, *exc: object) -> None:
        set_device(self.before)


def jax_device(index: Any) -> Any:
    """JAX's device for a number or a device; None means the current one. RuntimeError where there is none."""
    gpus = devices_of("cuda")
    if not gpus:
        raise RuntimeError(ABSENT)
    number = current_device() if index is None else index if isinstance(index, int) else device_(index).index or 0
    if number >= len(gpus):
        raise RuntimeError("CUDA error: invalid device ordinal")
    return gpus[number]


def init() -> None:
    """Does nothing: JAX begins with a device when it is first used."""
    jax_device(None)


def is_initialized() -> bool:
    """Whether JAX has a GPU."""
    return is_available()


def current_device() -> int:
    """The number of the device that ``torch.device('cuda')`` means."""
    if not is_available():
        raise RuntimeError(ABSENT)
    where = default_device()
    return where.index or 0 if where.type == "cuda" else 0


def set_device(device: DeviceLike) -> None:
    """Makes a GPU the default one for new CUDA tensors."""
    jax_device(device)
    if default_device().type == "cuda":
        set_default_device(device_(device))


def get_device_name(device: DeviceLike | None = None) -> str:
    """What the GPU is called."""
    return jax_device(device).device_kind


@dataclass(frozen=True)
class DeviceProperties:
    """What is known of a GPU: its name, its compute capability, its memory in bytes."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def get_device_capability(device: DeviceLike | None = None) -> tuple[int, int]:
    """The compute capability of the GPU, such as (9, 0)."""
    major, _, minor = str(getattr(jax_device(device), "compute_capability", "0.0")).partition(".")
    return int(major), int(minor or 0)


def get_device_properties(device: DeviceLike | None = None) -> DeviceProperties:
    """The properties of the GPU."""
    gpu = jax_device(device)
    memory = (gpu.memory_stats() or {}).get("bytes_limit", 0)
    return DeviceProperties(
        gpu.device_kind, *get_device_capability(device), int(memory), int(getattr(gpu, "core_count", 0))
    )


def get_arch_list() -> list[str]:
    """The architectures that there are GPUs of, such as "sm_90"."""
    return sorted({"sm_{}{}".format(*get_device_capability(number)) for number in range(device_count())})


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether there is a GPU: XLA has bfloat16 on all of them."""
    return is_available()


def can_device_access_peer(device: DeviceLike, peer_device: object) -> bool:
    """Whether both are there and are two: XLA then moves data between them."""
    return jax_device(device) is not jax_device(peer_device)


def synchronize(device: DeviceLike | None = None) -> None:
    """Waits until everything that was handed to the GPU has run."""
    jax_device(device)
    flush()
    wait_for(devices_of("cuda"))


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


class device_of(device):
    """Within it, new CUDA tensors go where a tensor is; nothing changes where that is on the CPU."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.device if obj.is_cuda else device_("cpu"))
        self._on_cpu = not obj.is_cuda

    def __enter__(self) -> None:
        if not self._on_cpu:
            super().__enter__()

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._on_cpu:
            super().__exit__(type, value, traceback)
