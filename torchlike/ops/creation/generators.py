"""The generators of random numbers under PyTorch's names: the CPU's, whose streams are PyTorch's, and those of accelerators."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core import devices, dtypes
from ..._core.annotations import DeviceLike
from ..._core.tensor import Tensor, from_host
from ...dispatch.register import Form, composite
from ...dispatch.type_names import type_name
from ...engine.aval import META, Placement
from ...random_streams import by_device, rng

if TYPE_CHECKING:
    from ..._core.devices import device

__all__ = ["Generator", "are_cpu_random_streams_used", "default_generator", "use_cpu_random_streams"]


class Generator(rng.Generator):
    """A source of random numbers; functions that draw take one as ``generator=``.

    Args:
        device: the numbers are for tensors there. On an accelerator a program draws them, so its streams are others than the CPU's.

    >>> g = torch.Generator().manual_seed(0)
    >>> torch.rand(2, generator=g)
    tensor([0.4963, 0.7682])

    Raises:
        RuntimeError: there is no such device.
    """

    def __new__(cls, device: DeviceLike = "cpu") -> Generator:
        kind = DeviceGenerator if cls is Generator and devices.as_device(device).type != "cpu" else cls
        return object.__new__(kind)

    def __init__(self, device: DeviceLike = "cpu") -> None:
        super().__init__(devices.as_device(device))

    def get_state(self) -> Tensor:
        """The state as a uint8 tensor."""
        return from_host(self.raw_state())

    def set_state(self, new_state: Tensor) -> Generator:
        """Goes back to a state from ``get_state``."""
        self.set_raw_state(_elements(new_state))
        return self

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"


class DeviceGenerator(Generator, rng.CounterGenerator):
    """The generator of an accelerator."""

    def __init__(self, device: DeviceLike) -> None:
        where = devices.as_device(device)
        place = devices.placement(where)  # raises if there is no such device
        if place is META:
            raise RuntimeError("META device type not an accelerator.")
        super().__init__(devices.of_placement(place) if where.index is None else where)


def _elements(state: object) -> np.ndarray:
    if not isinstance(state, Tensor):
        raise TypeError(f"expected a torch.ByteTensor, but got {type_name(state)}")
    if state.dtype is not dtypes.uint8:
        raise TypeError("RNG state must be a torch.ByteTensor")
    return np.ascontiguousarray(state._array())


# Upgrade in place: a lower layer made the process's generator, and others may hold it. Its new class has methods that return tensors.
default_generator: Any = rng.default_generator
default_generator.__class__ = Generator
default_generator.device = devices.as_device("cpu")

by_device.Kind.of_accelerators = DeviceGenerator


def use_cpu_random_streams(mode: bool = True) -> None:
    """Gives tensors on accelerators the numbers that PyTorch's CPU generator draws, so that a seed means the same on each device.

    The host draws them then and sends them over, which takes much longer than drawing them on the device.

    >>> torch.use_cpu_random_streams(True)
    >>> torch.are_cpu_random_streams_used()
    True
    >>> torch.use_cpu_random_streams(False)
    """
    by_device.Kind.cpu_streams = bool(mode)


def are_cpu_random_streams_used() -> bool:
    """Whether ``use_cpu_random_streams`` is in force.

    >>> torch.are_cpu_random_streams_used()
    False
    """
    return by_device.Kind.cpu_streams


# ---- the default generators


@composite(forms=Form.FUNCTION)
def manual_seed(seed: int) -> rng.Generator:
    """Starts the random streams of all devices anew from ``seed``; returns the CPU's default generator.

    >>> _ = torch.manual_seed(0)
    >>> torch.rand(1)
    tensor([0.4963])
    """
    found = rng.default_generator.manual_seed(int(seed))
    by_device.seed_all(int(seed))
    return found


@composite(forms=Form.FUNCTION)
def seed() -> int:
    """Starts the random streams of all devices from a seed of the operating system's, which is returned."""
    found = rng.default_generator.seed()
    by_device.seed_all(found)
    return found


@composite(forms=Form.FUNCTION)
def initial_seed() -> int:
    """The seed that the default generator started from."""
    return rng.default_generator.initial_seed()


@composite(forms=Form.FUNCTION)
def get_rng_state() -> Tensor:
    """The state of the CPU's default generator, as a uint8 tensor."""
    return from_host(rng.default_generator.raw_state())


@composite(forms=Form.FUNCTION)
def set_rng_state(new_state: object) -> None:  # for ``Tensor``, the dispatcher words the error itself
    """Puts the CPU's default generator into a state from ``get_rng_state``."""
    rng.default_generator.set_raw_state(_elements(new_state))


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[device | str | int] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Within the context random numbers may be drawn, and afterwards generators are as they were before.

    Args:
        devices: the accelerators whose generators are kept as well; by default all.
        enabled: whether anything is kept.
        device_type: of those that ``devices`` names by number.
    """
    if not enabled:
        yield
        return
    before = rng.states()
    if devices is not None:
        kept = {by_device.default_of(_placement(each, device_type)) for each in devices}
        before = [(each, state) for each, state in before if each in kept or not isinstance(each, rng.CounterGenerator)]
    try:
        yield
    finally:
        for generator, state in before:
            generator.set_raw_state(state)


def _placement(where: device | str | int, kind: str | None) -> Placement:
    if isinstance(where, int):
        found = devices.accelerator()
        return devices.placement(devices.as_device(kind or (found.type if found is not None else "cuda"), where))
    return devices.placement(where)
