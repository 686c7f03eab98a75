"""The device of loaded memory: the location in the file, or what ``map_location`` returns for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._core import devices
from ._memory import Memory

Restore = Callable[[Memory, str], Memory]


def restorer(map_location: object) -> Restore:
    """A function that moves memory to its device, from the memory and the location in the file."""
    if map_location is None:
        return _restored
    if isinstance(map_location, Mapping):
        places: Mapping[str, Any] = map_location
        return lambda memory, location: _restored(memory, places.get(location, location))
    if isinstance(map_location, (str, devices.device)):
        where = str(map_location)
        return lambda memory, location: _restored(memory, where)
    if isinstance(map_location, int) or not callable(map_location):
        raise TypeError(f"'{type(map_location).__name__}' object is not callable")

    def chosen(memory: Memory, location: str) -> Memory:
        place: Any = map_location(memory, location)
        return _restored(memory, location) if place is None else place

    return chosen


def _restored(memory: Memory, location: str) -> Memory:
    kind = str(location).partition(":")[0]
    if kind not in (*devices.PLATFORMS, "meta"):
        raise RuntimeError(
            f"don't know how to restore data location of torch.storage.UntypedStorage (tagged with {location})"
        )
    where = devices.as_device(str(location))
    if kind not in ("cpu", "meta"):
        count = len(devices.devices_of(kind))
        question = "torch.cuda.is_available()" if kind == "cuda" else f"torch.backends.{kind}.is_available()"
        if not count:
            raise RuntimeError(
                f"Attempting to deserialize object on a {kind.upper()} device but {question} is False. If you are running on a "
                "CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
            )
        if (where.index or 0) >= count:
            raise RuntimeError(
                f"Attempting to deserialize object on {kind.upper()} device {where.index} but torch.{kind}.device_count() is "
                f"{count}. Please use torch.load with map_location to map your storages to an existing device."
            )
    return memory if where is memory.device else memory.to(device=where)
