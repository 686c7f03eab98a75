"""The trace tree: which ops were recorded one after the other, and what a path through the tree computes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .aval import Aval, Placement
from .collective import Group
from .interpreter import JoinedPlan
from .kernel import Kernel, Kernels

# A trace longer than this is cut: XLA's compile time grows faster than the program.
MAX_OPS = 2048
# Each time the inputs of a path have grown by so much, the recorder checks how much of them only the path still holds.
WEIGHED_BYTES = 2 * 2**20
# States of the values at the end of a path kept at most. A program with more of them never repeats itself.
MAX_DECISIONS = 32


class Operation:
    """An operation that can be recorded. ``lower`` is called once for each new signature."""

    name: str
    kernels: Kernels
    # Whether a step of a loop ends with it. The trace is not cut there for the size of its inputs: a boundary follows.
    ends_step: bool = False

    def __init__(self) -> None:
        self.kernels = Kernels()

    def lower(self, args: tuple[object, ...], avals: tuple[Aval, ...]) -> Kernel:
        """The kernel for these arguments, whose arrays have these avals. Raises what a wrong call has to raise."""
        raise NotImplementedError

    def kernel(self, static: tuple[object, ...], args: tuple[object, ...], avals: tuple[Aval, ...]) -> Kernel:
        """``lower``, remembered."""
        return self.kernels.get((static, avals), lambda: self.lower(args, avals))

    def known_kernel(self, static: tuple[object, ...], avals: tuple[Aval, ...]) -> Kernel | None:
        """The kernel that ``kernel`` would return, if it has been made."""
        return self.kernels.known((static, avals))

    def static(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments that are not arrays, as ``Recorder.record`` takes them."""
        raise NotImplementedError

    def numbers(self, args: tuple[object, ...]) -> list[int]:
        """Which of the arguments are Python numbers that may become inputs of the program."""
        return []

    def kept_levels(self, levels: Sequence[object]) -> Sequence[Collection[object]] | None:
        """At which of these levels each result stays mapped (see ``_core/vmapped.py``). At the others it is summed over the examples."""
        return None


class DynamicNumber:
    """Placeholder among the arguments for a Python number that has become an input. ``kind`` is the number's type."""

    __slots__ = ("kind",)

    def __init__(self, kind: type) -> None:
        self.kind = kind


DYNAMIC = {kind: DynamicNumber(kind) for kind in (bool, int, float, complex)}
HOST_DTYPES = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}


class Step(NamedTuple):
    """One op of a path: which kernel, and at which positions of the path's table its inputs and outputs stand."""

    kernel: Kernel
    inputs: tuple[int, ...]
    outputs: range


ScheduledStep: TypeAlias = tuple[int, Step, tuple[int, ...]]


class Path:
    """All steps from the root of the trace tree to a node, and the table of values they refer to."""

    __slots__ = (
        "steps",
        "leaves",
        "outputs",
        "avals",
        "_replaced",
        "_step_of",
        "_live",
        "_schedule",
        "joined",
        "endings",
        "awaited",
    )

    def __init__(self, steps: tuple[Step, ...], leaves: tuple[int, ...], avals: tuple[Aval, ...]) -> None:
        self._live: tuple[int, ...] | None = None  # what ``schedule`` was asked for last
        self._schedule: list[ScheduledStep] | None = None
        # What ``program.py`` has made of a schedule, up to a place, and of which. ``endings``: see ``memory/ending.py``.
        self.joined: dict[int, tuple[list[ScheduledStep], list[ScheduledStep | JoinedPlan]]] = {}
        self.endings: dict[tuple[int, ...], Any] = {}
        self.awaited = False  # whether a program of it is being compiled
        self.steps = steps
        self.leaves = leaves  # positions of the inputs, in order of first use
        self.avals = avals  # by position
        self.outputs = tuple([i for step in steps for i in step.outputs])  # positions of what the steps compute
        self._replaced: dict[int, int] | None = None
        self._step_of: dict[int, int] | None = None

    @property
    def replaced(self) -> dict[int, int]:
        """By the position of an output: the position of the input that it replaces, in the tensor that held this."""
        if self._replaced is None:
            self._replaced = {
                position: step.inputs[old]
                for step in self.steps
                for position, old in zip(step.outputs, step.kernel.replaces, strict=False)
            }
        return self._replaced

    @property
    def step_of(self) -> dict[int, int]:
        """The number of the step that computes a position."""
        if self._step_of is None:
            self._step_of = {position: n for n, step in enumerate(self.steps) for position in step.outputs}
        return self._step_of

    def schedule(self, live: tuple[int, ...]) -> list[ScheduledStep]:
        """The steps to run one by one for the live outputs: each with its number, and the positions that no later step reads.

        A path that runs once keeps nothing: the schedule is kept from the second time on that the same outputs are asked for.
        """
        again = live == self._live
        if again and self._schedule is not None:
            return self._schedule
        steps = [(number, self.steps[number]) for number in self.needed(set(live))]
        last_read = {position: number for number, step in steps for position in step.inputs}
        scheduled = [
            (
                number,
                step,
                tuple([
                    position
                    for position in {*step.inputs, *step.outputs}.difference(live)
                    if last_read.get(position, number) <= number
                ]),
            )
            for number, step in steps
        ]  # fmt: skip
        self._live, self._schedule = live, scheduled if again else None
        self.joined, self.endings = {}, {}
        return scheduled

    @property
    def keeps_schedule(self) -> bool:
        """Whether what ``schedule`` returned last is kept."""
        return self._schedule is not None

    def only(self, number: int) -> Path:
        """A path of one step of this one: its inputs come first in the table."""
        step = self.steps[number]
        count = len(step.inputs)
        alone = Step(step.kernel, tuple(range(count)), range(count, count + len(step.outputs)))
        return Path((alone,), tuple(range(count)), tuple([self.avals[i] for i in (*step.inputs, *step.outputs)]))

    def needed(self, live: set[int]) -> list[int]:
        """The numbers of the steps that the live outputs depend on, and of those that run in any case: checks, and collectives, to
        which other processes come.
        """
        unread, operations = set(live), []
        for number in reversed(range(len(self.steps))):
            step = self.steps[number]
            kernel = step.kernel
            if kernel.make_error is not None or kernel.group is not None or not unread.isdisjoint(step.outputs):
                unread.update(step.inputs)
                operations.append(number)
        return operations[::-1]


class PathHistory:
    """What is known of a path that was run: the programs for it, and what its runs cost."""

    __slots__ = (
        "programs", "decisions", "misses", "tasks", "spent", "cost", "sought", "runs", "used", "cold_only",
        "__weakref__",
    )  # fmt: skip

    def __init__(self) -> None:
        self.runs = 0
        self.used = 0  # when it was run last, in segments
        self.cold_only = False  # whole, this path could not be compiled or run
        # Compiled programs (see ``program.py``), by live outputs, donated leaves and replaced values
        self.programs: dict[tuple[Any, ...], Any] = {}
        # What was chosen (a ``Decision``), by the types of what the table holds (``Value`` where a value is alive, ``NoneType`` where it
        # is not) and the replaced values
        self.decisions: dict[tuple[Any, ...], Any] = {}
        self.misses: dict[tuple[Any, ...], int] = {}
        self.tasks: dict[tuple[Any, ...], Any] = {}  # programs that are being compiled, by the same
        # What runs and the compilation of the path cost, and what its runs have cost so far by the state of its values: ``Cost`` and
        # ``Runs`` of ``tiers.py``.
        self.cost: Any = None
        self.spent: dict[Any, Any] = {}
        self.sought: set[Any] = set()  # programs for which there was no note on disk, by the same as ``programs``

    def remember(self, state: tuple[object, ...], decision: object) -> None:
        """Keeps a decision for the next time that the values are in this state."""
        if len(self.decisions) >= MAX_DECISIONS:
            self.decisions.clear()
        self.decisions[state] = decision


class Numbers:
    """The Python numbers that calls of one form had: in all places, and by the number of ops before."""

    __slots__ = ("everywhere", "by_depth")

    def __init__(self) -> None:
        self.everywhere: tuple[object, ...] = ()
        self.by_depth: dict[int, tuple[object, ...]] = {}


class TraceNode:
    """One recorded op, reached by one path of ops from the root.

    A program that never repeats itself makes a node for each op that it calls, so a node holds little before it is met again.
    """

    __slots__ = (
        "parent",
        "kernel",
        "out_avals",
        "inputs",
        "new_leaves",
        "placement",
        "children",
        "sites",
        "depth",
        "count",
        "leaves",
        "leaf_bytes",
        "checked",
        "group",
        "full",
        "ends_step",
        "dynamic",
        "in_run",
        "history",
        "replays",
        "at_once",
        "path_",
        "__weakref__",
    )

    def __init__(
        self,
        parent: TraceNode | None,
        kernel: Kernel | None,
        inputs: tuple[int, ...],
        new_leaves: tuple[tuple[int, Aval], ...],
        placement: Placement | None,
        full: bool = False,
    ) -> None:
        self.parent = parent
        self.kernel = kernel
        self.out_avals: tuple[Aval, ...] = () if kernel is None else kernel.out_avals  # of the kernel
        self.inputs = inputs  # positions
        self.new_leaves = new_leaves  # (position, aval)
        self.placement = placement  # of the whole path: a segment runs on one device
        self.children: dict[tuple[Any, ...], TraceNode] = {}
        # The Python numbers of calls that were recorded next, by what else there is to the call. At the root also those of all calls,
        # by the form of the call (``Numbers``). See ``Recorder.varies``. None: there were none.
        self.sites: dict[Any, Any] | None = None
        self.ends_step = False  # as the op says
        self.dynamic = False  # a Python number of this op, or of one before it, is an input
        self.in_run = False  # the path begins with an op before which others end: see ``Recorder._ends_before``
        self.history: PathHistory | None = None  # None: no segment that ends here was run yet
        # Captured sequences of records that begin here (``Replay``), by a key of whoever captured them. None: there are none.
        self.replays: dict[Any, Any] | None = None
        # Of a root: calls that run as soon as they are made, see ``program.begin_at_once``. None: there are none.
        self.at_once: dict[tuple[Any, ...], tuple[Kernel, Any]] | None = None
        self.path_: Path | None = None
        # ``count``: how long the table of a segment is that ends here; ``leaves``: how many of its entries are inputs; ``leaf_bytes``:
        # the size of those. ``checked``: whether a step of the path has an index check, which must run even if nobody reads its result.
        # ``group``: the processes that run a collective of the path together: a path has those of one group only.
        # ``full``: whether the recorder has to look at the segment after this op: see ``Recorder._at_full_node``.
        if parent is None or kernel is None:
            self.depth = self.count = self.leaves = self.leaf_bytes = 0
            self.checked, self.full = False, full
            self.group: Group | None = None
            return
        self.depth = parent.depth + 1
        self.leaves, self.leaf_bytes = parent.leaves, parent.leaf_bytes
        self.count = parent.count + len(kernel.out_avals)
        if new_leaves:
            self.leaves += len(new_leaves)
            self.count += len(new_leaves)
            self.leaf_bytes += sum([aval.nbytes for _, aval in new_leaves])
            full = full or parent.leaf_bytes // WEIGHED_BYTES != self.leaf_bytes // WEIGHED_BYTES
        self.full = full or self.depth >= MAX_OPS
        self.checked = parent.checked or kernel.make_error is not None
        self.group = parent.group if kernel.group is None else kernel.group

    def begin_history(self) -> PathHistory:
        """Called when a segment that ends here runs for the first time."""
        self.history = PathHistory()
        return self.history

    def path(self) -> Path:
        """The path from the root to here, which is kept: see ``forget_path``."""
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
            self.path_ = Path(tuple(steps), tuple(leaves), tuple(avals))
        return self.path_

    def leaf_positions(self) -> list[int]:
        """The positions of the inputs, in order of first use: ``path().leaves``, of which nothing is kept."""
        positions: list[int] = []
        node: TraceNode | None = self
        while node is not None:
            if node.new_leaves:
                positions += [position for position, _ in reversed(node.new_leaves)]
            node = node.parent
        return positions[::-1]

    def forget_path(self) -> None:
        """Drops what ``path`` has made. A program whose sizes vary has thousands of paths that run once."""
        self.path_ = None


def what_is_new(node: TraceNode) -> str:
    """Describes the first op at which this path differs from a path that was recorded before."""
    while node.parent is not None:
        parent = node.parent
        for key, sibling in parent.children.items():
            if sibling is not node and sibling.kernel is not None and node.kernel is not None:
                own_key = next(k for k, n in parent.children.items() if n is node)
                return f"first differs at op {node.depth}: {_difference(own_key, key)}"
        node = parent
    return "a new path"


def _difference(own_key: tuple[Any, ...], other_key: tuple[Any, ...]) -> str:
    if own_key[0] is not other_key[0]:
        return f"{own_key[0].name} instead of {other_key[0].name}"
    if own_key[1] != other_key[1]:
        return f"{own_key[0].name} with arguments {own_key[1]} instead of {other_key[1]}"
    changed = [(a, b) for a, b in zip(own_key[2:], other_key[2:], strict=False) if a != b]
    return (
        f"{own_key[0].name} on {changed[0][0]} instead of {changed[0][1]}"
        if changed
        else f"{own_key[0].name} on other inputs"
    )
