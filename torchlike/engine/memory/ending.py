"""The last operations of a path that runs one by one, in the memory of inputs that nobody else needs.

A step of an optimizer reads all parameters and all state and makes them anew. If the old ones stayed until the new ones are there, as a
transaction wants it, the process would need their memory twice. So the run has two stages. The first computes everything before the step
and changes nothing: a handler that interrupts it computes the same from the same inputs. In the second the inputs that nobody holds are
given to the operations: each is dropped after its last use, or written over (``interpreter/running.py``). No handler runs from its
beginning until all outputs are stored, Ctrl-C included, so this stage has no more than a second of work beyond what it is there for. It
has only what cannot fail: calls of NumPy without index checks, for which there is memory.

Where it fails in spite of that, the values that were lost have none: reading them raises the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import numpy as np

from ..aval import check_allocation
from ..handlers import HeldBack
from ..interpreter import JoinedPlan
from ..program import donations, install, join, owned, run_joined, run_scheduled
from ..report import observers
from ..tiers import NOW, choice
from ..trace import Path, ScheduledStep
from ..value import Value

# Inputs of at least this many bytes are worth it.
LARGE_BYTES = 2**20
# How much work may be in the second stage besides the first operation that needs it, as estimated.
MAX_SECONDS = 1.0
# For how many arrays as large as the largest result of the second stage there must be room.
ARRAYS_AT_ONCE = 4


class Ending:
    """How a path is divided, for some live outputs and some inputs that may be taken."""

    __slots__ = ("first", "_schedule", "_before", "_plan", "_taken", "_bytes", "_placement")

    def __init__(self, path: Path, schedule: list[ScheduledStep], before: int, free: Sequence[int]) -> None:
        """``before``: how many of the scheduled steps belong to the first stage. ``free``: numbers of the inputs that nobody holds."""
        self._schedule, self._before = schedule, before
        last = schedule[before:]
        self.first = last[0][0]  # the number of the first step of the second stage
        self._plan: JoinedPlan = join(last)
        read_last = {position for *_, unread in last for position in unread}
        self._taken = [number for number in free if path.leaves[number] in read_last]
        kernels = [step.kernel for _, step, _ in last]
        self._bytes = ARRAYS_AT_ONCE * max(aval.nbytes for kernel in kernels for aval in kernel.out_avals)
        self._placement = kernels[0].out_avals[0].placement

    def begin(self, path: Path, arrays: Sequence[object]) -> dict[int, Any]:
        """The first stage: returns the table of arrays by position."""
        table = dict(zip(path.leaves, arrays, strict=True))
        run_scheduled(path, self._schedule, self._before, table)
        check_allocation(self._bytes, self._placement)
        return table

    def finish(self, live: tuple[int, ...], values: Sequence[Value], run: Any, table: dict[int, Any]) -> None:
        """The second stage. ``run``: the segment, which gives up its inputs."""
        with HeldBack(interrupts=True):
            if run.stored:  # by a handler that interrupted the first stage
                return
            for number in self._taken:
                run.leaf_arrays[number] = None
            with np.errstate(all="ignore"):
                run_joined(self._plan, table)
            install(values, [owned(table[position]) for position in live], run)

    def has_begun(self, arrays: Sequence[object]) -> bool:
        """Whether the second stage has taken inputs."""
        return any(arrays[number] is None for number in self._taken)


def ending_of(path: Path, live: tuple[int, ...], free: Sequence[int]) -> Ending | None:
    """How the path is divided; None if no large output can take over the memory of an input.

    Args:
        free: the numbers of the inputs that nobody holds.
    """
    if observers or choice.mode == NOW:
        return None
    wanted = [number for number in donations(path, live, free) if path.avals[path.leaves[number]].nbytes >= LARGE_BYTES]
    if not wanted:
        return None
    schedule, free = path.schedule(live), tuple(free)
    # A handler may run the same path meanwhile, with other values alive, so that what is kept is of another schedule.
    made_of, ending = path.endings.get(free, (None, None))
    if made_of is not schedule:
        before = _place(schedule, {path.leaves[number] for number in wanted})
        ending = None if before is None else Ending(path, schedule, before, free)
        path.endings[free] = schedule, ending
    return ending


def _place(schedule: list[ScheduledStep], wanted: set[int]) -> int | None:
    """How many of the steps come before the second stage; None if it would take nothing. ``wanted``: positions of inputs."""
    place, seconds = None, 0.0
    steps = takewhile(lambda each: _cannot_fail(each[1]), reversed([*enumerate(schedule)]))
    for number, (_, step, unread) in steps:
        seconds += step.kernel.plan().cost  # pyright: ignore[reportOptionalMemberAccess]
        if place is not None and seconds > MAX_SECONDS:
            break
        if not wanted.isdisjoint(unread):
            place = number
    return place


def _cannot_fail(scheduled: ScheduledStep) -> bool:
    kernel = scheduled[1].kernel
    alone = kernel.make_error is None and kernel.group is None and not kernel.on_mesh
    return alone and bool(kernel.out_avals) and kernel.plan() is not None
