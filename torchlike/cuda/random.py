"""torch.cuda.random: the default generator, which serves all devices, under CUDA's names."""

from __future__ import annotations

from collections.abc import Iterable

from .._core.annotations import DeviceLike
from .._core.tensor import Tensor
from ..ops.creation import random
from .devices import device_count, jax_device

__all__ = [
    "get_rng_state", "get_rng_state_all", "initial_seed", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_rng_state",
    "set_rng_state_all",
]  # fmt: skip


def manual_seed(seed: int) -> None:
    """Seeds the generator, which serves all devices; nothing without a GPU."""
    if device_count():
        random.manual_seed(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Seeds the generator from chance; nothing without a GPU."""
    if device_count():
        random.seed()


seed_all = seed


def initial_seed() -> int:
    """What the generator was seeded with last."""
    jax_device(None)
    return random.initial_seed()


def get_rng_state(device: DeviceLike = "cuda") -> Tensor:
    """The generator's state."""
    jax_device(None if device == "cuda" else device)
    return random.get_rng_state()


def get_rng_state_all() -> list[Tensor]:
    """The generator's state, once for each GPU."""
    return [random.get_rng_state()] * device_count()


def set_rng_state(new_state: Tensor, device: DeviceLike = "cuda") -> None:
    """Gives the generator a state back; nothing without a GPU."""
    if device_count():
        random.set_rng_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Gives the generator the first of these states back."""
    for state in list(new_states)[:1]:
        set_rng_state(state)
