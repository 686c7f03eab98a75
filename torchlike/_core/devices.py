"""Device objects under PyTorch's names, and the engine's placements for them."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

from ..engine.aval import META, Placement, jax_devices
from .torch_function import PLAIN, ask_modes

__all__ = ["as_device", "device"]

# PyTorch's device types and the JAX platforms behind them.
PLATFORMS = {"cpu": "cpu", "cuda": "gpu", "tpu": "tpu", "mps": "METAL"}
_TYPES = {platform: type for type, platform in PLATFORMS.items()} | {"cuda": "cuda", "rocm": "cuda", "mps": "mps"}
_TYPES["portable"] = "cpu"  # what is traced for a file: see ``engine/aval.py``
_KNOWN = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy", "vulkan", "mps", "meta",
    "hpu", "mtia", "privateuseone",
)  # fmt: skip


class device:
    """A device by type and number.

    >>> torch.device("cuda:1"), torch.device("cpu").type
    (device(type='cuda', index=1), 'cpu')

    Raises:
        RuntimeError: the type is unknown, or the string is not ``type`` or ``type:number``.
    """

    __slots__ = ("type", "index")

    type: str
    index: int | None
    _interned: dict[tuple[str, int | None], device] = {}

    def __new__(cls, *args: Any, **kwargs: Any) -> device:
        if not PLAIN:  # a mode is active somewhere
            return ask_modes(device, as_device, args, kwargs)
        return as_device(*args, **kwargs)

    def __repr__(self) -> str:
        return (
            f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[object, ...]:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        _default.stack.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _default.stack.pop()


def as_device(type: str | int | device | None = None, index: int | None = None, *, device: Any = None) -> device:
    """What ``device(...)`` returns where no mode answers."""
    if type is None:
        type = "cpu" if device is None else device
    if isinstance(type, _Device):
        if index is not None:
            raise RuntimeError("torch.device(): a device and an index were both given")
        return type
    if isinstance(type, int) and not isinstance(type, bool):
        if type < 0:
            raise RuntimeError("Device index must not be negative")
        type, index = "cuda", type
    if not isinstance(type, str):
        raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
    name, colon, number = type.partition(":")
    if colon:
        if index is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {type}")
        if not number.isdecimal() or (len(number) > 1 and number[0] == "0"):
            raise RuntimeError(f"Invalid device string: '{type}'")
        index = int(number)
    if name not in PLATFORMS and name not in _KNOWN:  # programs name devices that they do not have, to compare with
        raise RuntimeError(f"Expected one of {', '.join(_KNOWN)} device type at start of device string: {name}")
    self = _Device._interned.get((name, index))
    if self is None:
        self = _Device._interned[name, index] = object.__new__(_Device)
        self.type, self.index = name, index
    return self


_Device = device


class _DefaultDevice(threading.local):
    def __init__(self) -> None:
        self.stack: list[device] = []


_default = _DefaultDevice()


def default_device() -> device:
    return _default.stack[-1] if _default.stack else _CPU


def set_default_device(device_: device | str | int | None) -> None:
    """Makes tensors that are created without a device live on this one. None: back to the CPU.

    >>> torch.set_default_device("cpu")
    """
    _default.stack[:] = [] if device_ is None else [as_device(device_)]


def devices_of(type: str) -> list[Any]:
    """The JAX devices of a PyTorch device type; empty where there are none."""
    if type in PLATFORMS:
        with contextlib.suppress(RuntimeError):
            return jax_devices(PLATFORMS[type])
    return []


def accelerator() -> device | None:
    """The type of this machine's accelerator, or None where there is only the CPU."""
    return next((as_device(type) for type in PLATFORMS if type != "cpu" and devices_of(type)), None)


def placement(where: device | str | int | None) -> Placement:
    """The engine's placement for what the user named; RuntimeError where this machine has no such device."""
    if where is None:
        where = default_device()
    where = as_device(where)
    if where.type == "cpu":
        return _CPU_PLACEMENT
    if where.type == "meta":
        return META
    if where.type not in PLATFORMS:
        raise RuntimeError(f"torchlike runs on {', '.join(PLATFORMS)}: device type {where.type!r} is not supported")
    available = devices_of(where.type)
    if not available:
        have = sorted({_TYPES.get(d.platform) or d.platform for d in jax_devices()} | {"cpu"})
        if where.type == "cuda":
            raise RuntimeError(
                f"No CUDA GPUs are available: JAX sees {', '.join(have)} here (is the cuda extra installed?)"
            )
        raise RuntimeError(f"no {where.type} device is available: JAX sees {', '.join(have)} here")
    index = where.index or 0
    if index >= len(available):
        raise RuntimeError(
            f"{where.type.upper()} error: invalid device ordinal: {where} was asked for, there are {len(available)} devices"
        )
    return Placement(PLATFORMS[where.type], index)


def of_placement(where: Placement) -> device:
    type = _TYPES.get(where.platform, where.platform)
    return as_device(type) if type in ("cpu", "meta") and where.index == 0 else as_device(type, where.index)


_CPU = as_device("cpu")
_CPU_PLACEMENT = Placement("cpu", 0)
