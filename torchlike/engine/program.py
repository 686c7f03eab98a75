"""Running a recorded path: op by op while it is cold, as one compiled program once it is hot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from . import checks
from .aval import Aval
from .kernel import Kernel, compile_ahead
from .value import put


@dataclass(frozen=True, slots=True)
class Step:
    """One op of a path: which kernel, and at which positions of the path's table its inputs and outputs stand."""

    kernel: Kernel
    inputs: tuple[int, ...]
    outputs: range


@dataclass(frozen=True, slots=True)
class Path:
    """All steps from the root of the trace tree to a node, and the table of values they speak of."""

    steps: tuple[Step, ...]
    leaves: tuple[int, ...]  # positions of the inputs, in order of first use
    outputs: tuple[int, ...]  # positions of what the steps compute
    avals: tuple[Aval, ...]  # by position

    def needed(self, live: frozenset[int]) -> list[Step]:
        """The steps that the live outputs depend on, and those with a check, which has to run whatever becomes of the result."""
        wanted, kept = set(live), []
        for step in reversed(self.steps):
            if step.kernel.complain is not None or not wanted.isdisjoint(step.outputs):
                wanted.update(step.inputs)
                kept.append(step)
        return kept[::-1]


class Program:
    """A compiled executable for one path, one set of live outputs and one set of donated leaves."""

    __slots__ = ("live", "donated", "donated_bytes", "_call", "_complaints", "_clean")

    def __init__(self, path: Path, live: Sequence[int], donated: tuple[int, ...]) -> None:
        steps = path.needed(frozenset(live))
        self.live = tuple(live)
        self.donated = donated
        self.donated_bytes = sum(path.avals[path.leaves[i]].nbytes for i in self.donated)
        self._complaints = [s.kernel.complain for s in steps if s.kernel.complain is not None]
        table_size, leaves = len(path.avals), path.leaves
        avals = [path.avals[i] for i in leaves]
        if self._complaints:
            # The verdicts of the run before go in, and a bad one stays: the host has one array to look at, after any number of runs.
            placement = avals[0].placement if avals else path.avals[path.outputs[0]].placement
            clean = np.zeros((len(self._complaints), 2), np.int64)
            self._clean = put(clean, placement)
            avals.append(Aval(clean.shape, clean.dtype, placement))

        def program(*arrays: Any) -> list[Any]:
            table: list[Any] = [None] * table_size
            for position, array in zip(leaves, arrays, strict=False):
                table[position] = array
            verdicts = []
            for step in steps:
                outs = step.kernel.fn(*[table[i] for i in step.inputs])
                for position, out in zip(step.outputs, outs, strict=False):
                    table[position] = out
                if step.kernel.complain is not None:
                    verdicts.append(outs[-1])
            outs = [table[i] for i in live]
            if verdicts:
                before = arrays[-1]
                outs.append(jnp.where(before[:, :1] != 0, before, jnp.stack(verdicts)))
            return outs

        self._call = compile_ahead(program, avals, [path.avals[i] for i in live], donate=self.donated)

    def run(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Arrays of the live positions, in order."""
        if not self._complaints:
            return self._call(*arrays)
        outs = self._call(*arrays, checks.last(self, self._clean))
        checks.suspend(self, outs[-1], self._complaints)
        return outs


def donations(path: Path, live: Sequence[int], dead_leaves: Sequence[int]) -> tuple[int, ...]:
    """The dead leaves whose memory an output can take over: one for each live output of the same aval."""
    wanted: dict[Aval, int] = {}
    for position in live:
        aval = path.avals[position]
        wanted[aval] = wanted.get(aval, 0) + 1
    donated = []
    for i in dead_leaves:
        aval = path.avals[path.leaves[i]]
        if wanted.get(aval, 0):
            wanted[aval] -= 1
            donated.append(i)
    return tuple(donated)


def run_cold(path: Path, live: Sequence[int], arrays: Sequence[Any]) -> list[Any]:
    """Runs a path op by op, each op by its own executable, dropping each value after its last use."""
    steps = path.needed(frozenset(live))
    table: dict[int, Any] = dict(zip(path.leaves, arrays, strict=True))
    last_use = {i: n for n, step in enumerate(steps) for i in step.inputs}
    kept = set(live)
    for n, step in enumerate(steps):
        outs = step.kernel.executable()(*[table[i] for i in step.inputs])
        if step.kernel.complain is not None:
            checks.suspend(object(), outs[-1], [step.kernel.complain])
        table.update(zip(step.outputs, outs, strict=False))
        for i in {*step.inputs, *step.outputs}:
            if i not in kept and last_use.get(i, n) <= n:
                table.pop(i, None)
    return [table[i] for i in live]
