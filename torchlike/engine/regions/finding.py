"""Finds what repeats in a path: the layers of a model, forward and backward, which are then compiled once each.

A run of steps repeats if the same kernels come again in the same order, and each reads what its counterpart reads: an output of the
same step of its own round, or something from outside. What comes from outside is an argument of the compiled round, so its place does
not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..kernel import Kernel
from ..trace import Path, Step

# A program is divided where this many steps need not be compiled again. Below it, an executable costs as much as it saves.
MIN_SAVED = 100
# Nor is it where a round takes less than this, op by op: calling its executable takes some 20 us.
MIN_SECONDS_PER_ROUND = 0.5e-3
# A run is worth an executable of its own from this many steps on that it saves.
MIN_SAVED_BY_RUN = 10


class Run(NamedTuple):
    """``count`` rounds of ``length`` entries each, from an entry on. A part that does not repeat is one round."""

    start: int
    length: int
    count: int

    @property
    def saved(self) -> int:
        """Entries that equal earlier ones."""
        return self.length * (self.count - 1)


def runs(entries: Sequence[Hashable]) -> list[Run]:
    """Divides a sequence into parts that repeat and parts between them.

    >>> from torchlike.engine.regions.finding import runs
    >>> [tuple(run) for run in runs("x" + "abcdefghijkl" * 3 + "yz")]
    [(0, 1, 1), (1, 12, 3), (37, 2, 1)]
    """
    numbers: dict[Hashable, int] = {}
    kinds = np.array([numbers.setdefault(entry, len(numbers)) for entry in entries], np.int64)
    return list(_divided(kinds, 0, len(kinds)))


def _divided(kinds: np.ndarray, start: int, end: int) -> Iterator[Run]:
    best = _most_saving(kinds[start:end])
    if best.saved < MIN_SAVED_BY_RUN:
        if end > start:
            yield Run(start, end - start, 1)
        return
    begin = start + best.start
    yield from _divided(kinds, start, begin)
    yield Run(begin, best.length, best.count)
    yield from _divided(kinds, begin + best.length * best.count, end)


def _most_saving(kinds: np.ndarray) -> Run:
    best = Run(0, len(kinds), 1)
    for length in range(1, len(kinds) // 2 + 1):
        differs = np.flatnonzero(kinds[:-length] != kinds[length:])
        borders = np.concatenate(([-1], differs, [len(kinds) - length]))
        equal = np.diff(borders) - 1  # how many entries in a row equal those one round later
        longest = int(equal.argmax())
        run = Run(int(borders[longest]) + 1, length, int(equal[longest]) // length + 1)
        if run.saved > best.saved:
            best = run
    return best


class Part(NamedTuple):
    """Steps that are compiled together, and what they read from outside, once for each round."""

    rounds: tuple[tuple[int, ...], ...]  # numbers of steps
    arguments: tuple[tuple[int, ...], ...]  # positions, in the same order for each round


def parts(path: Path, numbers: Sequence[int]) -> list[Part]:
    """These steps of a path, in their order, as parts of which each is compiled once."""
    found: list[Part] = []
    for run in runs([path.steps[number].kernel for number in numbers]):
        rounds = [
            tuple(numbers[run.start + n * run.length : run.start + (n + 1) * run.length]) for n in range(run.count)
        ]
        wired = [_wiring(path, each) for each in rounds]
        begin = 0
        for n in range(1, run.count + 1):
            if n == run.count or wired[n][1] != wired[begin][1]:
                found.append(Part(tuple(rounds[begin:n]), tuple([arguments for arguments, _ in wired[begin:n]])))
                begin = n
    return found


def _wiring(path: Path, numbers: Sequence[int]) -> tuple[tuple[int, ...], list[int]]:
    """The positions that some steps read from outside, and what each of their inputs is: an argument (from 0 on), or what the steps
    compute themselves (the outputs in order, from -1 down).
    """
    own = {position: -1 - n for n, position in enumerate(outputs_of(path, numbers))}
    arguments: dict[int, int] = {}
    wiring = [
        own[position] if position in own else arguments.setdefault(position, len(arguments))
        for number in numbers
        for position in path.steps[number].inputs
    ]
    return tuple(arguments), wiring


def outputs_of(path: Path, numbers: Sequence[int]) -> list[int]:
    """The positions that some steps compute, in order."""
    return [position for number in numbers for position in path.steps[number].outputs]


def pays(path: Path, found: Sequence[Part], seconds_of: Callable[[Kernel], float]) -> bool:
    """Whether it pays to divide a program into these parts.

    Args:
        seconds_of: about how long an op takes.
    """
    if sum(len(part.rounds[0]) * (len(part.rounds) - 1) for part in found) < MIN_SAVED:
        return False
    rounds = [numbers for part in found if len(part.rounds) > 1 for numbers in part.rounds]
    seconds = sum(seconds_of(path.steps[number].kernel) for numbers in rounds for number in numbers)
    return seconds >= MIN_SECONDS_PER_ROUND * len(rounds)


def compiled_steps(path: Path, seconds_of: Callable[[Kernel], float]) -> Sequence[Step]:
    """The steps of a path that are compiled: all, or of a part that repeats one round."""
    if len(path.steps) < MIN_SAVED:
        return path.steps
    found = parts(path, range(len(path.steps)))
    if not pays(path, found, seconds_of):
        return path.steps
    return [path.steps[number] for part in found for number in part.rounds[0]]
