"""Decides what is compiled, and when.

What a program records runs at once, op by op: with NumPy where that is possible, else by an executable of the one op. A path is
compiled whole when it has come so often that compiling it would have paid. A few small ops are never compiled, since a program of
them takes longer than NumPy. The compilation begins, on a thread of its own, once a program would have saved half of what it costs; a
loop of heavy training steps is known to go on, so there it begins when a step comes for the second time. The program takes over when
the runs since then have taken as long as the compilation should. So the program waits for a compilation only where the estimate was
wrong, or at its end: XLA cannot be stopped in the middle.

Costs are estimated from shapes alone, not measured, and the program takes over after a number of runs, not of seconds. So the same
program takes the same decisions, and computes the same bits, each time that it runs.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from enum import Enum
from math import prod
from typing import NamedTuple

from . import onednn
from .aval import Meshed
from .interpreter import Plan
from .interpreter.products import BLAS_SPEED
from .interpreter.rules import SECONDS_PER_CALL, seconds_of_call
from .kernel import Kernel
from .regions.finding import compiled_ops
from .trace import Path, PathHistory, TraceNode

# `TORCHLIKE_COMPILE`: compile a path when that pays ("auto", or "background", since it is done there), when it is first seen at the end
# of a step ("now"), or never ("never"). With "now", NumPy computes nothing: what is not compiled whole runs by executables of its ops.
AUTO, NOW, NEVER = "auto", "now", "never"
_MODES = {AUTO: AUTO, "background": AUTO, NOW: NOW, NEVER: NEVER}

# What compiling a path takes of the processor's time (`docs/engine.md` has what was measured): at least, for each call of NumPy's that it
# replaces, for each convolution by XLA and by oneDNN, and for an op that NumPy does not compute.
COMPILE_SECONDS = 0.35
COMPILE_SECONDS_PER_CALL = 0.0011
COMPILE_SECONDS_PER_CONVOLUTION = 0.1
COMPILE_SECONDS_PER_CALL_OF_ONEDNN = 0.03
COMPILE_SECONDS_PER_OTHER = 0.05
COMPILE_SECONDS_PER_PART = 0.2  # of a program that is divided, beyond the first
# What an op takes op by op beside its calls of NumPy, in seconds, from the second run of a path on, when plans are joined.
RUN_SECONDS_PER_OP = 0.5e-6
# The same for an op that has an executable; and what that takes for each byte that it reads or writes.
EXECUTABLE_SECONDS = 60e-6
EXECUTABLE_SECONDS_PER_BYTE = 1e-10
# What a run of a program takes however little it computes: XLA's call, and the reading of a result. Only what ops take beyond it is saved
# by compiling.
PROGRAM_SECONDS = 80e-6
# What each input takes that is a new array of NumPy's in each run, as a batch is: it is handed over to XLA.
NEW_INPUT_SECONDS = 25e-6
# What each result takes that is no input's successor and that is read op by op, as an array of NumPy's.
NEW_OUTPUT_SECONDS = 150e-6
# Seconds to compile one op, beside those for its calls, and the cost of a run from which that is considered.
OP_COMPILE_SECONDS = 0.2
HEAVY_SECONDS = 1e-3
# What libraries compute, and what is computed in one pass, takes as long within a program. Of the rest the calls are saved, and about this
# share remains.
SHARE_OF_OTHERS = 0.5
# A smaller share of the seconds of an op, or of a path that takes long to compile, is within the error of the estimates: compiling it
# would slow down what runs beside it, for nothing. A path that is soon compiled may save a little less. `docs/engine.md` has figures.
LEAST_SHARE_SAVED, LEAST_SHARE_SAVED_SOON = 0.22, 0.15
SOON_COMPILED_SECONDS = 1.5
# A path is compiled in the background once a program of it would have saved the one share of the compilation, and it runs as a program
# once the runs since then have taken the other.
BEGIN_AT = 0.5
SWITCH_AT = 1.0
# A training loop makes this many steps at least. Where compiling one takes less than a program saves in so many, it begins when the step
# comes again.
LOOP_STEPS = 30
# States of a node's values whose costs are counted at most.
MAX_STATES = 64


class _Choice:
    """When paths are compiled, in the whole process."""

    fixed = False

    def __init__(self, mode: str) -> None:
        self.set(mode)

    def set(self, mode: str) -> None:
        if mode not in _MODES:
            raise ValueError(f"TORCHLIKE_COMPILE must be one of {', '.join(_MODES)}, not {mode!r}")
        if not self.fixed:
            self.mode = _MODES[mode]

    def fix(self, mode: str) -> None:
        """Chooses for good, whatever is chosen later."""
        self.set(mode)
        self.fixed = True


choice = _Choice(os.environ.get("TORCHLIKE_COMPILE", AUTO))


def plan_to_use(kernel: Kernel, awaited: bool = False) -> Plan | None:
    """The NumPy plan for an op that runs by itself; None if its executable runs instead.

    An op on large arrays gets an executable of its own once that would have saved as much as compiling it costs. That begins in the
    background before, so that the program need not wait.

    Args:
        awaited: a program of which the op is a part is being compiled, so that its own executable would come too late.
    """
    if choice.mode == NOW:
        return None
    plan = kernel.plan()
    if plan is not None and plan.cost > HEAVY_SECONDS and choice.mode == AUTO:
        price = OP_COMPILE_SECONDS + _cost_of_op(kernel).price()
        if kernel.spent > price:
            return None
        if awaited:
            return plan
        if kernel.gain is None:
            saved = _seconds_saved(kernel, plan)
            kernel.gain = saved if saved > LEAST_SHARE_SAVED * plan.cost else 0.0
        kernel.spent += kernel.gain
        if kernel.spent > BEGIN_AT * price:
            kernel.begin_executable()
    return plan


def _seconds_saved(kernel: Kernel, plan: Plan) -> float:
    """About what an executable would save. It reads the inputs and writes the results as well, and can write over none of the inputs."""
    nbytes = sum([aval.nbytes for aval in (*kernel.in_avals, *kernel.out_avals)])
    return max(plan.cost - max(_in_program(plan), plan.in_library + seconds_of_call(nbytes)), 0.0)


def _in_program(plan: Plan) -> float:
    """About how long XLA's code takes for what a plan computes."""
    computed = plan.in_library + plan.in_passes
    return computed + SHARE_OF_OTHERS * max(plan.cost - SECONDS_PER_CALL * plan.calls - computed, 0.0)


def light_plan(kernel: Kernel) -> Plan | None:
    """The NumPy plan for an op that NumPy always computes when it runs by itself in the present mode; else None."""
    plan = None if choice.mode == NOW else kernel.plan()
    return None if plan is None or plan.cost > HEAVY_SECONDS else plan


class Cost(NamedTuple):
    """Estimates for a path, in seconds: of a run op by op, of what of it a program would need as well, and of compiling."""

    run: float
    in_program: float
    price: float


class CostOfOp(NamedTuple):
    """The first two of an op, and what its price depends on: calls of NumPy and convolutions, or that NumPy does not compute it."""

    run: float
    in_program: float
    calls: int
    convolutions: int
    other: bool

    def price(self) -> float:
        """About how long XLA takes to compile the op as a part of a program."""
        price = COMPILE_SECONDS_PER_OTHER if self.other else COMPILE_SECONDS_PER_CALL * self.calls
        return price + (_seconds_per_convolution() * self.convolutions if self.convolutions else 0.0)


def cost_of(path: Path, divided: bool = False) -> Cost:
    """About how long a path takes when each op runs by itself, and how long XLA takes to compile it.

    Args:
        divided: look for layers that repeat, which are compiled once.
    """
    ops = [_cost_of_op(step.kernel) for step in path.steps]
    run = sum([op.run for op in ops]) + RUN_SECONDS_PER_OP * len(ops)
    in_program = sum([op.in_program for op in ops])
    if not divided:
        return Cost(run, in_program, COMPILE_SECONDS + sum([op.price() for op in ops]))
    shares, executables = compiled_ops(path, seconds_of)
    price = COMPILE_SECONDS + COMPILE_SECONDS_PER_PART * (executables - 1)
    return Cost(run, in_program, price + sum([share * _cost_of_op(kernel).price() for kernel, share in shares]))


def _seconds_at_most(path: Path) -> float:
    """What a program of a path could save in a run."""
    plans = [(step.kernel, step.kernel.plan()) for step in path.steps]
    return sum([seconds_of(kernel) if plan is None else plan.cost for kernel, plan in plans])


def _cost_of_op(kernel: Kernel) -> CostOfOp:
    """What the shapes of an op say. It is found out once: most ops of a path of new sizes are known from other paths."""
    if kernel.cost is None:
        plan, convolutions = kernel.plan(), kernel.convolutions
        if plan is None:
            kernel.cost = CostOfOp(_executable_seconds(kernel), 0.0, 0, convolutions, True)
        else:
            kernel.cost = CostOfOp(plan.cost, _in_program(plan), plan.calls, convolutions, False)
    return kernel.cost


def seconds_of(kernel: Kernel) -> float:
    """About how long an op takes by itself."""
    return _cost_of_op(kernel).run


def _seconds_per_convolution() -> float:
    return COMPILE_SECONDS_PER_CALL_OF_ONEDNN if onednn.available() else COMPILE_SECONDS_PER_CONVOLUTION


def _executable_seconds(kernel: Kernel) -> float:
    """About how long the executable of an op runs that NumPy does not compute."""
    avals = [*kernel.in_avals, *kernel.out_avals]
    seconds = EXECUTABLE_SECONDS + EXECUTABLE_SECONDS_PER_BYTE * sum([aval.nbytes for aval in avals])
    if kernel.convolutions:
        # The product of the sizes of image, kernel and result is about the square of the number of multiplications.
        sizes = sorted([prod(aval.shape) for aval in avals])[-3:]
        seconds += kernel.convolutions * prod(sizes) ** 0.5 / BLAS_SPEED
    return seconds


class Due(Enum):
    """Decides what to do for a path that has no program yet."""

    NOTHING = 0
    BEGIN = 1  # begin to compile it in the background
    SWITCH = 2  # run the program from now on


class Runs:
    """Runs of a path op by op, in one state of its values: what a program would have saved until its compilation began, and what the
    runs since then took."""

    __slots__ = ("before", "since", "begin", "moved")

    def __init__(self, nbytes: int, new: int, fresh: int) -> None:
        """Begins to count.

        Args:
            nbytes: of the inputs and of the outputs that somebody holds, which a program, too, reads and writes.
            new: inputs that are other arrays in each run.
            fresh: outputs that take no input's place, and that something else reads.
        """
        self.begin = PROGRAM_SECONDS + NEW_INPUT_SECONDS * new + NEW_OUTPUT_SECONDS * fresh
        self.moved = seconds_of_call(nbytes)
        self.before = 0.0
        self.since: float | None = None  # None: it has not begun


def runs_by_itself(node: TraceNode) -> bool:
    """Whether no program is ever made of a path, in the mode that it was recorded in."""
    return choice.mode == NEVER or node.depth == 1  # one op has its own executable already


def on_accelerator(node: TraceNode) -> bool:
    """Whether a path runs where NumPy computes nothing."""
    return node.placement is not None and node.placement.platform != "cpu"


def always_op_by_op(node: TraceNode, history: PathHistory) -> bool:
    """Whether it is certain that no program will be made of a path, so that nothing is left to count."""
    if runs_by_itself(node):
        return True
    runs = history.spent.get(None)  # counted for the path as a whole, since it has no program
    return (
        not history.programs and runs is not None and runs.since is None and not _saved_by_program(history.cost, runs)
    )


def _saved_by_program(cost: Cost, runs: Runs) -> float:
    """About what a program of a path would save in each run, in seconds."""
    saved = max(cost.run - runs.begin - max(cost.in_program, runs.moved), 0.0)
    least = LEAST_SHARE_SAVED if cost.price > SOON_COMPILED_SECONDS else LEAST_SHARE_SAVED_SOON
    return saved if saved >= least * cost.run else 0.0


def due(
    node: TraceNode, history: PathHistory, state: Hashable, ends_step: bool, live: Sequence[int], new: int, fresh: int
) -> Due:
    """Counts one more run of a path, for a state of its values, and says what is due.

    Args:
        ends_step: a step of a loop ends with it, so it will come again.
        live: positions of the outputs that somebody holds.
        new: inputs that nobody holds and no output replaces: a batch, or a sample.
        fresh: outputs that replace no input.
    """
    if runs_by_itself(node):
        return Due.NOTHING
    # A path over several devices is a step of a long run, so its compilation is not weighed against its cost. On an accelerator each op by
    # itself is compiled by XLA too, so compiling the path costs nothing more.
    if choice.mode == NOW or node.group is not None or isinstance(node.placement, Meshed) or on_accelerator(node):
        return Due.SWITCH if history.programs or history.runs >= 2 or ends_step else Due.NOTHING
    cost = history.cost
    if cost is None or history.runs == 2:
        again = history.runs >= 2  # a path that never comes again is not searched, and if it is light, not even counted
        if not again and _seconds_at_most(node.path()) <= BEGIN_AT * COMPILE_SECONDS:
            return Due.NOTHING
        cost = history.cost = cost_of(node.path(), divided=again)
    runs = history.spent.get(state)
    if runs is None:
        if len(history.spent) > MAX_STATES:
            history.spent.clear()
        avals = node.path().avals
        nbytes = node.leaf_bytes + sum([avals[position].nbytes for position in live])
        # What a step of a loop leaves, the next step reads, as a program too.
        runs = history.spent[state] = Runs(nbytes, new, 0 if ends_step else fresh)
    saved = _saved_by_program(cost, runs)
    if runs.since is not None:
        runs.since += cost.run
        return Due.SWITCH if runs.since > SWITCH_AT * cost.price else Due.BEGIN
    runs.before += saved
    if runs.before > (BEGIN_AT + SWITCH_AT) * cost.price:
        return Due.SWITCH  # this one run takes longer than compiling it
    goes_on = ends_step and history.runs >= 2 and cost.price < LOOP_STEPS * saved
    if not goes_on and runs.before <= BEGIN_AT * cost.price:
        return Due.NOTHING
    runs.since = 0.0
    return Due.BEGIN
