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
from ..trace import Path

# A program is divided where this many steps need not be compiled again. Below it, an executable costs as much as it saves.
MIN_SAVED = 100
# Nor is it where a round takes less than this, op by op: calling its executable takes some 20 us.
MIN_SECONDS_PER_ROUND = 0.5e-3
# A run is worth an executable of its own from this many steps on that it saves.
MIN_SAVED_BY_RUN = 10


class Run(NamedTuple):
    """``count`` rounds of ``length`` equal entries each, from an entry on."""

    start: int
    length: int
    count: int

    @property
    def saved(self) -> int:
        """Entries that equal earlier ones."""
        return self.length * (self.count - 1)

    def rounds(self) -> list[range]:
        """The entries of each round."""
        begins = range(self.start, self.start + self.length * self.count, self.length)
        return [range(begin, begin + self.length) for begin in begins]


def repeats(entries: Sequence[Hashable]) -> list[list[range]]:
    """Divides a sequence into parts, each a list of ranges of equal entries: one range, or several where a part repeats.

    >>> from torchlike.engine.regions.finding import repeats
    >>> repeats("x" + "abcdefghijkl" * 3 + "yz")
    [[range(0, 1)], [range(1, 13), range(13, 25), range(25, 37)], [range(37, 39)]]
    """
    numbers: dict[Hashable, int] = {}
    kinds = np.array([numbers.setdefault(entry, len(numbers)) for entry in entries], np.int64)
    return list(_divided(kinds, 0, len(kinds)))


def _divided(kinds: np.ndarray, start: int, end: int) -> Iterator[list[range]]:
    best = _most_saving(kinds[start:end])
    if best.saved < MIN_SAVED_BY_RUN:
        if end > start:
            yield [range(start, end)]
        return
    rounds = best._replace(start=start + best.start).rounds()
    yield from _divided(kinds, start, rounds[0].start)
    yield rounds
    yield from _divided(kinds, rounds[-1].stop, end)


def _most_saving(kinds: np.ndarray) -> Run:
    best = Run(0, len(kinds), 1)
    for length in range(1, len(kinds) // 2 + 1):
        same = kinds[:-length] == kinds[length:]
        if np.count_nonzero(same) <= max(best.saved, MIN_SAVED_BY_RUN - 1):
            continue  # a run saves no more entries than equal those one round later
        differs = np.flatnonzero(~same)
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
    for equal in repeats([path.steps[number].kernel for number in numbers]):
        rounds = [tuple(numbers[each.start : each.stop]) for each in equal]
        wired = [_wiring(path, each) for each in rounds]
        if any(wiring != wired[0][1] for _, wiring in wired):
            # One layer reads a value twice where another one reads two values: the value is given to it twice.
            wired = [_wiring(path, each, once=False) for each in rounds]
        begin = 0
        for n in range(1, len(rounds) + 1):
            if n == len(rounds) or wired[n][1] != wired[begin][1]:
                found.append(Part(tuple(rounds[begin:n]), tuple([arguments for arguments, _ in wired[begin:n]])))
                begin = n
    return found


def _wiring(path: Path, numbers: Sequence[int], once: bool = True) -> tuple[tuple[int, ...], list[int]]:
    """The positions that some steps read from outside, and what each of their inputs is: an argument (from 0 on), or what the steps
    compute themselves (the outputs in order, from -1 down).

    Args:
        once: what is read several times is one argument.
    """
    own = {position: -1 - n for n, position in enumerate(outputs_of(path, numbers))}
    arguments: list[int] = []
    places: dict[int, int] = {}
    wiring: list[int] = []
    for position in [position for number in numbers for position in path.steps[number].inputs]:
        place = own.get(position)
        if place is None:
            place = places.get(position) if once else None
        if place is None:
            place = places[position] = len(arguments)
            arguments.append(position)
        wiring.append(place)
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


def compiled_ops(path: Path, seconds_of: Callable[[Kernel], float]) -> tuple[list[tuple[Kernel, float]], int]:
    """The ops of a path that are compiled, which share of each, and as how many executables: of what repeats one round."""
    if len(path.steps) >= MIN_SAVED:
        found = parts(path, range(len(path.steps)))
        if pays(path, found, seconds_of):
            ops, executables = [], len(found)
            for kernel in [path.steps[number].kernel for part in found for number in part.rounds[0]]:
                share, kinds = 1.0, None if kernel.pieces is None else kernel.pieces.kinds
                if kinds:
                    equal = repeats(kinds)
                    executables += len(equal)
                    share = sum(len(ranges[0]) for ranges in equal) / len(kinds)
                ops.append((kernel, share))
            return ops, executables
    return [(step.kernel, 1.0) for step in path.steps], 1
