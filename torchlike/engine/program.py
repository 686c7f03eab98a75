"""Runs a recorded path: op by op while it is cold, as one compiled program once it is hot."""

from __future__ import annotations

import functools
import itertools
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextvars import Context
from itertools import chain
from pathlib import Path as File
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from . import checks
from .aval import Aval, Meshed, out_of_memory
from .background import CompilerWaits, Task, begin
from .collective import compile_for_group
from .described import ON_DEVICE
from .disk import programs as disk
from .executable import RECOMPUTED, Executable, NotKept, compile_ahead, for_one_trace
from .handlers import without_handlers
from .interpreter import JoinedPlan
from .kernel import Kernel
from .memory import again, mappings
from .memory.heap import give_back_memory, keep_arrays
from .memory.transfer import put
from .meshes import compile_over_mesh
from .places import at_places
from .regions import MIN_SAVED, Chain, Undivided
from .report import COMPILING, observers, report, user_line, user_position
from .threads import state
from .tiers import AUTO, Due, choice, due, light_plan, plan_to_use, seconds_of
from .trace import Path, PathHistory, ScheduledStep, Step, TraceNode, what_is_new
from .value import Value, host_memory

# Uses of a program with more outputs than needed, before a program for just these outputs is compiled.
SUPERSET_USES = 3
# The most programs to keep for one path. A loop whose live values vary more than that runs op by op, which compiles nothing.
MAX_PROGRAMS = 8
# The most programs to keep for all paths, each of about three megabytes. The least recently run are dropped first.
MAX_PROGRAMS_KEPT = 256

# The joined plans to keep for paths that come later.
MAX_JOINED = 64
# Programs of one path that are compiled in the background at most.
MAX_TASKS = 2
# Of the runs of a few small ops so many are timed, and then one in so many.
EACH_TIMED = 16
# Of paths with so few ops, which have run so often and of which none takes so long: see ``begin_at_once``.
AT_ONCE_OPS = 3
AT_ONCE_AFTER = 16
AT_ONCE_SECONDS = 20e-6

_set_array: Any = Value.array.__set__  # pyright: ignore[reportAttributeAccessIssue]  (the descriptor of a slot)
_next_use = itertools.count().__next__


class Run(Protocol):
    """A segment, as the storing of its outputs knows it.

    ``stored``: they are. ``reading``: its inputs are being read by Python code. ``table``: its values.
    """

    stored: bool
    reading: bool
    table: list[weakref.ref[Value]]


def install(values: Sequence[Value], arrays: Any, run: Run, more: Iterable[None] = ()) -> None:
    """Gives each value of a run its array, unless they have been stored. ``arrays`` may be an iterator that computes them.

    All of it happens in one call that runs no Python code, and so does what ``more`` does as it is iterated over. So no signal handler,
    and no other thread, sees some of the values with an array and others without. And where the arrays come from a program that takes over
    the memory of its inputs, nothing can interrupt between the run and the storing of its outputs. Nor between the look at ``stored`` and
    the run: a handler that has read one of the values has done all of this, and given the memory of the inputs away.
    """
    stores = chain(map(_set_array, values, arrays), more, map(setattr, (run,), ("stored",), (True,)))
    if not run.stored:
        deque(stores, maxlen=0)


class Failed:
    """Replaces the segment of a value that will never have an array."""

    def __init__(self, error: Exception) -> None:
        self.recorder = None
        self.error: Exception | None = error
        self.pinned: set[int] = set()
        self.table: list[weakref.ref[Value]] = []
        self.kept: dict[int, Any] = {}
        self.flown: dict[int, object] = {}

    def finish(self, reason: str) -> None:
        """There is nothing to run."""

    def replace(self, old: Value, new: Value) -> None:
        """Nothing is recorded here."""


class Verdict(Value):
    """The array with the verdicts of a program's runs, and the tables of these runs, oldest first: see ``checks.Verdict``."""

    __slots__ = ("program", "tables")

    program: Program
    tables: list[list[weakref.ref[Value]]]

    def spoil(self, number: int, error: Exception) -> None:
        failed = Failed(error)
        for table in self.tables:
            for position in self.program.made_after(number):
                value = table[position]()
                if value is not None:
                    value.array, value.segment = None, failed
            number = 0  # a run with a bad verdict among its inputs computes nothing valid


class Program:
    """A compiled executable for one path, one set of live outputs and one set of donated leaves.

    Where the path has index checks, a value that takes the place of another one (a parameter's new value, a counter) does so only
    if no check before it in the path has failed: as in PyTorch, what comes after the error has not happened.
    """

    __slots__ = (
        "live", "donated", "donated_bytes", "used", "_executable", "_make_errors", "_clean", "_path", "_checked", "_older",
        "_smallest", "_places", "__weakref__",
    )  # fmt: skip

    def __init__(
        self,
        path: Path,
        live: Sequence[int],
        donated: tuple[int, ...],
        replaced: Sequence[tuple[int, int]],
        kept: bool = False,
    ) -> None:
        """``kept``: compile nothing, since it lies on disk. Raises ``NotKept`` if it does not."""
        self.live = tuple(live)
        self.donated = donated
        self.donated_bytes = sum(path.avals[path.leaves[i]].nbytes for i in donated)
        self.used = 0
        checking_steps = [n for n, step in enumerate(path.steps) if step.kernel.make_error is not None]
        self._make_errors: list[Any] = [path.steps[n].kernel.make_error for n in checking_steps]
        older = {**path.replaced, **dict(replaced)} if checking_steps else {}
        self._path, self._checked, self._older = path, checking_steps, older
        live_set = set(live)
        for position in live:
            while position in older:
                position = older[position]
                live_set.add(position)
        numbers = path.needed(live_set)
        table_size, leaves = len(path.avals), path.leaves
        avals = [path.avals[i] for i in leaves]
        if checking_steps:
            placement = path.avals[path.outputs[0]].placement.home
            clean = np.zeros((len(checking_steps), 2), np.int64)
            self._clean = put(clean, placement)
            avals.append(Aval(clean.shape, clean.dtype, placement))

        functions = _functions(path, numbers)
        worth_it = bool(live) and path.avals[live[0]].placement.home.platform in again.PLATFORMS
        repeated = again.Again(path, numbers, live_set) if worth_it else None

        def inputs(step: Step, table: list[Any]) -> list[Any]:
            return [table[i] for i in step.inputs] if repeated is None else repeated.inputs(step, table, functions)

        def program(*arrays: Any) -> list[Any]:
            table: list[Any] = [None] * table_size
            for position, array in zip(leaves, arrays, strict=False):
                table[position] = array
            verdicts = []
            failed_before = []  # for each check: whether it, or one before it, has failed
            failed_earlier: Any = arrays[-1][:, 0].any() if checking_steps else None
            bad = failed_earlier
            for number in numbers:
                step = path.steps[number]
                outs = functions[step.kernel](*inputs(step, table))
                for position, out in zip(step.outputs, outs, strict=False):
                    table[position] = out
                if step.kernel.make_error is not None:
                    # A check that passed may still name an index. Its row becomes zero, so that the host sees at once that all is well.
                    verdicts.append(jnp.where(outs[-1][0] != 0, outs[-1], 0))
                    bad = bad | (outs[-1][0] != 0)
                    failed_before.append((number, bad))

            def unless_failed(position: int) -> Any:
                """The value at a position; if a check before it has failed, the older value that it replaces."""
                old = older.get(position)
                if old is None or path.avals[old] is not path.avals[position]:
                    return table[position]
                producer = path.step_of[position]
                # Of this run's checks only those before the write count: what came before the wrong index has happened, as in
                # PyTorch. Where a check of an earlier run has failed, nothing of this run has.
                before = [flag for number, flag in failed_before if number < producer]
                return jnp.where(before[-1] if before else failed_earlier, unless_failed(old), table[position])

            outs = [unless_failed(i) for i in self.live]
            if verdicts:
                earlier = arrays[-1]
                # The first failure stays, however many runs follow before the host looks.
                outs.append(jnp.where(earlier[:, :1] != 0, earlier, jnp.stack(verdicts)))
            return outs

        # Of the outputs, which of them takes the least memory: the verdicts, if there are any.
        self._smallest = -1 if checking_steps else min(range(len(live)), key=lambda n: path.avals[live[n]].nbytes)
        self._executable: Any = self._divided(numbers, kept) or self._compile(program, avals, numbers, kept)
        self._places = getattr(self._executable, "places", None)

    @property
    def entry(self) -> File | None:
        """Where it lies on disk."""
        return getattr(self._executable, "entry", None)

    def _divided(self, numbers: list[int], kept: bool) -> Chain | None:
        """The executables of a program in which layers repeat; None where it is better compiled as one."""
        path = self._path
        home = path.avals[path.outputs[0]].placement.home
        if len(numbers) < MIN_SAVED or isinstance(home, Meshed) or home.platform != "cpu":
            return None
        if any(path.steps[n].kernel.group is not None or path.steps[n].kernel.on_mesh for n in numbers):
            return None

        def compile_part(
            fn: Callable[..., Sequence[Any]],
            in_avals: Sequence[Aval],
            out_avals: Sequence[Aval],
            donate: tuple[int, ...],
            convolves: bool,
            by_element: bool,
        ) -> Executable:
            return compile_ahead(fn, in_avals, out_avals, donate, convolves, kept=kept, by_element=by_element)

        verdict = None
        if self._checked:
            verdict = Aval(self._clean.shape, np.dtype(self._clean.dtype), home)
        try:
            return Chain(
                path, numbers, self.live, self.donated, self._older, verdict, compile_part, _functions, seconds_of
            )
        except Undivided:
            return None

    def _compile(self, program: Callable[..., list[Any]], avals: list[Aval], numbers: list[int], kept: bool) -> Any:
        """The executable of a function of inputs of these avals. ``numbers``: of the steps that it runs."""
        path, live_avals = self._path, [self._path.avals[i] for i in self.live]
        home = path.avals[path.outputs[0]].placement.home
        if isinstance(home, Meshed):
            return compile_over_mesh(program, avals, live_avals, self.donated, home, int(bool(self._checked)))
        recomputes = any(step.kernel.name.endswith(RECOMPUTED) for step in path.steps)
        calls = [path.steps[n].kernel.call for n in numbers if path.steps[n].kernel.group is not None]
        if calls:
            group = next(step.kernel.group for step in path.steps if step.kernel.group is not None)
            return compile_for_group(program, avals, self.donated, group, calls, recomputes=recomputes)
        convolves = any(step.kernel.convolutions for step in path.steps)
        return compile_ahead(program, avals, live_avals, self.donated, convolves, recomputes, kept)

    def made_after(self, number: int) -> list[int]:
        """The live positions computed after a check (by its number), without those that keep an older value if it fails."""
        step = self._checked[number]
        return [p for p in self.live if self._path.step_of[p] >= step and p not in self._older]

    def run(self, arrays: list[object], values: Sequence[Value], run: Run) -> None:
        """Computes the values at the live positions, in order.

        Raises:
            RuntimeError: there is no memory for it. Nothing has run, and no input was given away.
        """
        report.hot += 1
        report.donated_bytes += self.donated_bytes
        self.used = _next_use()
        executable = self._executable
        executable.reserve()
        more: Iterable[None] = ()
        if self._make_errors:
            # The verdicts of earlier runs are inputs, and bad ones stay, so the host reads one array after any number of runs.
            verdict: Any = checks.verdict_of(self)
            if verdict is None:
                verdict = Verdict.over(None, self._clean)
                verdict.program, verdict.tables = self, []
            more = checks.expected(self, verdict, self._make_errors, run.table)
            arrays = [*arrays, verdict.array]
            values = [*values, verdict]
        targets = values
        if self._places is not None:
            # Its first stage runs Python code. A handler that reads a value then computes the same op by op: see ``segment.py``.
            targets = self._places(values)
            if run.stored:
                return
            run.reading = True
        if not executable.calls_python:
            install(targets, executable.outputs(arrays), run, more)
        else:  # a call of Python, which must not be interrupted once it has the inputs
            without_handlers(install, targets, executable.outputs(arrays), run, more)
        executable.ran(values[self._smallest].array)


def _functions(path: Path, numbers: Sequence[int]) -> dict[Kernel, Callable[..., Any]]:
    """The functions of the kernels of some steps. JAX traces and lowers each once, as a function that the program calls.

    XLA inlines all calls before anything else, so the program is the same. Where layers repeat, JAX takes a fraction of the time.
    """
    uses = Counter(path.steps[number].kernel for number in numbers)
    together = any(kernel.group is not None or kernel.on_mesh for kernel in uses)
    return {
        kernel: kernel.fn if count == 1 or together else jax.jit(for_one_trace(kernel.fn))
        for kernel, count in uses.items()
    }


class Decision:
    """What ``choose`` decided at the end of a path, for the next time that the same values are alive and replace others.

    It holds the program to run, and where its outputs stand in the table and its donated inputs among the leaves.
    """

    __slots__ = ("program", "outputs", "taken")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.outputs = at_places(program.live)  # from the table
        self.taken = at_places(program.donated)  # from the arrays of the leaves


class OpByOp:
    """The decision for a path of which no program is ever made, for the next time that the same values are alive."""

    __slots__ = ("live", "outputs", "runs", "_path", "_plan", "_leaves", "_inputs")

    def __init__(self, path: Path, live: tuple[int, ...]) -> None:
        self.live = live
        self.outputs = at_places(live)  # from the table
        self.runs = 0
        self._path = path
        self._leaves = at_places(range(len(path.leaves)))  # there may be more arrays, of a record that was not finished
        # Joined, though it may be one op, since it then picks the live outputs itself.
        self._plan: JoinedPlan | None = None
        scheduled = path.schedule(live)
        parts = _joined(path, scheduled, len(scheduled))
        if live and all(map(_is_light, scheduled)):
            self._plan = parts[0] if isinstance(parts[0], JoinedPlan) else join(scheduled)
            self._inputs = at_places([path.leaves.index(position) for position in self._plan.inputs])
            assert self._plan.outputs == live

    def run(self, arrays: Sequence[object]) -> Iterable[Any]:
        """The arrays of the live outputs.

        Raises:
            OpFailed: an index is wrong.
        """
        if self._plan is None or observers:
            return run_cold(self._path, self.live, self._leaves(arrays))
        given = [a if a.__class__ is np.ndarray else _on_host(a) for a in self._inputs(arrays)]
        return map(owned, quiet.run(self._plan, given))

    def begin(self, arrays: Sequence[object]) -> Sequence[object] | None:
        """What ``run`` returns, which is computed until ``tape.wait``; None where nothing has begun."""
        return None if self._plan is None or observers else self._plan.begin([*self._inputs(arrays)])

    @property
    def leaves(self) -> tuple[int, ...]:
        """The positions of the inputs, in order of first use."""
        return self._path.leaves

    def seconds_counted(self) -> int:
        """For how many runs the time of this one counts, 0 if it is not taken: of short ones every sixteenth is, after a while."""
        self.runs += 1
        if self._plan is None or self.runs <= EACH_TIMED:
            return 1
        return 0 if self.runs % EACH_TIMED else EACH_TIMED


def begin_at_once(node: TraceNode) -> None:
    """From now on the first op of a short path of light ops runs as soon as it is called, if all that ever came after it was short.

    A segment takes longer than such ops do. An op computes the same alone as among others, and only ops that NumPy computes, and that
    check nothing, are cut off.
    """
    path, first = node.path(), node
    if node.checked or node.full or node.group is not None or node.ends_step:
        return
    while first.depth > 1:
        assert first.parent is not None
        first = first.parent
    if not all(_is_tiny(step.kernel) for step in path.steps) or not _is_short(first):
        return
    root, kernel, alone = first.parent, first.kernel, path.only(0)
    assert root is not None and kernel is not None
    op, static = next(key[:2] for key, child in root.children.items() if child is first)
    known = root.at_once = root.at_once or {}
    known[op, static, *kernel.in_avals] = kernel, OpByOp(alone, alone.outputs)


def _is_tiny(kernel: Kernel) -> bool:
    plan = light_plan(kernel)
    return plan is not None and plan.cost < AT_ONCE_SECONDS


def _is_short(node: TraceNode) -> bool:
    return node.depth <= AT_ONCE_OPS and all(map(_is_short, list(node.children.values())))


class _Quiet(threading.local):
    """Runs plans without NumPy's warnings. To enter ``np.errstate`` takes as long as a small operation; a context has its state."""

    def __init__(self) -> None:
        self._context: Context | None = None

    def run(
        self, plan: Callable[[Sequence[object]], Sequence[object]], arrays: Sequence[np.ndarray]
    ) -> Sequence[object]:
        # Taken out meanwhile, since a finalizer of the user's may run another plan within this one.
        context, self._context = self._context, None
        if context is None:
            context = Context()
            context.run(np.seterr, all="ignore")
        try:
            return context.run(plan, arrays)
        finally:
            self._context = context


quiet = _Quiet()


def choose(
    node: TraceNode,
    live: tuple[int, ...],
    dead: tuple[int, ...],
    replaced: tuple[tuple[int, int], ...],
    reason: str,
    hot: bool,
) -> Program | None:
    """The program to run, or None to run op by op.

    Args:
        live: positions of the outputs that somebody holds.
        dead: numbers of the leaves that nobody holds.
        replaced: pairs (position, position of the value whose place it takes) that matter where a check fails.
        hot: compile a path that is new, rather than wait for it to come again.
    """
    path, history = node.path(), node.history or node.begin_history()
    if node.group is not None and not live and not node.checked:
        return None  # only programs with outputs are run
    # Only those dead leaves matter whose memory an output can take over.
    donated = donations(path, live, dead)
    key = (live, donated, replaced)
    program = history.programs.get(key)
    if program is not None:
        return program
    if history.programs:
        # A program with more outputs serves for a while, so that values that are alive by chance cost no compilation.
        misses = history.misses[key] = history.misses.get(key, 0) + 1
        if misses < SUPERSET_USES:
            for (_, _, others), candidate in list(history.programs.items()):
                if set(live) <= set(candidate.live) and set(candidate.donated) <= set(dead) and others == replaced:
                    return candidate
        # The values that are alive differ each time, so every new program would run only once.
        if len(history.programs) >= MAX_PROGRAMS:
            return None
    program = _noted(node, history, path, key, reason)
    if program is not None:
        return program
    # A path without a program is counted as a whole, whatever is alive at its end.
    new, fresh = len(dead) - len(donated), len(live) - len(donated)
    tier = due(node, history, key if history.programs else None, hot, live, new, fresh)
    path.awaited = tier is Due.BEGIN
    if tier is not Due.SWITCH and history.runs == (1 if hot else 2):  # it comes again, as steps of training do
        keep_arrays(sum([aval.nbytes for aval in path.avals]))
    if tier is Due.NOTHING:
        return None
    task = history.tasks.get(key)
    if tier is Due.BEGIN:
        if task is None and len(history.tasks) < MAX_TASKS:
            task = history.tasks[key] = _task(node, history, path, key, reason)
            begin(task)
        return None
    task = task or _task(node, history, path, key, reason)
    try:
        program = task.result()
    except CompilerWaits:
        return None  # until this run is over
    history.tasks.pop(key, None)
    _add(history, key, program, task.reason)
    if choice.mode == AUTO and program.entry is not None:
        disk.note(path, key, program.entry)
    return program


def _add(history: PathHistory, key: tuple[Any, ...], program: Program, reason: str) -> None:
    report.compiles += 1
    report.reasons.append(reason)
    history.programs[key] = program
    _keep(history, key, program)


def _noted(node: TraceNode, history: PathHistory, path: Path, key: tuple[Any, ...], reason: str) -> Program | None:
    """The program that an earlier process ran here, read from disk when this one comes here first."""
    if choice.mode != AUTO or node.depth == 1 or node.group is not None or isinstance(node.placement, Meshed):
        return None
    if key in history.sought or key in history.tasks:
        return None
    note = disk.noted(path, key)
    if note is not None:
        task = _task(node, history, path, key, reason, kept=True)
        try:
            program = task.result()
        except NotKept:
            disk.drop_note(note)
        else:
            _add(history, key, program, task.reason)
            return program
    history.sought.add(key)
    return None


def _task(
    node: TraceNode, history: PathHistory, path: Path, key: tuple[Any, ...], reason: str, kept: bool = False
) -> Task:
    """The making of a program, and why it is made. ``kept``: it lies on disk."""
    # Found now and not by the compiler's thread, where the program of the user has gone on.
    why = what_is_new(node) if not history.programs else "other values are alive than before"
    line = user_position()

    def make() -> Program:
        start = time.perf_counter()
        program = Program(path, *key, kept=kept)
        give_back_memory()
        report.spend(COMPILING, time.perf_counter() - start, line)
        return program

    return Task(make, f"{node.depth} ops, ended because {reason}; {why}; at {user_line()}")


_kept: list[tuple[weakref.ref[PathHistory], tuple[object, ...], weakref.ref[Program]]] = []


def _keep(history: PathHistory, key: tuple[object, ...], program: Program) -> None:
    """Registers a new program."""
    program.used = _next_use()
    _kept.append((weakref.ref(history), key, weakref.ref(program)))
    if len(_kept) > MAX_PROGRAMS_KEPT:
        _drop(lambda alive: max(0, alive - 3 * MAX_PROGRAMS_KEPT // 4))
    mappings.compiled()


def _drop(excess_of: Callable[[int], int]) -> None:
    """Drops the programs that ran longest ago. ``excess_of``: how many, of so many that are alive."""
    alive = [(entry, program_kept) for entry in _kept if (program_kept := entry[2]()) is not None]
    alive.sort(key=lambda pair: pair[1].used)
    excess = excess_of(len(alive))
    for (owner, known_as, _), _ in alive[:excess]:
        path_history = owner()
        if path_history is not None:
            path_history.programs.pop(known_as, None)
            path_history.decisions.clear()
            path_history.misses.clear()
    _kept[:] = [entry for entry, _ in alive[excess:]]


mappings.droppers.append(lambda: _drop(lambda alive: alive // 4))


def donations(path: Path, live: Sequence[int], dead_leaves: Sequence[int]) -> tuple[int, ...]:
    """The dead leaves whose memory an output can take over: one for each live output of the same aval."""
    outputs_by_aval: dict[Aval, int] = {}
    for position in live:
        aval = path.avals[position]
        outputs_by_aval[aval] = outputs_by_aval.get(aval, 0) + 1
    donated = []
    for i in dead_leaves:
        aval = path.avals[path.leaves[i]]
        if outputs_by_aval.get(aval, 0):
            outputs_by_aval[aval] -= 1
            donated.append(i)
    return tuple(donated)


class OpFailed(Exception):
    """An op of a path failed while the path ran op by op. ``number``: of the step; ``error``: what it raised."""

    def __init__(self, number: int, error: Exception) -> None:
        super().__init__(number, error)
        self.number, self.error = number, error


def run_alone(
    kernel: Kernel, arrays: Sequence[Any], awaited: bool = False, unread: tuple[int, ...] = ()
) -> Sequence[Any]:
    """Runs one op: with NumPy where it can, else by its own executable. NumPy's warnings are switched off by the caller.

    Args:
        arrays: a list is emptied: what it alone holds may be written over.
        awaited: see ``plan_to_use``.
        unread: numbers of the results that nobody reads, which need not be computed.
    """
    plan = plan_to_use(kernel, awaited)
    if unread and plan is not None and not observers:
        plan = plan.without(unread)
    placement = kernel.out_avals[0].placement if kernel.out_avals else kernel.in_avals[0].placement
    if plan is not None:
        start = time.perf_counter_ns() if observers else 0
        try:
            given = [array if array.__class__ is np.ndarray else _on_host(array) for array in arrays]
            if isinstance(arrays, list):
                arrays.clear()
            results = plan.consuming(given)
        except MemoryError:
            raise out_of_memory(placement, sum(aval.nbytes for aval in kernel.out_avals)) from None
    else:
        executable = kernel.executable()
        executable.reserve()
        inputs = arrays
        if not kernel.on_mesh:  # there each input has a layout of its own
            inputs = [a if isinstance(a, ON_DEVICE) else put(np.asarray(a), placement) for a in arrays]
        start = time.perf_counter_ns() if observers else 0
        results = executable(inputs)
    for observe in observers:
        observe(kernel, start, results)
    return results


def _on_host(array: Any) -> np.ndarray:
    """A NumPy array over the memory of a JAX array on the CPU, for the moment: JAX keeps what ``np.asarray`` gives, and could then not
    donate the memory any more.
    """
    if isinstance(array, jax.Array):
        if state.by_numpy_alone:
            return host_memory(array)
        try:
            return np.from_dlpack(array)  # pyright: ignore[reportArgumentType]
        except (BufferError, TypeError, RuntimeError):  # a dtype that DLPack does not know
            return np.asarray(array)
    return array


def owned(array: object) -> Any:
    """The array as a value may keep it: a NumPy array in memory of its own, or a JAX array.

    A part of a larger array would keep all of that alive. And what lies in the memory of a JAX array is copied, since that memory
    may be given to a program.
    """
    if isinstance(array, (np.ndarray, np.generic)):
        if array.__class__ is not np.ndarray:
            return np.asarray(array)
        base = array.base
        if array.flags.c_contiguous and (
            base is None or (base.__class__ is np.ndarray and base.base is None and base.nbytes == array.nbytes)
        ):
            return array
        return array.copy()
    return array


def check_outputs(kernel: Kernel, outs: Sequence[Any], number: int) -> None:
    """Raises OpFailed if the index check among an op's outputs failed. ``number``: of the step."""
    if kernel.make_error is not None:
        failed = checks.first_failed(outs[-1], [kernel.make_error])
        if failed is not None:
            raise OpFailed(number, failed[1])


def _joined(path: Path, schedule: list[ScheduledStep], end: int) -> Sequence[ScheduledStep | JoinedPlan]:
    """The schedule up to a place, with a ``JoinedPlan`` for steps in a row that NumPy computes in any case, if the path comes again."""
    if not path.keeps_schedule:
        return schedule[:end]
    # A handler may run the same path meanwhile, with other values alive, so that what is kept is of another schedule.
    made_of, joined = path.joined.get(end, (None, []))
    if made_of is not schedule:
        joined = []
        for light, group in itertools.groupby(schedule[:end], key=_is_light):
            scheduled = list(group)
            joined += [join(scheduled)] if light and len(scheduled) > 1 else scheduled
        path.joined[end] = schedule, joined
    return joined


def join(scheduled: Sequence[ScheduledStep]) -> JoinedPlan:
    """One plan for steps that NumPy computes.

    What it computes follows from the steps' plans and from how their inputs and results hang together, and it is kept by these: paths of
    other sizes end with the same steps of the optimizer. So positions are numbered by their first use.
    """
    numbers: dict[int, int] = {}

    def numbered(positions: Iterable[int]) -> tuple[int, ...]:
        return tuple([numbers.setdefault(position, len(numbers)) for position in positions])

    steps = [(step.kernel.plan(), numbered(step.inputs), numbered(step.outputs)) for _, step, _ in scheduled]
    unread = frozenset(numbered([position for *_, unread in scheduled for position in unread]))
    return _joined_steps(tuple(steps), unread).at([*numbers])  # pyright: ignore[reportArgumentType]


_joined_steps = functools.lru_cache(MAX_JOINED)(JoinedPlan)


def _is_light(scheduled: ScheduledStep) -> bool:
    kernel = scheduled[1].kernel
    return kernel.make_error is None and kernel.group is None and light_plan(kernel) is not None


def run_cold(path: Path, live: tuple[int, ...], arrays: Sequence[object]) -> list[Any]:
    """Runs a path op by op, each op by its own executable, dropping each value after its last use.

    Index checks are read here, before anything that comes after them runs.
    """
    schedule = path.schedule(live)
    table: dict[int, object] = dict(zip(path.leaves, arrays, strict=True))
    run_scheduled(path, schedule, len(schedule), table)
    return [owned(table[i]) for i in live]


def run_scheduled(path: Path, schedule: list[ScheduledStep], end: int, table: dict[int, Any]) -> None:
    """Runs the steps before a place, from and into a table of arrays by position. No variable holds an array beyond its last use."""
    with np.errstate(all="ignore"):
        for part in schedule[:end] if observers else _joined(path, schedule, end):
            if isinstance(part, JoinedPlan):
                run_joined(part, table)
                continue
            number, step, unread = part
            arrays: list[Any] = [table[i] for i in step.inputs]
            for position in unread:
                table.pop(position, None)
            kernel = step.kernel
            dead: tuple[int, ...] = ()
            if len(step.outputs) > 1 and kernel.make_error is None:
                gone = {*unread}  # an optimizer's step has hundreds
                dead = tuple([n for n, position in enumerate(step.outputs) if position in gone])
            outs: Any = run_alone(kernel, arrays, path.awaited, dead)
            check_outputs(kernel, outs, number)
            table.update(zip(step.outputs, outs, strict=False))
            del outs, arrays
            for position in unread:  # results that nobody reads
                table.pop(position, None)


def run_joined(plan: JoinedPlan, table: dict[int, Any]) -> None:
    """The same for steps that were joined."""
    arrays: list[Any] = [a if a.__class__ is np.ndarray else _on_host(a) for a in map(table.get, plan.inputs)]
    for position in plan.unread:
        del table[position]
    table.update(zip(plan.outputs, plan.consuming(arrays), strict=True))
