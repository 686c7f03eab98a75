"""One list of NumPy calls for several operations in a row, whose plans it joins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from importlib import import_module
from typing import Any, Self

from ..places import at_places, places_of
from .fused import fuse
from .plan import Plan
from .products import as_they_lie
from .running import EndingCall, needed_for, run, with_ends

try:
    tape: Any = import_module(".tape", __package__)
except ImportError:  # built without a compiler
    tape = None


def wait_for_flown() -> None:
    """Returns when all that ``JoinedPlan.begin`` has begun is computed."""
    if tape is not None:
        tape.wait()


class JoinedPlan:
    """The plans of operations that run one after the other, as one.

    An operation by itself takes a dozen calls of Python functions before and after its calls of NumPy: its inputs are picked from a table,
    its constants are copied, its results are entered. Joined plans share one list of slots, so nothing of this is left.

    ``inputs``, ``outputs``: positions in the table of the path, of what is read from there, and of what later operations read or somebody
    holds. ``unread``: of the inputs that no later operation reads.
    """

    __slots__ = ("inputs", "outputs", "unread", "_slots", "_first_input", "_needed", "_picked", "_made", "_tape")

    def __init__(self, steps: Sequence[tuple[Plan, Sequence[int], Sequence[int]]], unread: Iterable[int]) -> None:
        """``steps``: plans, and where their inputs and results stand. ``unread``: of these, what nobody reads after the steps."""
        made = [position for *_, outputs in steps for position in outputs]
        made_here, gone = set(made), set(unread)
        self.inputs = tuple(dict.fromkeys([p for _, inputs, _ in steps for p in inputs if p not in made_here]))
        self.outputs = tuple([position for position in made if position not in gone])
        self.unread = tuple(gone.difference(made))
        parts = [plan.slots_around(len(inputs)) for plan, inputs, _ in steps]
        constants = [constant for before, _ in parts for constant in before]
        self._first_input = first = len(constants)
        slot_of = {position: first + number for number, position in enumerate(self.inputs)}
        others: list[object] = [None] * len(slot_of)
        calls, start = [], 0
        for (plan, inputs, outputs), (before, after) in zip(steps, parts, strict=True):
            used = first + len(others)
            slots = [
                *range(start, start + len(before)),
                *[slot_of[position] for position in inputs],
                *range(used, used + len(after)),
            ]
            start += len(before)
            others += after
            calls += plan.calls_in(slots)
            slot_of.update(zip(outputs, plan.outputs_in(slots), strict=True))
        self._slots = (*constants, *others)
        picked = [slot_of[position] for position in self.outputs]
        self._picked = at_places(picked)
        self._needed = needed_for(picked, calls)
        self._made: list[tuple[EndingCall, ...]] = []  # ``_calls``, of this plan and of those that ``at`` makes of it
        self._tape = tape and tape.Tape(self._slots, first, self._needed, tuple(picked))

    @property
    def _calls(self) -> tuple[EndingCall, ...]:
        """What NumPy computes where there is no tape."""
        if not self._made:
            picked = places_of(self._picked)
            kept = (*range(self._first_input), *picked)
            self._made.append(with_ends(fuse(as_they_lie(self._needed, picked), kept), kept))
        return self._made[0]

    def at(self, positions: Sequence[int]) -> Self:
        """The same plan for a table where what stands at place ``n`` here is at ``positions[n]``."""
        moved = copy(self)
        moved.inputs, moved.outputs, moved.unread = [
            tuple([positions[place] for place in places]) for places in (self.inputs, self.outputs, self.unread)
        ]
        return moved

    def __call__(self, arrays: Sequence[object]) -> Sequence[object]:
        """The results at ``outputs``, of the arrays at ``inputs``."""
        return self.consuming([*arrays])

    def begin(self, arrays: list[object]) -> list[object] | None:
        """The results, which another thread computes until ``tape.wait``; None where they are better computed at once."""
        return self._tape and self._tape.begin(arrays)

    def consuming(self, arrays: list[Any]) -> Sequence[object]:
        """The same, of arrays that the list alone holds: it is emptied, and results may be written over them."""
        if self._tape is not None:
            results = self._tape.run(arrays)
            if results is not None:
                arrays.clear()
                return results
        slots = [*self._slots]
        first = self._first_input
        slots[first : first + len(arrays)] = arrays
        arrays.clear()
        run(slots, self._calls)
        return self._picked(slots)
