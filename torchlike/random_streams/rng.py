"""Random generators: PyTorch's CPU generator, the process's default one, a thread's own in its place, and those of accelerators.

>>> from torchlike.random_streams.rng import Generator
>>> Generator().manual_seed(0).initial_seed()
0
"""

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import numpy as np

from ..engine.handlers import HeldBack
from ..engine.threads import held_by_forks
from .mt19937 import MT19937, WORDS

DEFAULT_SEED = 67280421310721  # of a new generator, as in PyTorch

# A state as PyTorch lays it out, 5056 bytes. ``left`` counts down to the next block of words; of the fields for normal
# numbers only ``normal_y``, the second of a pair not yet handed out, is in use.
_STATE = np.dtype(
    [
        ("seed", "<u8"), ("left", "<i4"), ("seeded", "<i4"), ("next", "<u8"), ("words", "<u8", WORDS),
        ("normal_x", "<f8"), ("normal_y", "<f8"), ("normal_rho", "<f8"), ("normal_is_valid", "<i4"), ("unused", "V12"),
    ]
)  # fmt: skip


class Generator:
    """A source of random numbers with PyTorch's CPU stream and state.

    Args:
        device: the CPU, as a name or a device. Accelerators have a ``CounterGenerator``.

    Raises:
        NotImplementedError: another device is asked for. The methods raise PyTorch's errors.

    >>> from torchlike.random_streams.rng import Generator
    >>> generator = Generator().manual_seed(2147483647)
    >>> other = generator.clone_state()
    >>> generator.stream.word32() == other.stream.word32()
    True

    Source: https://docs.pytorch.org/docs/stable/generated/torch.Generator.html
    """

    def __init__(self, device: object = "cpu") -> None:
        if str(device).partition(":")[0] != "cpu":
            raise NotImplementedError(f"Generator(device={str(device)!r}): this is the CPU's generator")
        self.device = device
        self.lock = held_by_forks(threading.RLock())  # held while a sample is drawn: two threads' words never mix
        self.stream = MT19937(DEFAULT_SEED)
        self.next_normal: float | None = None  # the second of a pair of normal numbers, where only one was needed
        self._seed = DEFAULT_SEED

    def manual_seed(self, seed: int) -> Self:
        """Starts the stream of ``seed``, an integer from −2⁶³ to 2⁶⁴ − 1 (its lowest 32 bits count); the generator."""
        if isinstance(seed, np.integer):
            raise TypeError("an integer is required")
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        with self.lock, HeldBack():
            self._seed = seed % 2**64
            self._begin()
        return self

    def _begin(self) -> None:
        """Goes to the beginning of the seed's stream."""
        self.stream.reseed(self._seed)
        self.next_normal = None

    def seed(self) -> int:
        """Starts the stream of a seed from the operating system; the seed."""
        seed = secrets.randbits(64)
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed that the stream started from."""
        return self._seed

    def get_state(self) -> np.ndarray:
        """The state as PyTorch's bytes: uint8, shape (5056,)."""
        return self.raw_state()

    def set_state(self, state: np.ndarray) -> None:
        """Goes back to a state from ``get_state``, here or in PyTorch.

        Raises:
            TypeError: the state is not an array of uint8. RuntimeError: it has another size or is not contiguous, or its bytes are no
            generator's.
        """
        self.set_raw_state(state)

    # A subclass has methods ``get_state`` and ``set_state`` that return and take tensors. Those that follow are of arrays everywhere.

    def raw_state(self) -> np.ndarray:
        """The state as an array."""
        state = np.zeros((), _STATE)
        with self.lock, HeldBack():
            words, position = self.stream.save()
            state["seed"] = self._seed
            state["words"] = words
            state["next"] = position
            state["left"] = _words_left(position)
            state["seeded"] = 1
            if self.next_normal is not None:
                state["normal_y"] = self.next_normal
                state["normal_is_valid"] = 1
        return np.frombuffer(bytearray(state.tobytes()), np.uint8)

    def set_raw_state(self, state: np.ndarray) -> None:
        """``set_state`` of an array."""
        _check_state(state)
        if state.size != _STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE.itemsize} but found the input RNG state size"
                f" to be {state.size}"
            )
        fields = state.reshape(-1).view(_STATE)[0]
        position = int(fields["next"])
        if fields["seeded"] != 1 or position > WORDS or fields["left"] != _words_left(position):
            raise RuntimeError("Invalid mt19937 state")
        with self.lock, HeldBack():
            self._seed = int(fields["seed"])
            self.stream.load(fields["words"], position)
            self.next_normal = float(fields["normal_y"]) if fields["normal_is_valid"] else None

    def clone_state(self) -> Self:
        """A generator of its own in the same state."""
        clone = type(self)(self.device)
        clone.set_raw_state(self.raw_state())
        return clone

    def get_offset(self) -> int:
        """Raises RuntimeError: the CPU's stream has no offset."""
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> None:
        """Raises RuntimeError: the CPU's stream has no offset."""
        raise RuntimeError("CPU Generator does not use offset")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.device,), self.raw_state()

    def __setstate__(self, state: np.ndarray) -> None:
        self.set_raw_state(state)


def _check_state(state: object) -> None:
    if not isinstance(state, np.ndarray):
        raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
    if state.dtype != np.uint8:
        raise TypeError("RNG state must be a torch.ByteTensor")
    if not state.flags.c_contiguous:
        raise RuntimeError("RNG state must be contiguous")


def _words_left(position: int) -> int:
    """PyTorch's count of words, one more than are left in the block; 1 where the next word makes a new block."""
    return WORDS + 1 - position if position else 1


class CounterGenerator(Generator):
    """The source of an accelerator's random numbers: a seed, and an offset in its stream that every sample advances.

    The numbers are a function of both (``numerics/philox.py``), so a program on the device computes them, and no state has to be read
    from it: seed and offset are known here at any time. ``kept`` may hold a copy of them on the device.

    >>> from torchlike.random_streams.rng import CounterGenerator
    >>> generator = CounterGenerator("cuda").manual_seed(1)
    >>> generator.next(), generator.next()
    ((1, 0), (1, 4))

    Source: https://docs.pytorch.org/docs/stable/generated/torch.Generator.html
    """

    def __init__(self, device: object) -> None:
        self.device = device
        self.lock = threading.RLock()
        self._seed, self._offset = DEFAULT_SEED, 0
        self.kept: object = None
        self.first = self.raw_state()  # of a default generator: as it was made

    def _begin(self) -> None:
        self._offset = 0

    def next(self) -> tuple[int, int]:
        """Seed and offset of one sample. The next sample has another offset."""
        with self.lock, HeldBack():
            found = self._seed, self._offset
            self._offset = (self._offset + 4) % 2**64
        return found

    def on_host(self) -> Generator:
        """A generator of the CPU's kind for one sample that no program on the device draws. Seed and offset determine its numbers."""
        seed, offset = self.next()
        return Generator().manual_seed((seed * 6364136223846793005 + offset + 1442695040888963407) % 2**64)

    def raw_state(self) -> np.ndarray:
        """Seed and offset, 8 bytes each, as PyTorch lays them out."""
        with self.lock:
            return np.array([self._seed, self._offset], "<u8").view(np.uint8)

    def set_raw_state(self, state: np.ndarray) -> None:
        """``set_state`` of an array."""
        _check_state(state)
        if state.size not in (8, 16):  # PyTorch takes a seed without an offset, too
            raise RuntimeError("RNG state is wrong size")
        numbers = [int(n) for n in state.reshape(-1).view("<u8")]
        with self.lock:
            self._seed, self._offset = numbers[0], numbers[1] if len(numbers) > 1 else 0

    def get_offset(self) -> int:
        """The offset in the stream: a multiple of 4."""
        return self._offset

    def set_offset(self, offset: int) -> None:
        """Goes to an offset of the stream.

        Raises:
            RuntimeError: it is no multiple of 4.
        """
        if offset % 4:
            raise RuntimeError("offset must be a multiple of 4")
        with self.lock:
            self._offset = offset % 2**64


default_generator = Generator()
default_generator.seed()  # PyTorch's, too, starts somewhere else in each process


def draw_seed(generator: Generator | None = None) -> int:
    """A seed from 0 to 2⁶³ − 1, drawn as ``torch.empty((), dtype=torch.int64).random_()`` draws it.

    >>> from torchlike.random_streams.rng import Generator, draw_seed
    >>> draw_seed(Generator().manual_seed(0))
    900450186894289455
    """
    generator = generator or default_generator
    with generator.lock:
        return int(generator.stream.words64(1)[0]) % 2**63


# The default generators of accelerators, by what the layer above takes for a device.
of_accelerators: dict[object, CounterGenerator] = {}


def states() -> list[tuple[Generator, np.ndarray]]:
    """The states of the default generators, of the CPU and of all accelerators."""
    return [(each, each.raw_state()) for each in (default_generator, *of_accelerators.values())]


@contextmanager
def state_as(before: list[tuple[Generator, np.ndarray]] | None) -> Iterator[None]:
    """While the context lasts, generators go on from these states; afterwards from where they were. None: nothing is changed."""
    if before is None:
        yield
        return
    known = {id(generator) for generator, _ in before}
    # A device's generator is made when it is first needed. At the time of ``before`` it would have been as it was made.
    before = [*before, *((each, each.first) for each in of_accelerators.values() if id(each) not in known)]
    now = [(generator, generator.raw_state()) for generator, _ in before]
    for generator, state in before:
        generator.set_raw_state(state)
    try:
        yield
    finally:
        for generator, state in now:
            generator.set_raw_state(state)
