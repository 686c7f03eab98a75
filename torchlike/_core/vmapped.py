"""The vmaps in progress, as random functions and the host need to know them."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from ..engine.aval import META, Aval, Placement
from ..engine.jax_settings import tracing
from ..engine.value import Value
from .modes import modes

__all__ = ["Vmapped", "drawn"]


class Vmapped:
    """One vmap in progress: the number of examples, the number of the present one (a tracer), and how random functions behave."""

    __slots__ = ("size", "index", "randomness")

    def __init__(self, size: int, index: object, randomness: str) -> None:
        self.size, self.index, self.randomness = size, index, randomness


def drawn(
    draw: Callable[..., np.ndarray],
    generator: object,
    shape: tuple[int, ...],
    dtype: np.dtype,
    placement: Placement,
    *args: object,
) -> Value:
    """Random numbers of this shape. In a vmap with ``randomness="different"`` they have one dimension more, one entry for each example.

    Raises:
        RuntimeError: within a vmap that was not told what to do with random functions.
    """
    if placement is META:  # nothing is drawn
        return Value.without_data(Aval(shape, np.dtype(dtype), META))
    if not modes.vmaps:
        return Value.on_host(draw(generator, shape, dtype, *args), placement)
    levels = _that_differ()
    array = draw(generator, (*[level.size for level in levels], *shape), dtype, *args)
    if not levels:
        return Value.on_host(array, placement)
    return tracing(_own_part)(array, levels)


def _own_part(array: np.ndarray, levels: list[Vmapped]) -> Value:
    return Value.of(jnp.asarray(array)[tuple(level.index for level in levels)])


def check_same() -> None:
    """Checks a function that can only draw the same numbers for all examples of a vmap.

    Raises:
        RuntimeError: the vmap was not told what to do with random functions.
        NotImplementedError: it wants different numbers.
    """
    if modes.vmaps and _that_differ():
        raise NotImplementedError(
            "torchlike does not support this random function within vmap(randomness='different') yet"
        )


def _that_differ() -> list[Vmapped]:
    if any(level.randomness == "error" for level in modes.vmaps):
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags "
            "on vmap or perform the randomness operation out of vmap"
        )
    return [level for level in modes.vmaps if level.randomness == "different"]
