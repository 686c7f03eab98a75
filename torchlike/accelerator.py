"""torch.accelerator: whatever accelerator JAX sees, without naming its make."""

from __future__ import annotations

import jax

from ._core.devices import accelerator, device, devices_of
from .engine.aval import jax_devices

__all__ = ["current_accelerator", "current_device_index", "device_count", "is_available", "synchronize"]


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
    """How many accelerators there are."""
    found = current_accelerator()
    return 0 if found is None else len(devices_of(found.type))


def current_device_index() -> int:
    """The number of the accelerator in use."""
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return 0


def synchronize(device: device | None = None) -> None:
    """Waits until everything that was handed to the accelerator has run."""
    from .engine import flush

    flush()
    for where in jax_devices():
        jax.device_put(0.0, where).block_until_ready()
