"""Memory in which a worker process lays the arrays of its batches, and in which the program uses them: nothing is copied on the way.

A worker has several blocks. The program maps a block when it first gets a batch in it, and keeps it mapped. Once no array of the batch is
left there, the program says so with the next task, and the worker lays another batch in the block.
"""

import mmap
import os
import pickle
import tempfile
from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from ..._core.storage import Token

__all__ = ["Blocks", "Layout", "Mapped", "anonymous_file", "mapped", "parts_of"]

ALIGNMENT = 64
# Batches of changing sizes find room in blocks that are a little larger than the first batch.
SPARE_ROOM = 8
_FOLDER = "/dev/shm" if os.path.isdir("/dev/shm") else None


def anonymous_file(nbytes: int) -> int:
    """The descriptor of a file in memory that has no name and goes with its last user."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("torchlike batch", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile(dir=_FOLDER) as temporary:
            file = os.dup(temporary.fileno())
    os.truncate(file, nbytes)
    return file


def mapped(file: int, nbytes: int) -> np.ndarray:
    """The bytes of such a file."""
    return np.frombuffer(mmap.mmap(file, nbytes), np.uint8)


class Layout:
    """Where parts lie in a memory, one after the other, and behind them an index of their places.

    ``index``: the place of the index, which is all that has to be sent. ``end``: the size of all.
    """

    def __init__(self, parts: Sequence[memoryview]) -> None:
        self._parts, self._spans, end = parts, list[tuple[int, int]](), 0
        for part in parts:
            self._spans.append((end, part.nbytes))
            end = -(-(end + part.nbytes) // ALIGNMENT) * ALIGNMENT
        self._index = pickle.dumps(self._spans)
        self.index = end, len(self._index)
        self.end = end + len(self._index)

    def lay(self, memory: np.ndarray) -> None:
        """Copies all parts to their places."""
        for part, (begin, size) in zip(self._parts, self._spans, strict=True):
            if size:
                memory[begin : begin + size] = np.frombuffer(part, np.uint8)
        memory[self.index[0] : self.end] = np.frombuffer(self._index, np.uint8)


def parts_of(memory: np.ndarray, index: tuple[int, int]) -> list[np.ndarray]:
    """The parts that lie in a memory, by the place of their index."""
    begin, size = index
    return [memory[begin : begin + size] for begin, size in pickle.loads(memory[begin : begin + size].data)]


class Blocks:
    """A worker's blocks. ``spare``: how many free ones it keeps at most."""

    def __init__(self, spare: int) -> None:
        self._spare = spare
        self._memory: dict[int, np.ndarray] = {}
        self._free: list[int] = []
        self._made = 0
        self.dropped: list[int] = []  # numbers of blocks that are no more, of which the program has not heard yet

    def take(self, nbytes: int) -> tuple[int, np.ndarray, int | None]:
        """A free block of at least this size: its number, its memory, and its file if it is new."""
        fitting = [number for number in self._free if self._memory[number].nbytes >= nbytes]
        if fitting:
            number = min(fitting, key=lambda number: self._memory[number].nbytes)
            self._free.remove(number)
            return number, self._memory[number], None
        self._drop(self._free)  # they are too small
        size = -(-(nbytes + nbytes // SPARE_ROOM) // mmap.PAGESIZE) * mmap.PAGESIZE
        file = anonymous_file(size)
        number, self._made = self._made, self._made + 1
        memory = self._memory[number] = mapped(file, size)
        return number, memory, file

    def give_back(self, numbers: Iterable[int]) -> None:
        """Notes that the program uses these blocks no more."""
        self._free.extend(numbers)
        self._drop(self._free[self._spare :])

    def _drop(self, numbers: Iterable[int]) -> None:
        for number in list(numbers):
            self._free.remove(number)
            del self._memory[number]
            self.dropped.append(number)


class _Loan(Token):
    """The base of the arrays of one batch. While one of them lives, the worker does not touch the block."""

    __slots__ = ("_number", "_returned")

    def __init__(self, memory: np.ndarray, number: int, returned: deque[int]) -> None:
        super().__init__(memory)
        self._number, self._returned = number, returned

    def __del__(self) -> None:
        self._returned.append(self._number)


class Mapped:
    """A worker's blocks as the program sees them."""

    def __init__(self) -> None:
        self._memory: dict[int, np.ndarray] = {}
        self._returned: deque[int] = deque()

    def parts(self, number: int, file: int | None, nbytes: int, index: tuple[int, int]) -> list[np.ndarray]:
        """The parts that lie in a block. ``file``: of a block that is new."""
        if file is not None:
            self._memory[number] = mapped(file, nbytes)
        return parts_of(np.asarray(_Loan(self._memory[number], number, self._returned)), index)

    def forget(self, numbers: Iterable[int]) -> None:
        """Unmaps blocks that the worker has dropped."""
        for number in numbers:
            self._memory.pop(number, None)

    def returned(self) -> list[int]:
        """The numbers of the blocks that have come free since the last call."""
        return [self._returned.popleft() for _ in range(len(self._returned))]
