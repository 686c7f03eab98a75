"""Recording: a walk down the trace tree, one dictionary look-up an op, until somebody needs a value or a boundary comes."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .aval import Aval, Placement
from .kernel import Kernel, tracing
from .program import Path, Program, Step, donations, run_cold
from .report import report, user_line
from .value import Value, put

# A trace longer than this is cut: XLA's compile time grows faster than the program.
MAX_OPS = 2048
# A site whose Python numbers have shown this many different values takes them as inputs from then on.
DISTINCT_NUMBERS = 3
# So many different values may the sites of one op have shown together, on inputs of one shape.
DISTINCT_EVERYWHERE = 16
# So often a program with more outputs than needed serves, before a program for just these outputs is worth compiling.
SUPERSET_USES = 3
# Programs of one path. A loop whose live values vary even more than that runs op by op, which costs no compilation.
MAX_PROGRAMS = 8
# The tree keeps this many ops; when there are more, paths that were never compiled are forgotten.
MAX_NODES = 100_000

_ref = weakref.ref
# One for all recorders: a thread that needs a value of another one runs that one's segment.
lock = threading.RLock()


class Operation:
    """What may be recorded. ``lower`` is asked once for each new signature."""

    name: str

    def lower(self, args: tuple[Any, ...], avals: tuple[Aval, ...]) -> Kernel:
        """The kernel for these arguments, whose arrays have these avals. Raises what a wrong call has to raise."""
        raise NotImplementedError

    def kernel(self, static: tuple[Any, ...], args: tuple[Any, ...], avals: tuple[Aval, ...]) -> Kernel:
        """``lower``, remembered."""
        raise NotImplementedError

    def numbers(self, args: tuple[Any, ...]) -> list[int]:
        """Which of the arguments are Python numbers that may become inputs of the program."""
        return []


class DynamicNumber:
    """Stands in the arguments where a Python number has become an input. ``kind`` is the number's type."""

    __slots__ = ("kind",)

    def __init__(self, kind: type) -> None:
        self.kind = kind


DYNAMIC = {kind: DynamicNumber(kind) for kind in (bool, int, float, complex)}
_HOST_DTYPES = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}


class TraceNode:
    """One recorded op, reached by one path of ops from the root."""

    __slots__ = (
        "parent",
        "kernel",
        "inputs",
        "new_leaves",
        "placement",
        "children",
        "sites",
        "depth",
        "checked",
        "full",
        "runs",
        "programs",
        "chosen",
        "misses",
        "walks",
        "path_",
    )

    def __init__(
        self,
        parent: TraceNode | None,
        kernel: Kernel | None,
        inputs: tuple[int, ...],
        new_leaves: tuple[Any, ...],
        placement: Placement | None,
    ) -> None:
        self.parent = parent
        self.kernel = kernel
        self.inputs = inputs  # positions
        self.new_leaves = new_leaves  # (position, aval)
        self.placement = placement  # of the whole path: a segment runs on one device
        self.children: dict[tuple[Any, ...], TraceNode] = {}
        self.sites: dict[tuple[Any, ...], set[Any]] = {}  # number-less key -> numbers seen; more than enough: dynamic
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.full = self.depth >= MAX_OPS  # the trace is cut here
        # whether a step of the path has an index check, which must run even if nobody reads its result
        self.checked: bool = parent is not None and (
            parent.checked or (kernel is not None and kernel.complain is not None)
        )
        self.runs = 0
        self.programs: dict[tuple[Any, ...], Program] = {}  # by live outputs and donated leaves
        self.chosen: dict[tuple[Any, ...], Program] = {}  # by live outputs and dead leaves, as a flush finds them
        self.misses: dict[tuple[Any, ...], int] = {}
        self.walks: dict[
            Any, Any
        ] = {}  # what may follow from here in one step, as whoever found it keeps it, by his key
        self.path_: Path | None = None

    def path(self) -> Path:
        if self.path_ is None:
            nodes: list[TraceNode] = []
            node: TraceNode | None = self
            while node is not None and node.kernel is not None:
                nodes.append(node)
                node = node.parent
            steps, leaves, avals = [], [], []
            for node in reversed(nodes):
                assert node.kernel is not None
                for position, aval in node.new_leaves:
                    assert position == len(avals)
                    leaves.append(position)
                    avals.append(aval)
                outputs = range(len(avals), len(avals) + len(node.kernel.out_avals))
                avals.extend(node.kernel.out_avals)
                steps.append(Step(node.kernel, node.inputs, outputs))
            outputs = tuple(i for step in steps for i in step.outputs)
            self.path_ = Path(tuple(steps), tuple(leaves), outputs, tuple(avals))
        return self.path_


class Jump:
    """Many records in one step: where they end, what they read, and which of their outputs somebody holds."""

    __slots__ = ("end", "count", "leaves", "positions", "outputs", "wanted")

    def __init__(
        self,
        end: TraceNode,
        count: int,
        leaves: tuple[int, ...],
        positions: tuple[int, ...],
        outputs: int,
        wanted: tuple[tuple[int, int, Aval], ...],
    ) -> None:
        self.end = end
        self.count = count  # of the segment's table at the end
        self.leaves = leaves  # which of the inputs were not in the table
        self.positions = positions  # where they stand now
        self.outputs = [None] * outputs  # nobody ever held them
        self.wanted = wanted  # number among the outputs, position in the table, aval


_next_serial = itertools.count().__next__


class Segment:
    """The values met since the last flush. Values point to it; it points to them weakly, which is how it knows the live ones."""

    __slots__ = (
        "recorder",
        "count",
        "leaf_refs",
        "leaf_arrays",
        "leaf_positions",
        "out_refs",
        "pinned",
        "serial",
    )

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.serial = _next_serial()
        self.count = 0  # size of the table
        self.leaf_refs: list[weakref.ref[Value]] = []
        self.leaf_arrays: list[Any] = []  # strong: the values themselves may die
        self.leaf_positions: list[int] = []
        self.out_refs: list[weakref.ref[Value] | None] = []  # None: nobody ever held it
        self.pinned: set[int] = set()  # positions of leaves that must not be donated

    def pin(self, value: Value) -> None:
        self.pinned.add(value.position)


class Recorder:
    """One thread's record of what its program does."""

    def __init__(self) -> None:
        self.root = TraceNode(None, None, (), (), None)
        self.nodes = 0  # of the tree
        self.room = MAX_NODES
        self.cursor: TraceNode = self.root
        self.segment = Segment(self)
        self.at_boundary = False  # flush before recording more: a training step has ended
        self.op_by_op = os.environ.get("TORCHLIKE_OP_BY_OP", "") not in ("", "0")

    def record(
        self, op: Any, static: tuple[Any, ...], values: Sequence[Value], args: tuple[Any, ...]
    ) -> tuple[Any, list[Value]]:
        """Records one op; its kernel comes back, as ``op.lower`` made it, and its outputs as pending values.

        Args:
            op: an ``Operation``; compared by identity.
            static: the arguments that are not arrays, hashable, numbers each preceded by their type.
            values: the arrays among the arguments.
            args: the arguments as they were given, for ``op.lower``; only looked at when this signature is new.
        """
        if self.at_boundary:
            self.end_step()
        segment = self.segment
        start = position = segment.count
        key: list[Any] = [op, static]
        add = key.append
        for value in values:
            if value.segment is segment:
                add(value.position)
                continue
            if value.array is None:
                value.finish()  # another thread's
                if segment is not self.segment:  # that ended our own segment too
                    return self.record(op, static, values, args)
            add(value.aval)
            other = value.segment
            if other is not None and other.recorder is not self:
                value.pin()  # two threads may hold its memory now: neither may donate it
            self._meet(value, segment, position)
            position += 1
        segment.count = position
        node: Any = self.cursor.children.get(tuple(key))
        if node is None:
            try:
                node = self._miss(op, static, values, args, tuple(key), start)
            except BaseException:
                self._forget_leaves(segment, start)
                raise
            if node.__class__ is not TraceNode:
                return node  # recorded in another way
            segment = self.segment
        self.cursor = node
        kernel: Any = node.kernel
        position = segment.count
        refs = segment.out_refs
        outs = []
        for aval in kernel.out_avals:
            value = Value()
            value.aval = aval
            value.array = None
            value.segment = segment
            value.position = position
            value.pinned = False
            refs.append(_ref(value))
            outs.append(value)
            position += 1
        segment.count = position
        if node.full or self.op_by_op:
            self.flush("op by op" if self.op_by_op else f"{MAX_OPS} ops were pending")
        return kernel, outs

    def end_step(self) -> None:
        """Runs the step of a loop that is recorded: another one begins."""
        self.flush("a training step ended", hot=True)

    def jump(self, jump: Jump, inputs: Sequence[Value]) -> list[Value]:
        """Makes records that were made before from here, with inputs of the same avals, or the same places in the table."""
        segment = self.segment
        for number, position in zip(jump.leaves, jump.positions, strict=True):
            value = inputs[number]
            value.segment, value.position = segment, position
            if value.pinned:
                segment.pinned.add(position)
            segment.leaf_refs.append(_ref(value))
            segment.leaf_arrays.append(value.array)
        segment.leaf_positions += jump.positions
        refs = segment.out_refs
        first = len(refs)
        refs += jump.outputs
        outs = []
        for number, position, aval in jump.wanted:
            value = Value()
            value.aval, value.array, value.segment, value.position, value.pinned = aval, None, segment, position, False
            refs[first + number] = _ref(value)
            outs.append(value)
        segment.count = jump.count
        self.cursor = jump.end
        return outs

    def landing(self, first: int, leaves: int, inputs: Sequence[Value], values: Sequence[Value]) -> Jump | None:
        """What leads here from where the segment had ``first`` outputs and ``leaves`` leaves; None if it cannot be jumped.

        Args:
            inputs: what the records since then may have read of what was not in the table.
            values: what is held of their outputs.
        """
        end, segment = self.cursor, self.segment
        if end.full:
            return None
        numbers = {id(value): number for number, value in enumerate(inputs)}
        met = [numbers.get(id(reference())) for reference in segment.leaf_refs[leaves:]]
        if None in met:
            return None
        outputs = end.path().outputs[first:]
        wanted = []
        for value in values:
            if value.segment is not segment or value.position not in outputs:
                return None
            wanted.append((outputs.index(value.position), value.position, value.aval))
        positions = tuple(segment.leaf_positions[leaves:])
        return Jump(
            end, segment.count, tuple([n for n in met if n is not None]), positions, len(outputs), tuple(wanted)
        )

    @staticmethod
    def _meet(value: Value, segment: Segment, position: int) -> None:
        """Puts a value that is there already into the segment's table."""
        value.segment = segment
        value.position = position
        if value.pinned:
            segment.pinned.add(position)
        segment.leaf_refs.append(_ref(value))
        segment.leaf_arrays.append(value.array)
        segment.leaf_positions.append(position)

    # ---- the slow side: everything below runs when a signature or a path is new

    def _miss(
        self,
        op: Any,
        static: tuple[Any, ...],
        values: Sequence[Value],
        args: tuple[Any, ...],
        key: tuple[Any, ...],
        start: int,
    ):
        if any(v.traced for v in values):
            self._forget_leaves(self.segment, start)
            return self._run_now(op, static, values, args)
        placement = self._placement(values, args)
        segment = self.segment
        if self.cursor is not self.root and placement is not self.cursor.placement:
            self._forget_leaves(segment, start)
            self.flush("the device changed")
            return self.record(op, static, values, args)
        dynamic = self._dynamic_numbers(op, values, args, key)
        if dynamic is not None:
            self._forget_leaves(segment, start)
            return self.record(op, *dynamic(values))
        kernel = op.kernel(static, args, tuple(v.aval for v in values))
        positions = tuple(v.position for v in values)
        leaves = tuple(
            (segment.leaf_positions[i], values_aval) for i, values_aval in self._new_leaves(segment, values, start)
        )
        node = TraceNode(self.cursor, kernel, positions, leaves, placement)
        self.nodes += 1
        # setdefault: a reentrant call (a kernel that reads a value while it is lowered) may have come first
        return self.cursor.children.setdefault(key, node)

    @staticmethod
    def _new_leaves(segment: Segment, values: Sequence[Value], start: int) -> list[tuple[int, Aval]]:
        by_position = {v.position: v.aval for v in values}
        first = next((i for i, p in enumerate(segment.leaf_positions) if p >= start), len(segment.leaf_positions))
        return [(i, by_position[segment.leaf_positions[i]]) for i in range(first, len(segment.leaf_positions))]

    @staticmethod
    def _forget_leaves(segment: Segment, start: int) -> None:
        """Undoes what a call that failed, or that goes another way, has put into the table."""
        while segment.leaf_positions and segment.leaf_positions[-1] >= start:
            position = segment.leaf_positions.pop()
            segment.pinned.discard(position)
            segment.leaf_arrays.pop()
            value = segment.leaf_refs.pop()()
            if value is not None:
                value.segment = None
        segment.count = start

    def _placement(self, values: Sequence[Value], args: tuple[Any, ...]) -> Placement:
        named = next((a for a in args if isinstance(a, Placement)), None)  # of functions that make a tensor
        if named is not None:
            return named
        return values[0].aval.placement if values else Placement("cpu", 0)

    def _dynamic_numbers(self, op: Any, values: Sequence[Value], args: tuple[Any, ...], key: tuple[Any, ...]):
        """Counts the different numbers a site has shown; past the limit, says how to record the call with numbers as inputs."""
        where = op.numbers(args)
        if not where:
            return None
        shown = tuple(args[i] for i in where)
        general = list(args)
        for i in where:
            general[i] = DYNAMIC[type(args[i])]
        general_static = op.static(tuple(general))
        if not self.varies((op, general_static, tuple(v.aval for v in values)), repr(shown), key[2:]):
            return None

        def again(values: Any) -> tuple[Any, ...]:
            # The caller's list grows: it goes on to read what the pullback needs from it.
            where_to = self._placement(values, args)
            values.extend(Value.on_host(np.asarray(args[i], _HOST_DTYPES[type(args[i])]), where_to) for i in where)
            return general_static, values, tuple(general)

        return again

    def varies(self, form: tuple[Any, ...], shown: Any, inputs: tuple[Any, ...] = ()) -> bool:
        """Whether a call of this form shows something else each time: ``shown`` then becomes an input of the program.

        That is so once one place of the trace (the inputs there are ``inputs``) has shown more than a few, or all places together many.
        """
        here = (self.root if self.at_boundary else self.cursor).sites.setdefault((form, inputs), set())
        everywhere = self.root.sites.setdefault(form, set())
        if len(here) <= DISTINCT_NUMBERS:
            here.add(shown)
        if len(everywhere) <= DISTINCT_EVERYWHERE:
            everywhere.add(shown)
        return len(here) > DISTINCT_NUMBERS or len(everywhere) > DISTINCT_EVERYWHERE

    def _run_now(self, op: Any, static: tuple[Any, ...], values: Sequence[Value], args: tuple[Any, ...]):
        """Under somebody else's JAX trace: apply the function to the tracers at once."""
        kernel = op.kernel(static, args, tuple(v.aval.plain() for v in values))
        arrays = [v.finish() for v in values]
        # A counter in int64 stays one, although the trace around it may be one without 64-bit types.
        wide = any(v.aval.dtype.itemsize == 8 for v in values)
        with tracing() if wide else contextlib.nullcontext():
            outs = kernel.on_tracers()(*arrays)
        return kernel, [Value.of(out) for out, _ in zip(outs, kernel.out_avals, strict=False)]

    # ---- running

    def flush(self, reason: str, hot: bool = False) -> None:
        """Runs what is recorded. ``hot``: compile it whole even if it is new."""
        node, segment = self.cursor, self.segment
        hot = hot or self.at_boundary
        self.at_boundary = False
        if node is self.root:
            return
        self.cursor, self.segment = self.root, Segment(self)
        path = node.path()
        outputs = [None if reference is None else reference() for reference in segment.out_refs]
        values = [value for value in outputs if value is not None]
        live = tuple([value.position for value in values])
        del outputs
        if self.nodes > self.room:
            self._prune()
        if not live and not node.checked:
            return  # nobody is left who could see what it would compute
        pinned = segment.pinned
        dead = tuple(
            [i for i, r in enumerate(segment.leaf_refs) if r() is None and segment.leaf_positions[i] not in pinned]
        )
        arrays = self._on_device(segment, node)
        report.segments += 1
        report.ops += node.depth
        node.runs += 1
        program = None if self.op_by_op else self._program(node, live, dead, reason, hot)
        if program is None:
            report.cold += 1
            outs: Sequence[Any] = run_cold(path, live, arrays)
        else:
            report.hot += 1
            report.donated_bytes += program.donated_bytes
            outs = program.run(arrays)
            if program.live != live:
                by_position = dict(zip(program.live, outs, strict=False))
                outs = [by_position[p] for p in live]
        for value, array in zip(values, outs, strict=False):
            value.array = array

    def _prune(self) -> None:
        """Forgets the paths that no program was compiled for: a program that never repeats itself must not fill the memory."""
        kept: set[TraceNode] = set()
        stack = [self.root]
        while stack:
            node = stack.pop()
            stack.extend(node.children.values())
            if node.programs:
                above: TraceNode | None = node
                while above is not None and above not in kept:
                    kept.add(above)
                    above = above.parent
        for node in kept:
            node.children = {key: child for key, child in node.children.items() if child in kept}
        if not kept:
            self.root.children = {}
        self.root.sites.clear()
        self.nodes = len(kept)
        self.room = max(MAX_NODES, 2 * self.nodes)

    @staticmethod
    def _on_device(segment: Segment, node: TraceNode) -> list[Any]:
        arrays = segment.leaf_arrays
        if np.ndarray not in set(map(type, arrays)):
            return arrays
        for i, array in enumerate(arrays):
            if array.__class__ is np.ndarray:
                value = segment.leaf_refs[i]()
                if value is not None and value.array is not array:  # meanwhile it has been moved
                    arrays[i] = value.array
                    continue
                assert node.placement is not None
                arrays[i] = put(array, node.placement)
                if value is not None:
                    value.array = arrays[i]
        return arrays

    def _program(
        self, node: TraceNode, live: tuple[int, ...], dead: tuple[int, ...], reason: str, hot: bool
    ) -> Program | None:
        """The program to run, or None to run cold."""
        program = node.chosen.get((live, dead))
        if program is not None:
            return program
        path = node.path()
        # Which leaves have died matters only as far as an output can take their memory over.
        donated = donations(path, live, dead)
        key = (live, donated)
        program = node.programs.get(key)
        if program is None:
            if node.programs:
                # A program with more outputs does as well for a while: values that live by chance must not cost a compilation.
                misses = node.misses[key] = node.misses.get(key, 0) + 1
                if misses < SUPERSET_USES:
                    for other in node.programs.values():
                        if set(live) <= set(other.live) and set(other.donated) <= set(dead):
                            return other
                if len(node.programs) >= MAX_PROGRAMS:
                    return None
            elif node.depth == 1 or (node.runs < 2 and not hot):
                return None  # one op has its own executable already
            program = node.programs[key] = Program(path, live, donated)
            report.compiles += 1
            report.reasons.append(f"{node.depth} ops, ended because {reason}; {self._why(node)}; at {user_line()}")
        node.chosen[live, dead] = program
        return program

    def _why(self, node: TraceNode) -> str:
        """What is new about this path: the first op where it left a path that has run before."""
        if len(node.programs) > 1:
            return "other values are alive than before"
        while node.parent is not None:
            parent = node.parent
            for key, sibling in parent.children.items():
                if sibling is not node and sibling.kernel is not None and node.kernel is not None:
                    mine = next(k for k, n in parent.children.items() if n is node)
                    return f"first differs at op {node.depth}: {_difference(mine, key)}"
            node = parent
        return "a new path"


def _difference(mine: tuple[Any, ...], other: tuple[Any, ...]) -> str:
    if mine[0] is not other[0]:
        return f"{mine[0].name} instead of {other[0].name}"
    if mine[1] != other[1]:
        return f"{mine[0].name} with arguments {mine[1]} instead of {other[1]}"
    changed = [(a, b) for a, b in zip(mine[2:], other[2:], strict=False) if a != b]
    return (
        f"{mine[0].name} on {changed[0][0]} instead of {changed[0][1]}"
        if changed
        else f"{mine[0].name} on other inputs"
    )


class Crowded(Recorder):
    """A recorder in a process where several threads record: one may need a pending value of another, and runs its segment."""

    def record(
        self, op: Any, static: tuple[Any, ...], values: Sequence[Value], args: tuple[Any, ...]
    ) -> tuple[Kernel, list[Value]]:
        with lock:
            return Recorder.record(self, op, static, values, args)

    def flush(self, reason: str, hot: bool = False) -> None:
        with lock:
            Recorder.flush(self, reason, hot)
            if len(_recorders) == 1 and self in _recorders:  # the other threads have ended
                self.__class__ = Recorder  # pyright: ignore[reportAttributeAccessIssue]


_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()
_UNLOCKED = {Recorder.record.__code__, Recorder.flush.__code__}


def unlocked(function: Any) -> Any:
    """Marks a function that looks into a recorder's segment, without a lock while one thread records alone."""
    _UNLOCKED.add(function.__code__)
    return function


def _new_recorder() -> Recorder:
    """A recorder for a thread. A lock costs a tenth of recording an op, so there is none before there is a second thread."""
    with lock:
        made = Crowded() if _recorders else Recorder()
        for other in _recorders:
            other.__class__ = Crowded
        _recorders.add(made)
    if made.__class__ is Crowded:
        # A thread that is just now inside a method that takes no lock must come out of it first.
        while any(
            _is_recording(thread) for thread in threading.enumerate() if thread is not threading.current_thread()
        ):
            time.sleep(1e-4)
    return made


def _is_recording(thread: threading.Thread) -> bool:
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None:
        if frame.f_code in _UNLOCKED:
            return True
        frame = frame.f_back
    return False


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.recorder = _new_recorder()


per_thread = _PerThread()


def recorder() -> Recorder:
    """This thread's recorder."""
    return per_thread.recorder


def flush() -> None:
    """Runs what this thread has recorded so far. Does not wait for the device."""
    recorder().flush("flush was called")


def forget() -> None:
    """Runs what every thread has recorded and forgets all traces: what ops mean has changed."""
    with lock:
        for each in list(_recorders):
            each.flush("a global setting changed")
            each.root = each.cursor = TraceNode(None, None, (), (), None)


def boundary() -> None:
    """Ends the current step of a loop: what is recorded is run before the next op is."""
    own = recorder()
    if own.cursor is not own.root:
        own.at_boundary = True


def set_op_by_op(on: bool) -> bool:
    """Switches this thread to running every op at once (True) or to recording (False); returns what was set before."""
    own = recorder()
    own.flush("the mode changed")
    before, own.op_by_op = own.op_by_op, on
    return before


@contextlib.contextmanager
def op_by_op(on: bool = True) -> Iterator[None]:
    """Within the context every op runs by itself as soon as it is called, which makes debugging easier and loops slower.

    >>> with torchlike.op_by_op():
    ...     torch.ones(2) + 1
    tensor([2., 2.])
    """
    before = set_op_by_op(on)
    try:
        yield
    finally:
        set_op_by_op(before)
