"""The Mersenne Twister of PyTorch's CPU generator: the raw words that all random numbers are made of."""

from __future__ import annotations

import sys
from importlib import import_module
from math import ceil
from typing import Any

import numpy as np

try:
    twister: Any = import_module(".twister", __package__)
except ImportError:  # built without a compiler
    twister = None

WORDS = 624  # words in the twister's state
IN_MEMORY = slice(
    None, None, -1 if sys.byteorder == "little" else 1
)  # the order of the two halves of a number of 64 bits


class MT19937:
    """PyTorch's stream of 32-bit words. ``twister.c`` draws them, and NumPy where the package was built without a compiler.

    Args:
        seed: an integer; its lowest 32 bits count, as in PyTorch.

    >>> from torchlike.random_streams.mt19937 import MT19937
    >>> MT19937(5489).words32(3).tolist()
    [3499211612, 581869302, 3890346734]

    Source: Matsumoto and Nishimura, "Mersenne Twister" (1998), the 2002 seeding.
    """

    def __init__(self, seed: int) -> None:
        self._state = np.zeros(WORDS + 1, np.uint32)  # and how many words of the block have been handed out
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Starts the stream of another seed."""
        state = np.random.RandomState(seed & 0xFFFFFFFF).get_state(legacy=False)
        self._set(state["state"]["key"], WORDS + 1)

    def words32(self, count: int) -> np.ndarray:
        """The next ``count`` words, as uint32."""
        words = np.empty(count, np.uint32)
        if twister is not None:
            twister.words(self._state, words)
        elif count:
            # ``random_raw`` gives the tempered 32-bit words of the twister, each in 64 bits.
            bits = np.random.MT19937(0)
            position = min(int(self._state[WORDS]), WORDS)
            bits.state = {"bit_generator": "MT19937", "state": {"key": self._state[:WORDS], "pos": position}}
            words[:] = bits.random_raw(count)
            state = bits.state["state"]
            self._set(state["key"], state["pos"])
        return words

    def words64(self, count: int) -> np.ndarray:
        """The next ``count`` 64-bit words, as uint64, each of two 32-bit words, the upper half first."""
        pairs = self.words32(2 * count).reshape(count, 2)
        return np.ascontiguousarray(pairs[:, IN_MEMORY]).view(np.uint64).reshape(count)

    def below(self, share: float, count: int, chosen: float) -> np.ndarray:
        """``chosen`` in float32 where a number on [0, 1), the lower 53 bits of the next 64-bit word, is below a share of one; else 0."""
        limit = ceil(share * 2**53)  # a power of two: nothing is rounded
        if twister is None:
            return np.where(
                self.words64(count) & np.uint64(2**53 - 1) < np.uint64(limit), np.float32(chosen), np.float32(0)
            )
        result = np.empty(count, np.float32)
        twister.below(self._state, result, limit, chosen)
        return result

    def word32(self) -> int:
        """The next word, as a Python number."""
        return int(self.words32(1)[0])

    def save(self) -> tuple[np.ndarray, int]:
        """The state's words (uint32) and the number of the next one to hand out; 0 for a stream just seeded.

        A stream just seeded and one at the end of a block both must first make a new block. PyTorch's number tells
        them apart (0 and 624).
        """
        position = int(self._state[WORDS])
        return self._state[:WORDS].copy(), 0 if position > WORDS else position

    def load(self, words: np.ndarray, position: int) -> None:
        """Goes back to what ``save`` gave."""
        self._set(words, position or WORDS + 1)

    def _set(self, words: np.ndarray, position: int) -> None:
        state = np.empty(WORDS + 1, np.uint32)
        state[:WORDS] = words
        state[WORDS] = position
        self._state = state  # at once, for signal handlers
