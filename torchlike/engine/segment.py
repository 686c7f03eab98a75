"""The ops recorded since values were last needed, run as one transaction: all of it has happened, or nothing.

Two rules keep that true whatever comes in between (a signal, an exception, a failed compilation, another thread):

1. *A record is committed by one assignment*, that of ``cursor``. The cursor says how long the lists of the segment are
   (``TraceNode.count`` and ``leaves``). Entries beyond that are from a record that was never finished, and are ignored.
2. *Inputs are kept until outputs are there.* ``program.install`` computes and stores the outputs in one call that cannot be split.
   Before it, nothing has happened, and the segment runs again when one of its values is needed. After it, the segment is done.
   Where a check of an earlier program has failed, nothing happens either: ``void`` says so before the verdict is forgotten.

Python handles signals between calls and at the end of loops, never between two assignments; the order of statements below
relies on that.

A signal handler, a finalizer or a hook may read a value whose segment is being run further down the stack. What it does then depends on
how far that run is:

1. *Until the inputs are read*, it runs the segment from the beginning, to its end. The run below has changed nothing that counts. When it
   goes on, it finds that the outputs are stored (``stored``), at the latest in ``program.install``, and stores nothing.
2. *While the inputs are read* op by op, or layer by layer (``reading``), it computes the same from them and stores it. The segment stays
   in line until the run below has ended, so that no other one takes over the memory of its inputs (``_pinned``).

A program reads its inputs and stores its outputs in one call, in which no handler runs. Nor does one while JAX traces, while a program is
compiled, or in a run together with other processes: see ``handlers.py``.
"""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Sequence
from contextlib import nullcontext
from math import prod
from operator import call
from typing import Any, Protocol

import jax
import numpy as np

from . import checks, threads
from .aval import Meshed, out_of_memory
from .background import making, waiting_for
from .collective import Disagreement
from .handlers import catch_up, collector, without_handlers
from .interpreter.joined import wait_for_flown
from .jax_settings import drop_what_was_sent
from .kernel import Kernel
from .memory.ending import LARGE_BYTES, Ending, ending_of
from .memory.heap import give_back_memory, in_small_pages
from .memory.transfer import put
from .meshes import arrange, settle
from .program import (
    AT_ONCE_AFTER,
    AT_ONCE_OPS,
    Decision,
    OpByOp,
    OpFailed,
    Program,
    begin_at_once,
    choose,
    install,
    run_cold,
)
from .report import FAILED, OP_BY_OP, report
from .tiers import always_op_by_op
from .trace import Path, PathHistory, TraceNode
from .value import Value

Ref = weakref.ref[Value]
# When a program takes over from operations one at a time, and each time that so much has been copied to the device, the memory that the
# host had it in goes back to the system. Otherwise all parameters and state would be there twice.
MOVED_BYTES = 32 * 2**20
# This many known ops in a row count as a long run, which gets a segment of its own.
MIN_KNOWN_OPS = 8


class Owner(Protocol):
    """The recorder of the thread that records into a segment, as the segment knows it."""

    lock: Any  # whoever runs a segment of the recorder holds it
    waiting: list[Segment]  # closed and not run yet, in the order in which they were begun
    op_by_op: bool

    def close(self, segment: Segment) -> None:
        """Marks a segment as about to be run, and begins a new one if it was the present one."""
        ...

    def put_in_line(self, segment: Segment) -> None:
        """Makes a closed segment wait for its run, before those that were begun later."""
        ...


class Segment:
    """The values met since the last flush, in a table.

    Values refer to their segment. It refers to them weakly, and so knows which of them are alive.
    """

    __slots__ = (
        "recorder",
        "number",
        "cursor",
        "ran",
        "table",
        "leaf_arrays",
        "pinned",
        "replaced",
        "ends_step",
        "unseen",
        "known_run",
        "closed",
        "reading",
        "stored",
        "void",
        "error",
        "kept",
        "flown",
    )

    def __init__(self, recorder: Owner, root: TraceNode, number: int) -> None:
        self.recorder: Owner | None = recorder  # None once it has run
        self.number = number  # of the segments that its recorder has begun
        self.cursor = root  # the op that was recorded last
        self.ran = root  # the last op that was run
        self.table: list[Ref] = []  # inputs and outputs of the recorded ops, in order
        self.leaf_arrays: list[Any] = []  # of the inputs, strong: the values themselves may die
        self.pinned: set[int] = set()  # ``id`` of arrays that must not be donated: somebody outside the engine has them
        # (position, what stood in its tensor before: a position or a value from elsewhere): see ``replace``
        self.replaced: list[tuple[int, int | Value]] = []
        self.ends_step = False  # a step of a loop ends with it: it is compiled whole even if it is new
        self.unseen = False  # an op of a signature never seen is among what is recorded
        # The first op that is known again after it, and how many ops were before.
        self.known_run: tuple[Kernel, int] | None = None
        self.closed = False  # it is about to run, or has run: a record committed now may not be part of the run
        self.reading = False  # its ops are being run one by one, or layer by layer
        self.stored = False  # its outputs have their arrays
        # A check of an earlier program that was found to have failed before this one ran: nothing in it has happened.
        self.void: checks.Failed | None = None
        self.error: Exception | None = None  # why some of its values will never have an array
        self.kept: dict[int, Any] = {}  # arrays of values that were not known to be alive: see ``_run_whole``
        # Arrays by position, inputs and live outputs, while another thread computes them: see ``_fly``. None may be read before ``_land``.
        self.flown: dict[int, object] = {}

    def replace(self, old: Value, new: Value) -> None:
        """Notes that a pending value takes the place of an older one in a tensor.

        Where an op fails, writes that come after it have not happened, and the tensor holds the older value.
        """
        where = old.position  # before its segment is looked at, see ``record``
        self.replaced.append((new.position, where if old.segment is self else old))

    def forget_unfinished(self) -> None:
        """Removes the entries of a record that failed before it was committed."""
        node = self.cursor
        for reference in self.table[node.count :]:
            value = reference()
            if value is not None:
                value.segment = None
        del self.table[node.count :]
        del self.leaf_arrays[node.leaves :]

    def end_run(self) -> None:
        """Notes where a long run of known ops began: see ``Recorder._ends_before``.

        Layers repeat within a model, beside others that are new, and other models have such layers too. So a run counts once in a segment,
        and only as long as it goes on in the same way each time.
        """
        if self.known_run is not None:
            kernel, before = self.known_run
            self.known_run = None
            node = self.cursor
            if kernel.run_in == self.number or node.depth - before < MIN_KNOWN_OPS:
                return
            while node.depth > before + MIN_KNOWN_OPS and node.parent is not None:
                node = node.parent
            if node.kernel is not kernel.run_goes_on:
                kernel.runs_begun, kernel.run_goes_on = 0, node.kernel
            kernel.runs_begun += 1
            kernel.run_in = self.number

    def is_kept(self) -> bool:
        """Whether most of many results are held, as by a graph: its backward pass goes into the same path, if nothing ends it before."""
        depth = self.cursor.depth
        if depth < MIN_KNOWN_OPS:
            return False
        alive = len(self.table) - list(map(call, self.table)).count(None)
        return 2 * (alive - self.cursor.leaves) > depth

    def unreferenced_bytes(self) -> int:
        """The bytes of inputs that only the segment still holds."""
        leaves = self.cursor.leaf_positions()
        return sum(
            array.nbytes
            for position, array in zip(leaves, self.leaf_arrays, strict=False)
            if not self.table[position]()
        )

    # ---- running

    def finish(self, reason: str, hot: bool = False, flies: bool = False) -> None:
        """Runs what is recorded. Any thread may call this; one that calls it during the run waits.

        ``flies``: nobody needs a value now, so another thread may run it, if it can.

        Afterwards each live output has its array, unless an op has failed: then this raises what that op raised, and so does
        whoever reads what depended on it.
        """
        recorder = self.recorder
        if recorder is None:
            return
        if making.task is not None:
            with waiting_for(recorder.lock):
                self.finish(reason, hot)
            return
        with recorder.lock:
            if self.recorder is None:
                return
            if self.known_run is not None:
                self.end_run()
            recorder.close(self)
            # Whatever makes an object may let Python's collector call a finalizer that reads values: each segment may have run by now.
            if self.recorder is None:
                return
            waiting = recorder.waiting
            if self not in waiting:  # it was closed before an op was recorded into it
                recorder.put_in_line(self)
            if flies and self._fly():
                return
            # In the order in which they were begun, so that no segment donates what an older one has still to read.
            for segment in [*waiting]:
                if segment is self:
                    break
                segment.run(reason, hot)
                if segment.recorder is None and segment in waiting:  # a handler had run it before it was put in line
                    waiting.remove(segment)
            self.run(reason, hot)

    def run(self, reason: str, hot: bool) -> None:
        catch_up()
        if self.recorder is None:  # a finalizer or signal handler has run it
            return
        if self.flown:
            self._land()
        elif self.reading:
            if not self.stored:
                self._read_again()
        elif self.cursor.group is not None:
            without_handlers(self._run, reason, hot)
        else:
            self._run(reason, hot)
        if self.error is not None:
            raise self.error

    def _fly(self) -> bool:
        """Has another thread run the segment, while this one goes on to record; False where that is not possible.

        Until it has landed, its values have no array, as while it is recorded. Whoever reads one, or runs another segment here, lands it
        first. Segments that are recorded meanwhile may have its results among their inputs, and fly after it.
        """
        recorder, node = self.recorder, self.cursor
        if recorder is None or node.history is None or node.checked or node.group is not None or self.stored:
            return False
        if any(not segment.flown for segment in recorder.waiting if segment.number < self.number):
            return False
        if collector.at_work or not threads.alone_by_now() or checks.are_unread():
            return False
        collects = gc.isenabled()
        try:
            gc.disable()
            alive = list(map(call, self.table))
            decision = node.history.decisions.get((tuple(map(type, alive)), ()))
            arrays = decision.begin(self.leaf_arrays) if isinstance(decision, OpByOp) else None
            if arrays is None or decision is None or self.recorder is None:
                return False
            self.ran = node
            self.flown = dict(
                zip((*decision.leaves, *decision.live), (*self.leaf_arrays[: node.leaves], *arrays), strict=True)
            )
            threads.flown.append(self)
        finally:
            if collects:
                gc.enable()
        self._count(node, node.history)
        report.cold += 1
        decision.seconds_counted()  # a run is counted wherever it runs
        if decision.runs == AT_ONCE_AFTER and node.depth <= AT_ONCE_OPS:
            begin_at_once(node)
        return True

    def _land(self) -> None:
        """Waits for the thread that runs the segment, and gives the values their arrays."""
        wait_for_flown()
        values, arrays, table = list[Value](), list[object](), self.table
        for position, array in self.flown.items():
            value = table[position]()
            if value is not None:
                values.append(value)
                arrays.append(array)
            elif collector.at_work:
                self._keep_for_finalizers(position, array)
        install(values, arrays, self)
        self._drop_references()
        self.flown = {}
        if self in threads.flown:
            threads.flown.remove(self)

    def _keep_for_finalizers(self, position: int, array: object) -> None:
        """Keeps the array of a value that is not known to be alive, here and where it is an input by now: see ``_run_whole``."""
        self.kept[position] = array
        for segment in threads.unfinished():
            for number, other in enumerate(segment.leaf_arrays[: segment.cursor.leaves]):
                if other is array:
                    segment.kept[segment.cursor.leaf_positions()[number]] = array

    def _run(self, reason: str, hot: bool) -> None:
        # No automatic collection during the run: it might call a finalizer of the user's that reads a value of this segment.
        collects = gc.isenabled()
        try:
            gc.disable()
            node = self.ran = self.cursor
            alive = list(map(call, self.table))
            if self.recorder is None:
                return
            replaced = self._replaced_within(node) if self.replaced and node.checked else ()
            state = (tuple(map(type, alive)), replaced)
            history = node.history or node.begin_history()
            decision = history.decisions.get(state)
            if collector.at_work and node.group is None:
                self._run_whole(node, history, alive)
            elif self.void is not None or decision is None or not self._run_as_before(node, history, decision, alive):
                self._run_anew(node, alive, state, reason, hot or self.ends_step)
            self._drop_references()
        finally:
            self.reading = False
            if collects:
                gc.enable()

    def _read_again(self) -> None:
        """Computes the outputs for a handler or finalizer that has interrupted their computation, and leaves the rest to that."""
        node = self.ran
        alive = list(map(call, self.table))
        if collector.at_work:
            self._run_whole(node, node.history or node.begin_history(), alive)
            return
        path = node.path()
        values = [value for p in path.outputs if (value := alive[p]) is not None and value.array is None]
        live = tuple([value.position for value in values])
        try:
            install(values, run_cold(path, live, self.leaf_arrays), self)
        except Exception as error:
            self._recover(node, path, live, values, error)

    def _run_whole(self, node: TraceNode, history: PathHistory, alive: list[Value | None]) -> None:
        """Runs the segment for a finalizer: computes all outputs, and keeps the arrays of those that are not known to be alive.

        The collector has cleared the weak references to values that other finalizers may still read: see ``handlers.py``.
        """
        path, unknown = node.path(), dict[int, Value]()
        values: list[Value] = []
        for position in path.outputs:
            value = alive[position]
            if value is None:
                value = unknown[position] = Value()
                value.position, value.array = position, None
            if value.array is None:
                values.append(value)
        live = tuple([value.position for value in values])
        self._count(node, history)
        try:
            del self.leaf_arrays[node.leaves :]
            if not self._is_void(node, None):
                report.cold += 1
                if self.stored:
                    return
                self.reading = True
                install(values, run_cold(path, live, self.leaf_arrays), self)
        except Exception as error:
            self._recover(node, path, live, values, error)
        if self.void is not None:
            self._skip(path, live, values, self.void)
        kept = {position: value.array for position, value in unknown.items() if value.array is not None}
        if kept:  # otherwise a handler has stored the outputs
            self.kept = kept

    def _run_as_before(
        self, node: TraceNode, history: PathHistory, decision: Decision | OpByOp, alive: list[Value | None]
    ) -> bool:
        """Runs the program that ran here before when the same values were alive; False where ``_run_anew`` has to decide."""
        if self.stored:  # before an interrupt
            return False
        if isinstance(decision, OpByOp):
            return self._run_op_by_op(node, history, decision, alive)
        program, values = decision.program, decision.outputs(alive)
        try:
            arrays = self._on_device(node)
            pinned = self._pinned()
            # The program writes its results over these inputs. In this run somebody outside the engine holds one of them.
            if not pinned.isdisjoint(map(id, decision.taken(arrays))) or self._is_void(node, program):
                return False
            self._count(node, history)
            program.run(arrays, values, self)
        except Exception as error:
            self._recover(node, node.path(), program.live, values, error)
        return True

    def _run_op_by_op(self, node: TraceNode, history: PathHistory, decision: OpByOp, alive: list[Value | None]) -> bool:
        """Runs a path of which no program is ever made."""
        values = decision.outputs(alive)
        times = decision.seconds_counted()
        start = time.perf_counter() if times else 0.0
        try:
            if self._is_void(node, None):
                return False
            self._count(node, history)
            report.cold += 1
            if self.stored:
                return True
            self.reading = True
            install(values, decision.run(self.leaf_arrays), self)
        except Exception as error:
            self._recover(node, node.path(), decision.live, values, error)
        if times:
            report.spend(OP_BY_OP, (time.perf_counter() - start) * times)
        if decision.runs == AT_ONCE_AFTER and node.depth <= AT_ONCE_OPS:
            begin_at_once(node)
        return True

    def _run_anew(self, node: TraceNode, alive: list[Value | None], state: Any, reason: str, hot: bool) -> None:
        path = node.path()
        values = [value for p in path.outputs if (value := alive[p]) is not None and value.array is None]
        live = tuple([value.position for value in values])
        # Checks run even if nobody reads a result.
        if self.void is None and not self.stored and (live or node.checked or node.group is not None):
            dead = [i for i, p in enumerate(path.leaves) if alive[p] is None]
            alive.clear()
            self._compute(node, path, live, values, dead, state, reason, hot)
        if self.void is not None:
            self._skip(path, live, values, self.void)

    def _compute(
        self,
        node: TraceNode,
        path: Path,
        live: tuple[int, ...],
        values: list[Value],
        dead: list[int],
        state: tuple[Any, ...],
        reason: str,
        hot: bool,
    ) -> None:
        recorder = self.recorder
        if recorder is None:  # a signal handler has run the segment meanwhile
            return
        history = node.history or node.begin_history()
        self._count(node, history)
        try:
            arrays = self.leaf_arrays
            del arrays[node.leaves :]
            pinned = self._pinned()
            free = tuple([i for i in dead if id(arrays[i]) not in pinned])
            program = None
            if not (history.cold_only or recorder.op_by_op):
                program = choose(node, live, free, state[1], reason, hot)
            if program is not None:
                arrays = self._on_device(node, anew=True)
            if self._is_void(node, program):
                return
            if program is None:
                report.cold += 1
                start = time.perf_counter()
                if self.stored:
                    return
                self.reading = True
                ending = ending_of(path, live, free) if node.leaf_bytes >= LARGE_BYTES else None
                if history.runs == 2 and not path.keeps_schedule:
                    path.schedule(live)  # it comes again: what is made of its schedule is kept
                pages = nullcontext()
                if history.runs == 1 and node.leaf_bytes >= LARGE_BYTES:  # later runs take the memory of the first
                    pages = in_small_pages(max([aval.nbytes for aval in path.avals]))
                with pages:
                    if ending is None:
                        install(values, run_cold(path, live, arrays), self)
                    else:
                        self._run_to_ending(path, live, values, ending)
                report.spend(OP_BY_OP, time.perf_counter() - start)
                # A path of several operations keeps its joined plans from the second run on.
                again = node.depth == 1 or history.runs > 1
                if history.runs == 1 and not again:
                    node.forget_path()
                elif ending is None and again and always_op_by_op(node, history):
                    if node.leaf_bytes < LARGE_BYTES or ending_of(path, live, tuple(dead)) is None:
                        history.remember(state, OpByOp(path, live))
                return
            targets = values
            if program.live != live:  # it has more outputs than somebody holds now
                by_position = dict(zip(live, values, strict=True))
                targets = [by_position.get(p) or Value() for p in program.live]
            elif len(free) == len(dead):
                history.remember(state, Decision(program))
            program.run(arrays, targets, self)
        except Exception as error:
            self._recover(node, path, live, values, error)

    def _run_to_ending(self, path: Path, live: tuple[int, ...], values: list[Value], ending: Ending) -> None:
        """Runs a path op by op, its last ops in the memory of inputs that nobody else needs: see ``memory/ending.py``."""
        table = ending.begin(path, self.leaf_arrays)
        try:
            ending.finish(live, values, self, table)
        except BaseException as error:
            if not ending.has_begun(self.leaf_arrays):
                raise
            reason = error if isinstance(error, Exception) else RuntimeError("a step was interrupted within")
            first = OpFailed(ending.first, _in_our_words(reason, self.ran))
            lost = {position for step in path.steps[ending.first :] for position in step.outputs}
            self._install_around(path, live, values, table, lost, first)
            if reason is not error:
                self._drop_references()
                raise

    def _is_void(self, node: TraceNode, program: Program | None) -> bool:
        """Whether a check of an earlier program has failed, so that nothing of this segment happens.

        A wrong index is reported before anything more is computed. On accelerators, which run behind the host, the host does not
        wait for that.
        """
        assert node.placement is not None
        self.void = checks.find_failed(program, wait=node.placement.platform == "cpu")
        return self.void is not None

    @staticmethod
    def _count(node: TraceNode, history: PathHistory) -> None:
        report.segments += 1
        report.ops += node.depth
        history.runs += 1
        history.used = report.segments

    def _pinned(self) -> set[int]:
        """``id`` of arrays that must not be donated. Only another thread, or a segment that was begun before, may also have to read one."""
        recorder = self.recorder
        if recorder is not None and len(recorder.waiting) == 1 and threads.alone():
            return self.pinned
        return self._arrays_of_others()

    def _arrays_of_others(self) -> set[int]:
        """``id`` of arrays that must not be donated, where other segments are recorded or being run.

        A thread that records a value holds it until its array is among the segment's inputs. So of a value that is dead by now, the
        array is either found there, or no other thread has it.
        """
        others = (segment for segment in threads.unfinished() if segment is not self)
        return self.pinned.union(*[map(id, list(segment.leaf_arrays)) for segment in others])

    def _replaced_within(self, node: TraceNode) -> tuple[tuple[int, int], ...]:
        """The pairs of ``replaced`` of which both are in the table."""
        return tuple(
            (new, old) for new, old in self.replaced if new < node.count and not isinstance(old, Value) and old < new
        )

    def _on_device(self, node: TraceNode, anew: bool = False) -> list[Any]:
        """The inputs as a program takes them. ``anew``: it did not run here before, so that the host's memory stays free from now on."""
        arrays = self.leaf_arrays
        moved = 0
        del arrays[node.leaves :]
        if isinstance(node.placement, Meshed):
            return self._on_mesh(node, node.placement)
        if np.ndarray not in set(map(type, arrays)):
            return arrays
        assert node.placement is not None
        for i, position in enumerate(node.path().leaves):
            array = arrays[i]
            if array.__class__ is np.ndarray:
                value = self.table[position]()
                if value is not None and value.array is not array:  # meanwhile it has been moved
                    arrays[i] = value.array
                    continue
                copy = put(array, node.placement)
                if value is not None:
                    value.array = copy
                arrays[i] = copy
                moved += array.nbytes
                if anew and moved >= MOVED_BYTES:
                    moved = 0
                    array = None
                    copy.block_until_ready()
                    drop_what_was_sent()
                    give_back_memory()
        return arrays

    def _on_mesh(self, node: TraceNode, home: Meshed) -> list[Any]:
        """The inputs, each in its layout. A value that does not lie on the mesh stays where it is, and a copy of it is taken."""
        arrays, path = self.leaf_arrays, node.path()
        for i, position in enumerate(path.leaves):
            aval = path.avals[position]
            arrays[i] = moved = arrange(arrays[i], aval, home)
            value = self.table[position]()
            if value is not None and aval.placement.home is home:
                value.array = moved
        return arrays

    def _drop_references(self) -> None:
        """Drops all references: a value that has been computed holds nothing but its array."""
        recorder = self.recorder
        if recorder is None:  # a signal handler has run the segment meanwhile
            return
        if isinstance(self.ran.placement, Meshed):
            settle(self.table, self.ran.path().outputs)
        if self in recorder.waiting:  # otherwise an interrupted earlier call has removed it already
            recorder.waiting.remove(self)
        self.table, self.leaf_arrays, self.replaced, self.pinned = [], [], [], set()
        self.recorder = None

    # ---- when something fails

    def _skip(self, path: Path, live: tuple[int, ...], values: list[Value], void: checks.Failed) -> None:
        """Skips the segment, since an index was wrong before it: nothing of what is recorded has happened.

        After an interrupt in between, all of this is done again, since the verdict is dropped last.
        """
        void.spoil()
        self._install_around(path, live, values, {}, set(path.outputs), OpFailed(-1, void.error))
        void.forget()

    def _recover(
        self, node: TraceNode, path: Path, live: tuple[int, ...], values: Sequence[Value], error: Exception
    ) -> None:
        """Computes op by op what can be computed, after a whole program or one of its ops has failed.

        What depends on the first op that fails gets no array, and writes into tensors that come after it have not happened: the
        tensors keep what they held. If no op fails by itself, the path is run op by op from now on.
        """
        if self.stored:  # by a signal handler, after which this run has failed for want of its inputs
            return
        self.reading = True
        failed: set[int] = set()
        first: OpFailed | None = None
        table: dict[int, Any] = dict(zip(path.leaves, self.leaf_arrays, strict=False))
        older: dict[int, int | Value] = {**path.replaced, **dict(self.replaced)}
        live_set = set(live)
        for position in live:
            while position in older:
                previous = older[position]
                if isinstance(previous, Value):
                    break
                position = previous
                live_set.add(position)
        for number in path.needed(live_set):
            step = path.steps[number]
            if not failed.isdisjoint(step.inputs):
                failed.update(step.outputs)
                continue
            try:
                outs = run_cold(
                    path.only(number), tuple(range(len(step.inputs), len(step.inputs) + len(step.outputs))),
                    [table[i] for i in step.inputs],
                )  # fmt: skip
                jax.block_until_ready(outs)
                table.update(zip(step.outputs, outs, strict=True))
            except Exception as reason:
                failed.update(step.outputs)
                reason = reason.error if isinstance(reason, OpFailed) else _in_our_words(reason, node)
                first = first or OpFailed(number, reason)
        if first is None and not isinstance(error, Disagreement):
            history = node.history or node.begin_history()
            history.cold_only = True
            history.decisions.clear()
            report.reasons.append(f"{node.depth} ops, run op by op because {FAILED}: {error}")
        self._install_around(path, live, values, table, failed, first)

    def _install_around(
        self,
        path: Path,
        live: tuple[int, ...],
        values: Sequence[Value],
        table: dict[int, object],
        failed: set[int],
        first: OpFailed | None,
    ) -> None:
        """Gives the live values what was computed. From the first op that failed on, tensors keep what they held before.

        Args:
            table: arrays by position.
            failed: positions of what could not be computed.
        """
        for position, array in zip(path.leaves, self.leaf_arrays, strict=False):
            table.setdefault(position, array)
        older: dict[int, int | Value] = {**path.replaced, **dict(self.replaced)}
        arrays = []
        for position in live:
            array = table.get(position) if position not in failed else None
            if first is not None:
                while position in older and (position in failed or path.step_of[position] > first.number):
                    previous = older[position]
                    if isinstance(previous, Value):
                        array = _still_there(previous)
                        break
                    position = previous
                    array = None if position in failed else table.get(position)
            arrays.append(array)
        install(values, arrays, self)
        self.error = None if first is None else first.error


def _still_there(value: Value) -> Any:
    """The array of a value of another segment; None where that has failed too."""
    try:
        return value.finish()
    except Exception:
        return None


def _in_our_words(error: Exception, node: TraceNode) -> Exception:
    """The report of XLA or NumPy that memory ran out as PyTorch's; any other error as it is."""
    if isinstance(error, MemoryError) and node.placement is not None:
        size: Any = prod(getattr(error, "shape", ())) * np.dtype(getattr(error, "dtype", np.uint8)).itemsize
        return out_of_memory(node.placement, size)
    if "RESOURCE_EXHAUSTED" not in str(error) or node.placement is None:
        return error
    numbers = [int(word) for word in str(error).replace(".", " ").split() if word.isdigit()]
    return out_of_memory(node.placement.device, numbers[0] if numbers else 0)
