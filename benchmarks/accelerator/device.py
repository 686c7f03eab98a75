"""The accelerator that is measured, as torchlike, JAX and PyTorch name it, and the memory that it has used."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # several processes share it
_made_up = ExitStack()  # lives as long as the process


def is_made_up() -> bool:
    """Whether JAX's second CPU device serves as an accelerator."""
    return bool(os.environ.get("TORCHLIKE_MADE_UP"))


def make_up() -> None:
    """Lets this process and those that it starts take JAX's second CPU device."""
    os.environ["TORCHLIKE_MADE_UP"] = "1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"


def choose(what: str, names: str | None) -> None:
    """Lets this process and those that it starts measure only some of the models or engines."""
    if names:
        os.environ[f"TORCHLIKE_ACCELERATOR_{what.upper()}"] = names


def chosen(what: str, every: Iterable[str]) -> list[str]:
    """Those that `choose` has left."""
    names = os.environ.get(f"TORCHLIKE_ACCELERATOR_{what.upper()}")
    return list(every) if names is None else [name for name in every if name in names.split(",")]


@functools.cache
def for_torchlike() -> str:
    """The type of the device.

    Raises:
        RuntimeError: JAX finds none.
    """
    import torchlike as torch

    if is_made_up():
        from tests.accelerator.made_up import gpus

        _made_up.enter_context(gpus())
    found = torch.accelerator.current_accelerator()
    if found is None:
        raise RuntimeError("JAX finds no accelerator here")
    return found.type


def for_jax() -> Any:
    """JAX's device."""
    import jax

    return jax.devices("cpu")[1] if is_made_up() else jax.devices()[0]


def pytorch_has_it() -> bool:
    """Whether PyTorch is installed and sees a GPU."""
    if is_made_up() or importlib.util.find_spec("torch") is None:
        return False
    return importlib.import_module("torch").cuda.is_available()


def wait(torch: Any, device: str) -> None:
    """Waits until the device has done all that it was given."""
    (torch.zeros(1, device=device) + 1).item()


def peak_memory(engine: str) -> float:
    """The most memory that this process has had on the device, in MiB; 0 where it is not counted."""
    if engine == "pytorch":
        return importlib.import_module("torch").cuda.max_memory_allocated() / 2**20
    return (for_jax().memory_stats() or {}).get("peak_bytes_in_use", 0) / 2**20
