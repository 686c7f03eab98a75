"""A program of several executables, of which those for layers that repeat are compiled once and called for each layer.

Such a program runs in two stages. The first computes everything but the updates of an optimizer, part by part, and takes over the memory
of no input: if something interrupts it, nothing has happened. The updates are the second stage. No update reads what another one has
computed, so all of them run in one iteration that is C code from end to end, and an interrupt comes before or after it. Only here does
a result take over the memory of an input.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path as File
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from ..aval import Aval
from ..executable import RECOMPUTED, RESERVED_BYTES, Executable
from ..kernel import Kernel
from ..memory.heap import keep_blocks
from ..places import at_places
from ..trace import Path
from ..value import Value
from .finding import Part, outputs_of, parts, pays, repeats

Function = Callable[..., Sequence[Any]]
# (function, avals of its inputs and outputs, numbers of the inputs that it may write over, whether it has convolutions, and whether it
# computes element by element)
Compile = Callable[[Function, Sequence[Aval], Sequence[Aval], tuple[int, ...], bool, bool], Executable]


class Undivided(Exception):
    """A path is better compiled as one program."""


class _Call(NamedTuple):
    """A call of the first stage."""

    executable: Executable
    inputs: itemgetter[Any]  # from the table
    outputs: tuple[int, ...]  # where they go in the table
    unread: tuple[int, ...]  # what no later call reads


class _Updates(NamedTuple):
    """Calls of the second stage of one executable."""

    executable: Executable
    inputs: tuple[itemgetter[Any], ...]  # for each call, from the table
    outputs: tuple[int | None, ...]  # of all calls in a row: positions, None for what nobody holds


class Chain:
    """The executables of a path, and what each reads. It is called as an ``Executable`` is."""

    def __init__(
        self,
        path: Path,
        numbers: Sequence[int],
        live: Sequence[int],
        donated: Sequence[int],
        older: dict[int, int],
        verdict: Aval | None,
        compile_part: Compile,
        functions: Callable[[Path, Sequence[int]], dict[Kernel, Function]],
        seconds_of: Callable[[Kernel], float],
    ) -> None:
        """
        Args:
            numbers: of the steps to run.
            live: the positions that somebody holds.
            donated: the numbers of the leaves that may be written over.
            older: by position, the position of the value that stays where a check fails.
            verdict: of the last input, with the verdicts of earlier runs; None if nothing is checked.
            functions: the functions of the kernels of some steps.
            seconds_of: about how long an op takes.

        Raises:
            Undivided: too little repeats, a layer takes too little time, or what is to happen where a check fails cannot be divided.
        """
        self._path, self._functions, self._compile = path, functions, compile_part
        self._live, self._verdict, self._older = set(live), verdict, older
        updates = [n for n in numbers if path.steps[n].kernel.replaces]
        first_stage = [n for n in numbers if not path.steps[n].kernel.replaces]
        found = parts(path, first_stage)
        self._checks = [n for n in numbers if path.steps[n].kernel.make_error is not None]
        if not pays(path, found, seconds_of):
            raise Undivided
        self._refuse(first_stage, updates)
        self._donated = {path.leaves[n] for n in donated}
        self._read_later = Counter(position for n in updates for position in path.steps[n].inputs)
        self._leaves = path.leaves
        table_size = len(path.avals)
        # Behind the values of the path: the verdict of each check, those of earlier runs, those of all, and whether one is bad.
        self._flags = {number: table_size + n for n, number in enumerate(self._checks)}
        self._earlier, self._all, self._bad = (table_size + len(self._checks) + n for n in range(3))
        self._table_size = self._bad + 1
        self._calls = self._first_stage(found)
        self._updates = [each for number in updates for each in self._of_update(number)]
        held = [position for each in self._updates for position in each.outputs]
        computed = [position for position in sorted(self._live) if position not in held]
        if verdict is not None:
            computed.append(self._all)
        self._computed = at_places(computed)
        order = {position: n for n, position in enumerate([*live, self._all])}
        self._order = [None if position is None else order[position] for position in (*held, *computed)]
        executables = [*[call.executable for call in self._calls], *[each.executable for each in self._updates]]
        entries = [executable.entry for executable in executables]
        self.entry: File | None = entries[0] if all(entries) else None
        self.bytes_needed = self._most_bytes()
        if self.bytes_needed >= RESERVED_BYTES:
            keep_blocks(self.bytes_needed, self.bytes_needed)
        self.calls_python = any(executable.calls_python for executable in executables)

    def _refuse(self, first_stage: Sequence[int], updates: Sequence[int]) -> None:
        path = self._path
        if any(path.steps[n].kernel.name.endswith(RECOMPUTED) for n in first_stage):
            raise Undivided
        computed = set(outputs_of(path, updates))
        if any(not computed.isdisjoint(path.steps[n].inputs) for n in (*first_stage, *updates)):
            raise Undivided
        if self._verdict is None:
            return
        if updates and self._checks[-1] > updates[0]:
            raise Undivided
        if any(position in self._older for position in self._live - computed) or any(
            self._older.get(position) in self._older for position in computed
        ):
            raise Undivided

    # ---- compiling

    def _first_stage(self, found: Sequence[Part]) -> list[_Call]:
        path = self._path
        last_read: dict[int, int] = {}
        for place, arguments in enumerate([arguments for part in found for arguments in part.arguments]):
            last_read.update(dict.fromkeys(arguments, place))
        lasting = {*self._live, *self._read_later, *self._flags.values()}
        calls: list[_Call] = []
        for part in found:
            first = outputs_of(path, part.rounds[0])
            every = list(enumerate([outputs_of(path, numbers) for numbers in part.rounds], len(calls)))
            wanted = [
                n
                for n in range(len(first))
                if any(o[n] in lasting or last_read.get(o[n], -1) > place for place, o in every)
            ]
            executable = self._compiled(part, [first[n] for n in wanted])
            for numbers, arguments, (place, outputs) in zip(part.rounds, part.arguments, every, strict=True):
                kept = [outputs[n] for n in wanted] + [self._flags[n] for n in numbers if n in self._flags]
                unread = [p for p in (*arguments, *kept) if p not in lasting and last_read.get(p, -1) <= place]
                calls.append(_Call(executable, at_places(arguments), tuple(kept), tuple(dict.fromkeys(unread))))
        return calls + ([] if self._verdict is None else [self._judge()])

    def _compiled(self, part: Part, outputs: Sequence[int]) -> Executable:
        """The executable of a part: from its arguments to these outputs of its first round, and the verdicts of its checks."""
        path, numbers, arguments = self._path, part.rounds[0], part.arguments[0]
        functions = self._functions(path, numbers)

        def run(*arrays: Array) -> list[Array]:
            table = dict(zip(arguments, arrays, strict=True))
            flags = []
            for number in numbers:
                step = path.steps[number]
                outs = functions[step.kernel](*[table[i] for i in step.inputs])
                table.update(zip(step.outputs, outs, strict=False))
                if step.kernel.make_error is not None:
                    flags.append(outs[-1])
            return [table[position] for position in outputs] + flags

        avals = [path.avals[position] for position in outputs]
        if self._verdict is not None:
            checks = sum(number in self._flags for number in numbers)
            avals += [Aval((2,), self._verdict.dtype, self._verdict.placement)] * checks
        convolves = any(path.steps[number].kernel.convolutions for number in numbers)
        return self._compile(run, [path.avals[position] for position in arguments], avals, (), convolves, False)

    def _judge(self) -> _Call:
        """The call that puts the verdicts together: see ``Program``."""
        verdict = self._verdict
        assert verdict is not None

        def judge(earlier: Array, *flags: Array) -> list[Array]:
            own = jnp.stack([jnp.where(flag[0] != 0, flag, 0) for flag in flags])
            bad = earlier[:, 0].any() | (own[:, 0] != 0).any()
            return [jnp.where(earlier[:, :1] != 0, earlier, own), bad]

        one = Aval((2,), verdict.dtype, verdict.placement)
        bad = Aval((), jnp.dtype(bool), verdict.placement)
        executable = self._compile(judge, [verdict, *[one] * len(self._checks)], [verdict, bad], (), False, False)
        flags = tuple(self._flags.values())
        return _Call(executable, at_places((self._earlier, *flags)), (self._all, self._bad), (self._earlier, *flags))

    def _of_update(self, number: int) -> Iterator[_Updates]:
        """The calls for one step of an optimizer: parameters of layers that repeat share an executable."""
        path = self._path
        step = path.steps[number]
        kernel = step.kernel
        pieces = kernel.pieces
        if pieces is None:
            inputs, outputs = range(len(step.inputs)), range(len(step.outputs))
            yield self._update(kernel.fn, [(step.inputs, tuple(step.outputs))], inputs, outputs, kernel)
            return
        for equal in repeats(pieces.kinds):
            rounds = [pieces.some(each) for each in equal]
            calls = [
                (
                    tuple([step.inputs[i] for i in inputs]),
                    tuple([None if i is None else step.outputs[i] for i in outputs]),
                )
                for _, inputs, outputs in rounds
            ]
            yield self._update(rounds[0][0], calls, rounds[0][1], rounds[0][2], kernel)

    def _update(
        self,
        function: Function,
        calls: Sequence[tuple[Sequence[int], tuple[int | None, ...]]],
        inputs: Sequence[int],
        outputs: Sequence[int | None],
        kernel: Kernel,
    ) -> _Updates:
        """Calls of one function on several layers.

        Args:
            calls: for each, the positions of its inputs and outputs.
            inputs, outputs: which of the kernel's those of the first call are.
        """
        wanted = [n for n in range(len(outputs)) if any(positions[n] in self._live for _, positions in calls)]
        numbers = [i for n in wanted if (i := outputs[n]) is not None]
        out_avals = [kernel.out_avals[i] for i in numbers]
        given = _given_once([read for read, _ in calls])
        places = sorted(set(given))
        given = [places.index(place) for place in given]
        calls = [(tuple([read[place] for place in places]), computed) for read, computed in calls]
        in_avals = [kernel.in_avals[inputs[place]] for place in places]
        replaced = [given[inputs.index(kernel.replaces[i])] for i in numbers]
        checked = self._verdict is not None
        for read, computed in calls if checked else ():
            for n, old in zip(wanted, replaced, strict=True):
                position = computed[n]
                if position is not None and self._older.get(position) != read[old]:
                    raise Undivided
        taken = tuple([
            old
            for old, aval in zip(replaced, out_avals, strict=True)
            if in_avals[old] is aval
            and all(read[old] in self._donated and self._read_later[read[old]] == 1 for read, _ in calls)
        ])  # fmt: skip

        def run(*arrays: Array) -> list[Array]:
            results = function(*[arrays[place] for place in given])
            new = [results[n] for n in wanted]
            if not checked:
                return new
            return [jnp.where(arrays[-1], arrays[old], each) for old, each in zip(replaced, new, strict=True)]

        bad = []
        if checked:
            assert self._verdict is not None
            bad = [Aval((), jnp.dtype(bool), self._verdict.placement)]
        executable = self._compile(run, [*in_avals, *bad], out_avals, taken, False, True)
        if executable.parts is None:
            raise Undivided  # Python code would run in the second stage
        return _Updates(
            executable,
            tuple([at_places((*positions, self._bad) if checked else tuple(positions)) for positions, _ in calls]),
            tuple([p if (p := positions[n]) in self._live else None for _, positions in calls for n in wanted]),
        )

    def _most_bytes(self) -> int:
        """How much memory the first stage needs at most, besides its inputs."""
        sizes = {position: aval.nbytes for position, aval in enumerate(self._path.avals)}
        held = most = 0
        for executable, _, outputs, unread in self._calls:
            most = max(most, held + executable.bytes_needed)
            held += sum(sizes.get(position, 0) for position in outputs)
            held -= sum(sizes.get(position, 0) for position in unread if position not in self._leaves)
        return max(most, held)

    # ---- running

    def places(self, values: Sequence[Value]) -> list[Value]:
        """The values, for which ``live`` has the positions, in the order in which ``outputs`` gives their arrays."""
        unheld = Value()
        return [unheld if n is None else values[n] for n in self._order]

    def reserve(self) -> None:
        """Each executable does so before it runs."""

    def outputs(self, arrays: Sequence[Any]) -> Iterator[Any]:
        """Computes all but the updates, which run when the first output is asked for."""
        table: list[Any] = [None] * self._table_size
        for position, array in zip(self._leaves, arrays, strict=False):
            table[position] = array
        if self._verdict is not None:
            table[self._earlier] = arrays[-1]
        for executable, inputs, outputs, unread in self._calls:
            executable.reserve()
            for position, array in zip(outputs, executable(inputs(table)), strict=True):
                table[position] = array
            for position in unread:
                table[position] = None
        for each in self._updates:
            each.executable.reserve()
        rows = [(executable, [inputs(table) for inputs in every]) for executable, every, _ in self._updates]
        return chain(*[executable.outputs_of(row) for executable, row in rows], self._computed(table))

    def ran(self, output: object) -> None:
        """Notes that a run has begun."""
        for executable in (self._calls[-1].executable, *[each.executable for each in self._updates]):
            executable.ran(output)


def _given_once(reads: Sequence[Sequence[int]]) -> list[int]:
    """For each input of some calls of one function, the first input that has the same value in each of the calls.

    Where parameters share the number of their steps, a program that is given it once computes what follows from it once.
    """
    columns = list(zip(*reads, strict=True))
    return [columns.index(column) for column in columns]
