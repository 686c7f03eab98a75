"""What pipes have in common that give samples in random order."""

from __future__ import annotations

import random
from typing import Self

from ...._core import dtypes
from ....ops import empty
from .datapipe import IterDataPipe

__all__ = ["ShufflingPipe"]


class ShufflingPipe(IterDataPipe):
    """A pipe whose order a program may switch on and off, and seed."""

    _enabled = True
    _seed: int | None = None

    def set_shuffle(self, shuffle: bool = True) -> Self:
        """Whether it shuffles at all; returns the pipe."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Self:
        """The seed of the next iteration; those after it take theirs from PyTorch's generator. Returns the pipe."""
        self._seed = seed
        return self

    def _generator(self) -> random.Random:
        """The generator of an iteration that begins."""
        seed, self._seed = self._seed, None
        return random.Random(int(empty((), dtype=dtypes.int64).random_().item()) if seed is None else seed)
