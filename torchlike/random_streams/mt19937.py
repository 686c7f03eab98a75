"""The Mersenne Twister of PyTorch's CPU generator, on NumPy's: the raw words that all random numbers are made of."""

import numpy as np

WORDS = 624  # words in the twister's state


class MT19937:
    """PyTorch's stream of 32-bit words.

    Args:
        seed: an integer; its lowest 32 bits count, as in PyTorch.

    >>> from torchlike.random_streams.mt19937 import MT19937
    >>> MT19937(5489).words32(3).tolist()
    [3499211612, 581869302, 3890346734]

    Source: Matsumoto and Nishimura, "Mersenne Twister" (1998), the 2002 seeding.
    """

    def __init__(self, seed: int) -> None:
        self._bits = np.random.MT19937(0)
        self.reseed(seed)

    def reseed(self, seed: int) -> None:
        """Starts the stream of another seed."""
        np.random.RandomState(self._bits).seed(seed & 0xFFFFFFFF)  # seeds the bit generator that it stands on
        self._fresh = True

    def words32(self, count: int) -> np.ndarray:
        """The next ``count`` words, as uint32."""
        # ``random_raw`` gives the tempered 32-bit words of the twister, each in 64 bits.
        return self._raw(count).astype(np.uint32)

    def words64(self, count: int) -> np.ndarray:
        """The next ``count`` 64-bit words, as uint64, each of two 32-bit words, the upper half first."""
        halves = self._raw(2 * count)
        return halves[0::2] << np.uint64(32) | halves[1::2]

    def word32(self) -> int:
        """The next word, as a Python number."""
        return int(self._raw(1)[0])

    def _raw(self, count: int) -> np.ndarray:
        if count:
            self._fresh = False
        return self._bits.random_raw(count)

    def save(self) -> tuple[np.ndarray, int]:
        """The state's words (uint32) and the number of the next one to hand out; 0 for a stream just seeded.

        A stream just seeded and one at the end of a block both must first make a new block. PyTorch's number tells
        them apart (0 and 624), NumPy's does not.
        """
        state = self._bits.state["state"]
        return state["key"], 0 if self._fresh else state["pos"]

    def load(self, words: np.ndarray, position: int) -> None:
        """Goes back to what ``save`` gave."""
        self._fresh = position == 0
        pos = WORDS if self._fresh else position
        self._bits.state = {"bit_generator": "MT19937", "state": {"key": words.astype(np.uint32), "pos": pos}}
