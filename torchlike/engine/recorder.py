"""Recording: each op is one dictionary look-up in the trace tree. Ops run when a value is read or at a boundary."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
import weakref
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import jax
import numpy as np

from . import checks, threads
from .aval import META, Aval, MappedAval, Meshed, Placement, aval_for
from .collective import Group
from .kernel import Kernel
from .program import AT_ONCE_OPS
from .report import OP_BY_OP, report
from .segment import MIN_KNOWN_OPS, Segment
from .tiers import choice
from .trace import (
    DYNAMIC,
    HOST_DTYPES,
    MAX_OPS,
    DynamicNumber as DynamicNumber,
    Numbers,
    Operation as Operation,
    PathHistory,
    TraceNode,
)
from .value import Value

# A site whose Python numbers have shown this many different values takes them as inputs from then on.
DISTINCT_NUMBERS = 3
# The same for all sites of one op together, on inputs of one shape.
DISTINCT_EVERYWHERE = 16
# A long known path ends before an op that has come there with so many other sizes: with that op in it, it would be new each time.
# So does a path that is new, or continues in a new way, before a kernel with which so many long runs of known ops have begun.
DISTINCT_SIZES = 3
# The tree keeps this many ops, and ops of this many different kernels. When there are more, the paths that were run longest ago are
# forgotten. A node takes about 1 kB, and a kernel 2 kB more: a program that repeats itself has few kernels for its many nodes.
MAX_NODES = 30_000
MAX_KERNELS = 8_000
# Pending ops are run when they alone keep more memory alive than this.
MAX_UNREFERENCED_BYTES = 4 * 2**20

# Records a call in which some values are mapped.
_record_mapped: Any = None


def record_mapped_with(function: Callable[..., tuple[Kernel, list[Value]]]) -> None:
    """Sets what records calls in which some values are mapped: it needs the recorder, see ``_core/vmapped.py``."""
    global _record_mapped
    _record_mapped = function


# Compiled, the name is that of a C function: see ``recorder.pxd``. There are several calls for each op.
globals()["made_reference"] = weakref.ref


class Replay:
    """Many captured records that are made in one step: where they end, what they read, and which of their outputs somebody holds."""

    __slots__ = ("end", "start", "leaves", "table", "outputs")

    def __init__(
        self,
        end: TraceNode,
        start: int,
        leaves: tuple[tuple[int, int], ...],
        outputs: tuple[tuple[int, Aval], ...],
    ) -> None:
        self.end = end
        self.start = start  # length of the table before
        self.leaves = leaves  # number among the inputs, position in the table, of those that were not in the table
        self.outputs = outputs  # position in the table, aval
        self.table = [_DEAD] * (end.count - start)  # since nothing ever held the values there


class Call(NamedTuple):
    """What the recorder has to know of a call with a kernel: it follows from the signature, so it is found out once for each kernel.

    ``placement``: where a path must run in which it is recorded. ``form``: the call without its Python numbers, ``numbers``: these as
    text, empty if there are none that may become inputs. ``dynamic``: a number of it is an input already.
    """

    placement: Placement
    form: tuple[object, ...]
    numbers: str
    dynamic: bool

    @classmethod
    def of(cls, op: Operation, args: tuple[Any, ...], avals: tuple[Aval, ...], placement: Placement) -> Call:
        where = op.numbers(args)
        dynamic = any(arg.__class__ is DynamicNumber for arg in args)
        if not where:
            return _call_without_numbers(placement, dynamic)
        return cls(
            placement, (op, op.static(_without_numbers(args, where)), avals), repr([args[i] for i in where]), dynamic
        )


@functools.lru_cache(64)
def _call_without_numbers(placement: Placement, dynamic: bool) -> Call:
    return Call(placement, (), "", dynamic)


def _with(value: object, values: tuple[object, ...], enough: int) -> tuple[object, ...]:
    """Different values with one more, if there are not more than enough already. Tuples, since most keep one value for ever."""
    return values if len(values) > enough or value in values else (*values, value)


def _without_numbers(args: tuple[Any, ...], where: Sequence[int]) -> tuple[Any, ...]:
    """The arguments with placeholders for the numbers at these places."""
    general = list(args)
    for i in where:
        general[i] = DYNAMIC[type(args[i])]
    return tuple(general)


def _with_inputs(op: Operation, values: Any, args: tuple[Any, ...], placement: Placement) -> tuple[Any, Any, Any]:
    """How to record a call with its numbers as inputs: the static arguments, the values and the arguments."""
    where = op.numbers(args)
    general = _without_numbers(args, where)
    # Extends the caller's own list, from which the caller reads what the pullback needs.
    values.extend(Value.on_host(np.asarray(args[i], HOST_DTYPES[type(args[i])]), placement) for i in where)
    return op.static(general), values, general


class _Nobody:
    __slots__ = ("__weakref__",)


_DEAD: Any = weakref.ref(_Nobody())  # a weak reference whose object is gone


class Recorder:
    """One thread's record of what its program does.

    Only its own thread records into it. Any thread may run a segment of it, which takes ``lock``: whoever needs a value that
    another thread is about to compute waits there. Recording itself takes no lock. It is safe because both sides write
    before they read: the owner commits a record (assigns ``segment.cursor``) and then looks whether the segment is closed;
    whoever runs the segment closes it and then reads the cursor. So at least one of them sees the other. The owner that
    finds its segment closed waits for the run to end, and records again what came too late for it.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.thread = threading.get_ident()
        self.op_by_op = False
        self.nodes = 0  # of the tree
        self.kernels = 0  # different ones, at most
        self.room, self.room_for_kernels = MAX_NODES, MAX_KERNELS
        self.roots: dict[
            tuple[bool, str], TraceNode
        ] = {}  # by the mode: what was compiled in one does not run in another
        self.waiting: list[Segment] = []  # closed and not run yet, in the order in which they were begun
        self.ended: Segment | None = None  # the step that a boundary has ended; it runs before the next op is recorded
        self.begun = 0  # segments
        self.segment = Segment(self, self.root, self.begun)
        # Stands in for ``segment`` after a boundary. Its table is never as long as its cursor says, which ``record`` notices.
        self.between_steps = Segment(self, TraceNode(None, None, (), (), None), -1)
        self.between_steps.cursor.count = -1

    @property
    def root(self) -> TraceNode:
        mode = self.op_by_op, choice.mode
        root = self.roots.get(mode)
        if root is None:
            root = self.roots[mode] = TraceNode(None, None, (), (), None)
        return root

    def record(
        self, op: Any, static: tuple[Any, ...], values: Sequence[Value], args: tuple[Any, ...]
    ) -> tuple[Any, list[Value]]:
        """Records one op. Returns its kernel, as ``op.lower`` made it, and its outputs as pending values.

        Args:
            op: an ``Operation``; compared by identity.
            static: the arguments that are not arrays, hashable, numbers each preceded by their type.
            values: the arrays among the arguments.
            args: the arguments as they were given, for ``op.lower``; only looked at when this signature is new.
        """
        segment: Segment = self.segment
        cursor: TraceNode = segment.cursor
        value: Value
        table = segment.table
        position = len(table)
        # The table is longer than the cursor says after a record that was interrupted, and never fits it between two steps. One comparison
        # finds both.
        if position != cursor.count:
            self._begin()
            return self.record(op, static, values, args)
        if not position and cursor.at_once is not None:
            done = self._run_at_once(cursor.at_once, op, static, values)
            if done is not None:
                return done
        key: list[Any] = [op, static]
        add = key.append
        for value in values:
            # Another thread may meet the value at any time: it writes the segment first and the position after it.
            where = value.position
            if value.segment is segment:
                add(where)
                continue
            array = value.array
            if array is None:  # in flight, of another thread, or of a segment that was interrupted
                array = self._in_flight(value, where)
                if array is None:
                    value.finish()
                    if segment is not self.segment:
                        return self.record(op, static, values, args)
                    array = value.array
            add(value.aval)
            table.append(made_reference(value))  # pyright: ignore[reportUndefinedVariable]
            segment.leaf_arrays.append(array)
            if value.pinned:
                segment.pinned.add(id(array))
            value.segment = segment
            value.position = position
            position += 1
        found: Any = cursor.children.get(tuple(key))
        if found is None:
            try:
                found = self._miss(op, static, values, args, tuple(key), segment)
            except Exception:
                segment.forget_unfinished()
                raise
            if type(found) is not TraceNode:
                return found  # recorded in another way
        node: TraceNode = found
        outs = []
        for aval in node.out_avals:
            value = Value.__new__(Value)
            value.aval = aval
            value.array = None
            value.segment = segment
            value.position = position
            value.pinned = False
            table.append(made_reference(value))  # pyright: ignore[reportUndefinedVariable]
            outs.append(value)
            position += 1
        if segment.cursor is not cursor:  # a finalizer has recorded something meanwhile, from where this record began
            segment.forget_unfinished()
            return self.record(op, static, values, args)
        segment.cursor = node  # from here on the op is recorded
        if segment.closed and self._missed(segment, node):
            return self.record(op, static, values, args)
        if node.full:
            self._at_full_node(node, segment)
        return node.kernel, outs

    def _in_flight(self, value: Value, position: int) -> object:
        """The array of a value that another thread computes for this recorder: it may be noted, and not be read. Else None."""
        segment = value.segment
        return (
            segment.flown.get(position) if segment is not None and segment.flown and segment.recorder is self else None
        )

    def _run_at_once(
        self, known: dict[tuple[Any, ...], tuple[Kernel, Any]], op: object, static: object, values: Sequence[Value]
    ) -> tuple[Kernel, list[Value]] | None:
        """What ``record`` returns for a call that runs as soon as it is made; None for any other. ``known``: these calls."""
        value: Value
        key: list[object] = [op, static]
        arrays: list[object] = []
        first = -1  # results lie in no table: their position says how many calls led to them
        for value in values:
            if value.array.__class__ is not np.ndarray:
                return None
            if value.position < first:
                first = value.position
            key.append(value.aval)
            arrays.append(value.array)
        found = known.get(tuple(key))
        # A longer row is better recorded. And after a check that has failed, nothing happens.
        if found is None or first < -AT_ONCE_OPS or checks.are_unread():
            return None
        kernel, decision = found
        times = decision.seconds_counted()
        start = time.perf_counter() if times else 0.0
        try:
            results = [*decision.run(arrays)]
        except Exception:
            return None  # recorded, it fails again, in PyTorch's words
        report.segments += 1
        report.cold += 1
        report.ops += 1
        if times:
            report.spend(OP_BY_OP, (time.perf_counter() - start) * times)
        outs = [Value.over(aval, array) for aval, array in zip(kernel.out_avals, results, strict=True)]
        for value in outs:
            value.position = first - 1
        return kernel, outs

    def replay(self, replay: Replay, inputs: Sequence[Value], begin: TraceNode) -> list[Value] | None:
        """Makes the records that were captured from ``begin`` before, with inputs of the same avals, or the same places in the table.

        None where another thread has run the segment meanwhile, or a finalizer has recorded something, and nothing was recorded.
        """
        segment: Segment = self.segment
        end: TraceNode = replay.end
        value: Value
        start, table = replay.start, replay.table.copy()
        arrays = []
        for number, position in replay.leaves:
            value = inputs[number]
            table[position - start] = made_reference(value)  # pyright: ignore[reportUndefinedVariable]
            arrays.append(value.array)
            if value.pinned:
                segment.pinned.add(id(value.array))
        outs = []
        for position, aval in replay.outputs:
            value = Value.__new__(Value)
            value.aval = aval
            value.array = None
            value.segment = segment
            value.position = position
            value.pinned = False
            table[position - start] = made_reference(value)  # pyright: ignore[reportUndefinedVariable]
            outs.append(value)
        if segment.cursor is not begin or len(segment.table) != start:
            return None
        segment.table += table
        segment.leaf_arrays += arrays
        for number, position in replay.leaves:
            value = inputs[number]
            value.segment, value.position = segment, position
        segment.cursor = end
        if segment.closed and self._missed(segment, end):
            return None
        return outs

    def capture(self, start: TraceNode, inputs: Sequence[Value], values: Sequence[Value]) -> Replay | None:
        """The records since the cursor was ``start``, for ``replay``; None if they cannot be replayed.

        Args:
            inputs: what the records since then may have read of what was not in the table.
            values: what is held of their outputs.
        """
        segment = self.segment
        end, table = segment.cursor, segment.table
        # A full node may have to run the segment in the middle of the records, and an unfinished record has left entries that no path has.
        if end.full or segment.closed or end.count != len(table):
            return None
        path = end.path()
        numbers = {id(value): number for number, value in enumerate(inputs)}
        leaves = []
        for position in path.leaves[start.leaves :]:
            number = numbers.get(id(table[position]()))
            if number is None:
                return None
            leaves.append((number, position))
        outputs = []
        for value in values:
            if value.segment is not segment or not start.count <= value.position < end.count:
                return None
            outputs.append((value.position, value.aval))
        return Replay(end, start.count, tuple(leaves), tuple(outputs))

    # ---- the slow side: everything below runs when a signature or a path is new, or a segment ends

    def _begin(self) -> None:
        """Begins a new segment where the current one cannot be continued.

        After a boundary, the step that has ended runs first. Otherwise a record was interrupted, or is still being made further up
        the stack, and this one comes from a finalizer or signal handler: that segment stays as it was committed, and waits.
        """
        if self.ended is not None:
            self.ended.finish("a training step ended", hot=True)
            return
        with self.lock:
            self.close(self.segment)

    def close(self, segment: Segment) -> None:
        """Marks a segment as about to be run, and gives its thread a new one. The caller holds ``lock``."""
        if segment is self.between_steps:
            return
        segment.closed = True
        if (
            segment.cursor.depth
        ):  # else there is nothing to run, unless a record is committed to it yet: see ``_missed``
            self.put_in_line(segment)
        if segment is self.ended or segment is self.segment:
            following = Segment(self, self.root, self.begun + 1)
            # Python's collector may have called a finalizer meanwhile, which read a value, so that the segment is closed already.
            if segment is self.ended or segment is self.segment:
                self.begun += 1
                self.ended, self.segment = None, following

    def put_in_line(self, segment: Segment) -> None:
        """Makes a closed segment wait for its run, before those that were begun later. The caller holds ``lock``."""
        waiting = self.waiting
        if not waiting:  # as in most steps
            waiting.append(segment)
        elif segment not in waiting:
            insort(waiting, segment, key=attrgetter("number"))

    def _missed(self, segment: Segment, node: TraceNode) -> bool:
        """Whether a segment that was closed meanwhile was run without the record that has just been committed."""
        with self.lock:  # waits for that run
            if segment.recorder is not None:  # not run yet, or the run failed: the record is part of it
                self.put_in_line(segment)
                return False
            return segment.ran.depth < node.depth

    def _at_full_node(self, node: TraceNode, segment: Segment) -> None:
        """Runs what is pending if there is too much of it, if every op is to run by itself, or if the op's check is read at once."""
        if self.op_by_op:
            self.flush("op by op")
        elif node.kernel is not None and node.kernel.checked_at_once:
            self.flush("the check of an operation is read at once")
            checks.raise_failed()
        elif node.depth >= MAX_OPS:
            self.flush(f"{MAX_OPS} ops were pending")
        elif not node.ends_step:
            waiting = segment.unreferenced_bytes()
            if waiting > MAX_UNREFERENCED_BYTES:
                self.flush(f"{waiting:,} bytes of inputs were held by pending ops alone")

    def _miss(
        self,
        op: Any,
        static: tuple[Any, ...],
        values: Sequence[Value],
        args: tuple[Any, ...],
        key: tuple[Any, ...],
        segment: Segment,
    ):
        """The node for a signature that is new here, or the result of ``record`` where the call is recorded in another way."""
        cursor = segment.cursor
        avals = tuple([v.aval for v in values])
        kernel = op.known_kernel(static, avals)
        call: Call | None = None if kernel is None else kernel.recorded
        if call is None:
            on_meta = any(v.aval.placement is META for v in values)
            if not on_meta and any(v.traced for v in values):
                segment.forget_unfinished()
                if any(v.aval.__class__ is MappedAval for v in values):
                    return _record_mapped(self, op, static, values, args)
                return self._run_now(op, static, values, args)
            placement = META if on_meta else self._placement(values, args)
            if placement is META:
                segment.forget_unfinished()
                return _look_only(op, static, values, args)
            call = Call.of(op, args, avals, placement)
        placement = call.placement
        if cursor.depth and placement is not cursor.placement:
            segment.forget_unfinished()
            self.flush("the device changed")
            return self.record(op, static, values, args)
        if call.numbers and self.varies(call.form, call.numbers, key[2:]):
            segment.forget_unfinished()
            return self.record(op, *_with_inputs(op, values, args, placement))
        if self._ends_before(kernel, key, avals, segment):
            segment.forget_unfinished()
            segment.finish("sizes vary from here on, or did so up to here", flies=True)
            return self.record(op, static, values, args)
        leaves = tuple([
            (position, value.aval)
            for position, reference in enumerate(segment.table[cursor.count :], cursor.count)
            if (value := reference()) is not None
        ])  # fmt: skip
        positions = key[2:]
        if len(leaves) != len([entry for entry in positions if entry.__class__ is not int]):
            # Another thread has run the segment meanwhile, and emptied its table.
            return self.record(op, static, values, args)
        if leaves:
            # From the key, not from the values: another thread may have met them since.
            fresh = iter(leaves)
            positions = tuple([entry if entry.__class__ is int else next(fresh)[0] for entry in positions])
        if kernel is None:
            self.kernels += 1
            kernel = op.kernel(static, args, avals)
            if self.segment is not segment or len(segment.table) != cursor.count + len(leaves):
                # A value was read, or an op recorded, while the kernel was made: this segment was run, or left as it was.
                return self.record(op, static, values, args)
        kernel.recorded = call
        if kernel.static is None:
            kernel.static = static
        elif kernel.static is not static and kernel.static == static:
            key = (op, kernel.static, *key[2:])  # one tuple for all places where the kernel is called
        node = TraceNode(cursor, kernel, positions, leaves, placement, full=self.op_by_op or kernel.checked_at_once)
        node.ends_step = op.ends_step
        node.in_run = cursor.in_run or (not cursor.depth and kernel.runs_begun >= DISTINCT_SIZES)
        node.dynamic = cursor.dynamic or call.dynamic
        self.nodes += 1
        if self.nodes > self.room or self.kernels > self.room_for_kernels:
            self._prune()
        # setdefault: a reentrant call (a kernel that reads a value while it is lowered) may have come first
        return cursor.children.setdefault(key, node)

    def _ends_before(
        self, kernel: Kernel | None, key: tuple[object, ...], avals: tuple[Aval, ...], segment: Segment
    ) -> bool:
        """Whether the path ends before an op that is new in this place, so that what is known in a loop stays the path that it was.

        In text generation the sequence grows by one: ``cat`` is of another size each time, and so all that follows it would be a
        new path. The model on the last tokens is not new, though: it is met from the root, if a path ends before it and after it.

        Args:
            kernel: the op's, if these sizes have been seen before.
            key: of the op, in this place; with ``avals`` for the inputs it would be the op's at the root.
        """
        cursor = segment.cursor
        if self.op_by_op:
            return False
        if kernel is None:
            segment.end_run()
        elif kernel.runs_begun >= DISTINCT_SIZES and not cursor.in_run:
            known = segment.unseen or (*key[:2], *avals) in self.root.children
            if cursor.depth and known and not segment.is_kept():
                return True
        elif segment.unseen and segment.known_run is None:
            segment.known_run = kernel, cursor.depth
        if cursor.depth >= MIN_KNOWN_OPS and len(cursor.children) >= DISTINCT_SIZES:
            others = sum(1 for child in list(cursor.children) if child[0] is key[0] and child[1] == key[1])
            if others >= DISTINCT_SIZES:
                return True
        segment.unseen = segment.unseen or kernel is None
        return False

    def _placement(self, values: Sequence[Value], args: tuple[object, ...]) -> Placement:
        placement = next((a for a in args if isinstance(a, Placement)), None)  # of functions that make a tensor
        if placement is not None:
            return placement.home
        for value in values:
            if isinstance(value.aval.placement, Meshed):
                return value.aval.placement.home
        return values[0].aval.placement if values else Placement("cpu", 0)

    def varies(self, form: tuple[object, ...], value: object, inputs: tuple[object, ...] = ()) -> bool:
        """Whether calls of this form have another ``value`` each time, which then becomes an input of the program.

        That is so once one place of the trace (its inputs are ``inputs``) has had more than a few values, or all places together many.
        Where a number before it in the path is an input already, two are enough, and the paths with other numbers before it count as
        well: a loop in which several numbers vary settles at once, instead of one number after the other.
        """
        cursor, root = self._cursor(), self.root
        if cursor.sites is None:
            cursor.sites = {}
        if root.sites is None:
            root.sites = {}
        numbers = root.sites.get(form)
        if numbers is None:
            numbers = root.sites[form] = Numbers()
        # No more values are kept than it takes to decide, so a counter that rises for ever takes no memory.
        here = cursor.sites[numbers, inputs] = _with(value, cursor.sites.get((numbers, inputs), ()), DISTINCT_NUMBERS)
        same_depth = _with(value, numbers.by_depth.get(cursor.depth, ()), 1)
        numbers.by_depth[cursor.depth] = same_depth
        everywhere = numbers.everywhere = _with(value, numbers.everywhere, DISTINCT_EVERYWHERE)
        if len(here) > DISTINCT_NUMBERS or len(everywhere) > DISTINCT_EVERYWHERE:
            return True
        return cursor.dynamic and len(same_depth) > 1

    def with_numbers(
        self, op: Any, values: Sequence[Value], args: tuple[Any, ...], avals: tuple[Aval, ...]
    ) -> tuple[Any, Any, Any] | None:
        """How to record a call of another kind with its numbers as inputs, where they vary; else None."""
        placement = avals[0].placement
        call = Call.of(op, args, avals, placement)
        if call.numbers and self.varies(call.form, call.numbers, avals):
            return _with_inputs(op, values, args, placement)
        return None

    def _run_now(self, op: Any, static: tuple[Any, ...], values: Sequence[Value], args: tuple[Any, ...]):
        """Within a JAX trace of the user's: applies the function to the tracers at once."""
        kernel = op.kernel(static, args, tuple(aval_for(v.aval) for v in values))
        arrays = [v.finish() for v in values]
        # int64 stays int64, and ``long()`` and ``argmax`` give it, although the surrounding trace may have no 64-bit types.
        run = kernel.on_tracers(bool(jax.config.jax_enable_x64))  # pyright: ignore[reportAttributeAccessIssue]
        with jax.named_scope(kernel.name):  # so that errors and profiles name the operation
            outs = run(*arrays)
        return kernel, [Value.of(out) for out, _ in zip(outs, kernel.out_avals, strict=False)]

    def _cursor(self) -> TraceNode:
        """Where the next op will be recorded."""
        return self.root if self.segment is self.between_steps else self.segment.cursor

    # ---- running

    def flush(self, reason: str, hot: bool = False) -> None:
        """Runs what is recorded. ``hot``: compile it whole even if it is new."""
        segment = self.ended or self.segment
        if segment.cursor.depth:
            segment.finish(reason, hot)
        if threads.flown:
            threads.land()

    def group(self) -> Group | None:
        """The processes with which what is recorded exchanges arrays."""
        return self._cursor().group

    def finish(self, reason: str) -> None:
        """Runs what is recorded, from any thread."""
        segment = self.ended or self.segment
        with self.lock:
            # A copy of the list, because each run removes its segment from it.
            for waiting in [*self.waiting, segment]:
                if waiting.cursor.depth:
                    waiting.finish(reason)

    def end_step(self) -> None:
        """Ends the current step of a loop: what is recorded is run before the next op is."""
        segment = self.segment
        if segment is not self.between_steps and segment.cursor.depth:
            segment.ends_step = True
            self.ended, self.segment = segment, self.between_steps

    def _prune(self) -> None:
        """Forgets the half of the tree that was run longest ago: a program that never repeats itself must not fill the memory."""
        ends: list[tuple[TraceNode, PathHistory]] = []
        stack = [self.root]
        while stack:
            node = stack.pop()
            stack.extend(node.children.values())
            if node.history is not None:
                ends.append((node, node.history))
        ends.sort(key=lambda end: (not end[1].programs, -end[1].used))  # what was compiled took long to make
        reachable = {self.root}
        kernels: set[Kernel | None] = set()
        cursor = self._cursor()
        for end in [cursor, *[node for node, _ in ends]]:
            path = []
            above: TraceNode | None = end
            while above is not None and above not in reachable:
                path.append(above)
                above = above.parent
            more = {node.kernel for node in path} - kernels
            if end is not cursor and (
                len(reachable) + len(path) > self.room // 2 or len(kernels) + len(more) > self.room_for_kernels // 2
            ):
                break
            reachable.update(path)
            kernels |= more
        for node in reachable:
            node.children = {key: child for key, child in node.children.items() if child in reachable}
            # A replay may end at a node that has just been forgotten.
            node.replays = node.at_once = None
        self.root.sites = None
        self.nodes, self.kernels = len(reachable), len(kernels)

    def set_op_by_op(self, on: bool) -> bool:
        """Switches to running every op at once (True) or to recording (False); returns what was set before."""
        self.flush("the mode changed")
        with self.lock:
            before, self.op_by_op = self.op_by_op, on
            self.close(self.segment)
        return before

    def set_compile_mode(self, mode: str) -> str:
        """Chooses when paths are compiled, in all threads; returns what was chosen before. See ``tiers.py``."""
        self.flush("the mode changed")
        with self.lock:
            before = choice.mode
            choice.set(mode)
            self.close(self.segment)
        return before

    def begin_anew(self) -> None:
        """Forgets all traces, and what is left of paths that ran by programs. For a process that was forked."""
        self.lock = threading.RLock()  # of an old one the child does not know who holds it
        self.forget()

    def forget(self) -> None:
        """Forgets all traces."""
        with self.lock:
            self.roots = {}
            self.nodes = self.kernels = 0
            self.close(self.segment)


def _look_only(op: Any, static: tuple[Any, ...], values: Sequence[Value], args: tuple[Any, ...]):
    """On the meta device: returns values with the kernel's avals, and records nothing, since there is nothing to compute."""
    kernel = op.kernel(static, args, tuple([v.aval.plain() for v in values]))
    return kernel, [Value.without_data(aval) for aval in kernel.out_avals]


# ---- one recorder for each thread


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.recorder = Recorder()
        threads.add(self.recorder)
        self.recorder.set_op_by_op(os.environ.get("TORCHLIKE_OP_BY_OP", "") not in ("", "0"))


per_thread = _PerThread()


def recorder() -> Recorder:
    """This thread's recorder."""
    return per_thread.recorder


def _run_ended_step() -> None:
    ended = per_thread.recorder.ended
    if ended is not None:
        ended.finish("a training step ended", hot=True)


threads.ended_step.run = _run_ended_step


def flush() -> None:
    """Runs what this thread has recorded so far. Does not wait for the device."""
    recorder().flush("flush was called")


def finish_all(reason: str) -> None:
    """Runs what every thread has recorded so far, and waits for threads that do."""
    for thread_recorder in threads.recorders():
        thread_recorder.finish(reason)


def forget() -> None:
    """Runs what every thread has recorded and drops all traces. Needed when a setting changes what ops compute."""
    for thread_recorder in threads.recorders():
        thread_recorder.flush("a global setting changed")
        thread_recorder.forget()


def boundary() -> None:
    """Ends the current step of a loop: what is recorded is run before the next op is."""
    per_thread.recorder.end_step()


def hand_over() -> None:
    """Has an accelerator begin with the step that has ended, for who does something else now than to record the next one."""
    ended = per_thread.recorder.ended
    if ended is not None and ended.cursor.placement is not None and ended.cursor.placement.platform != "cpu":
        ended.finish("a training step ended", hot=True)


def set_op_by_op(on: bool) -> bool:
    """Switches this thread to running every op at once (True) or to recording (False); returns what was set before."""
    return recorder().set_op_by_op(on)


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


@contextlib.contextmanager
def compiling(mode: str) -> Iterator[None]:
    """Within the context, paths are compiled "now", "never", or when it pays ("auto")."""
    before = recorder().set_compile_mode(mode)
    try:
        yield
    finally:
        recorder().set_compile_mode(before)
