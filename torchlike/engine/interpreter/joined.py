"""One list of NumPy calls for several operations in a row, whose plans it joins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from ..places import at_places
from .fused import fuse
from .plan import Plan
from .products import as_they_lie
from .running import needed_for, run, with_ends


class Step(Protocol):
    """The part of a step of a path that is used here: where its inputs and outputs stand in the table of the path."""

    @property
    def inputs(self) -> Sequence[int]: ...
    @property
    def outputs(self) -> Sequence[int]: ...


class JoinedPlan:
    """The plans of operations that run one after the other, as one.

    An operation by itself takes a dozen calls of Python functions before and after its calls of NumPy: its inputs are picked from a table,
    its constants are copied, its results are entered. Joined plans share one list of slots, so nothing of this is left.

    ``inputs``, ``outputs``: positions in the table of the path, of what is read from there, and of what later operations read or somebody
    holds. ``unread``: of the inputs that no later operation reads.
    """

    __slots__ = ("inputs", "outputs", "unread", "_slots", "_first_input", "_calls", "_picked")

    def __init__(self, steps: Sequence[tuple[Step, Plan]], unread: Iterable[int]) -> None:
        """``unread``: the positions, of inputs or of results of the steps, that nobody reads after these steps."""
        made = [position for step, _ in steps for position in step.outputs]
        made_here, gone = set(made), set(unread)
        self.inputs = tuple(dict.fromkeys([p for step, _ in steps for p in step.inputs if p not in made_here]))
        self.outputs = tuple([position for position in made if position not in gone])
        self.unread = tuple(gone.difference(made))
        parts = [plan.slots_around(len(step.inputs)) for step, plan in steps]
        constants = [constant for before, _ in parts for constant in before]
        self._first_input = first = len(constants)
        slot_of = {position: first + number for number, position in enumerate(self.inputs)}
        others: list[object] = [None] * len(slot_of)
        calls, start = [], 0
        for (step, plan), (before, after) in zip(steps, parts, strict=True):
            used = first + len(others)
            slots = [
                *range(start, start + len(before)),
                *[slot_of[position] for position in step.inputs],
                *range(used, used + len(after)),
            ]
            start += len(before)
            others += after
            calls += plan.calls_in(slots)
            slot_of.update(zip(step.outputs, plan.outputs_in(slots), strict=True))
        self._slots = (*constants, *others)
        picked = [slot_of[position] for position in self.outputs]
        self._picked = at_places(picked)
        kept = (*range(first), *picked)
        self._calls = with_ends(fuse(as_they_lie(needed_for(picked, calls), picked), kept), kept)

    def __call__(self, arrays: Sequence[object]) -> Sequence[object]:
        """The results at ``outputs``, of the arrays at ``inputs``."""
        return self.consuming([*arrays])

    def consuming(self, arrays: list[Any]) -> Sequence[object]:
        """The same, of arrays that the list alone holds: it is emptied, and results may be written over them."""
        slots = [*self._slots]
        first = self._first_input
        slots[first : first + len(arrays)] = arrays
        arrays.clear()
        run(slots, self._calls)
        return self._picked(slots)
