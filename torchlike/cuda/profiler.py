"""torch.cuda.profiler: switches NVIDIA's profilers on and off."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NoReturn

from .devices import jax_device

__all__ = ["profile", "start", "stop"]


def _refuse() -> NoReturn:
    jax_device(None)
    raise NotImplementedError(
        "torchlike does not switch NVIDIA's profilers: nsys profiles the whole process, and torch.profiler writes what JAX sees"
    )


def start() -> None:
    """Raises an error: there is no GPU, or its profiler cannot be switched from here."""
    _refuse()


def stop() -> None:
    """Raises an error, as ``start``."""
    _refuse()


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Raises an error, as ``start``."""
    start()
    yield
