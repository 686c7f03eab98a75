"""torch.cuda.random: the default generators of the GPUs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._core.annotations import DeviceLike
from .._core.devices import as_device as device_, placement
from .._core.tensor import Tensor
from ..random_streams import by_device
from .devices import current_device, device_count, jax_device

__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state",
    "set_rng_state_all",
]  # fmt: skip


def _generator(number: int | None = None) -> Any:
    return by_device.default_of(placement(device_("cuda", current_device() if number is None else number)))


def _number(device: DeviceLike) -> int | None:
    return device if isinstance(device, int) else device_(device).index


def manual_seed(seed: int) -> None:
    """Starts the stream of the current GPU anew from ``seed``; nothing without a GPU."""
    if device_count():
        _generator().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Starts the streams of all GPUs anew from ``seed``; nothing without a GPU."""
    for number in range(device_count()):
        _generator(number).manual_seed(int(seed))


def seed() -> None:
    """Starts the stream of the current GPU from a seed of the operating system's; nothing without a GPU."""
    if device_count():
        _generator().seed()


def seed_all() -> None:
    """Starts the streams of all GPUs from one seed of the operating system's; nothing without a GPU."""
    if device_count():
        manual_seed_all(_generator(0).seed())


def initial_seed() -> int:
    """The seed that the stream of the current GPU started from."""
    jax_device(None)
    return _generator().initial_seed()


def get_rng_state(device: DeviceLike = "cuda") -> Tensor:
    """The state of a GPU's generator: seed and offset, as 16 bytes."""
    jax_device(None if device == "cuda" else device)
    return _generator(_number(device)).get_state()


def get_rng_state_all() -> list[Tensor]:
    """The states of all GPUs' generators."""
    return [_generator(number).get_state() for number in range(device_count())]


def set_rng_state(new_state: Tensor, device: DeviceLike = "cuda") -> None:
    """Gives a GPU's generator a state back; nothing without a GPU."""
    if device_count():
        _generator(_number(device)).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Gives all GPUs' generators their states back."""
    for number, state in enumerate(new_states):
        set_rng_state(state, number)
