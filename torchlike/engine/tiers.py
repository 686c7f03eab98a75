"""Decides what is compiled, and when.

What a program records runs at once, op by op: with NumPy where that is possible, else by an executable of the one op. A path is
compiled whole when it has come so often that compiling it would have paid. A few small ops are never compiled, since a program of
them takes longer than NumPy. The compilation begins, on a thread of its own, once runs op by op have cost half as much as it will;
the program takes over when it should be ready. So the processor never works more than about three times as long as it had to,
whatever the program does next, and the program waits for a compilation only where the estimate was wrong, or at its end: XLA cannot
be stopped in the middle.

Costs are estimated from shapes alone, not measured. So the same program takes the same decisions, and computes the same bits,
each time that it runs.
"""

from __future__ import annotations

import os
from collections.abc import Hashable
from enum import Enum

from .aval import Meshed
from .interpreter import Plan
from .kernel import Kernel
from .trace import Path, PathHistory, TraceNode

# `TORCHLIKE_COMPILE`: compile a path when that pays ("auto", or "background", since it is done there), when it is first seen at the end
# of a step ("now"), or never ("never"). With "now", NumPy computes nothing: what is not compiled whole runs by executables of its ops.
AUTO, NOW, NEVER = "auto", "now", "never"
_MODES = {AUTO: AUTO, "background": AUTO, NOW: NOW, NEVER: NEVER}

# What compiling a path takes of the processor's time (measured with jaxlib 0.10 on two cores: training steps of a multi-layer
# perceptron 0.4 to 0.9 s, a convolutional network 1.5, a transformer's layer 1.7, an LSTM 1.0): at least, for each call of NumPy's
# that it replaces, for each convolution, and for an op that NumPy does not compute.
COMPILE_SECONDS = 0.35
COMPILE_SECONDS_PER_CALL = 0.0009
COMPILE_SECONDS_PER_CONVOLUTION = 0.25
COMPILE_SECONDS_PER_OTHER = 0.05
# Overhead of running an op by itself, in seconds.
RUN_SECONDS_PER_OP = 10e-6
# The same for an op that has an executable, of which XLA does not tell how long it runs.
EXECUTABLE_SECONDS = 60e-6
# What a run of a program takes however little it computes: XLA's call, and the reading of a result. Only what ops take beyond it is saved
# by compiling. (An input that lies in the host's memory takes 0.1 ms more, and a path does not tell where its inputs lie.)
PROGRAM_SECONDS = 80e-6
# Seconds to compile one op, and the cost of a run from which compiling it is considered.
OP_COMPILE_SECONDS = 0.1
HEAVY_SECONDS = 1e-3
# A path is compiled in the background once its runs have cost this share of the compilation, and as a program it runs once they have
# cost that share: by then the compilation has had the time that it takes. The change does not come as soon as it is compiled, so that
# it does not depend on the machine's load how many runs go before.
BEGIN_AT = 0.5
SWITCH_AT = 1.5
# States of a node's values whose costs are counted at most.
MAX_STATES = 64


class _Choice:
    """When paths are compiled, in the whole process."""

    def __init__(self, mode: str) -> None:
        self.set(mode)

    def set(self, mode: str) -> None:
        if mode not in _MODES:
            raise ValueError(f"TORCHLIKE_COMPILE must be one of {', '.join(_MODES)}, not {mode!r}")
        self.mode = _MODES[mode]


choice = _Choice(os.environ.get("TORCHLIKE_COMPILE", AUTO))


def plan_to_use(kernel: Kernel) -> Plan | None:
    """The NumPy plan for an op that runs by itself; None if its executable runs instead.

    An op on large arrays gets an executable of its own once its runs by NumPy have cost as much as compiling it.
    """
    if choice.mode == NOW:
        return None
    plan = kernel.plan()
    if plan is not None and plan.cost > HEAVY_SECONDS and choice.mode == AUTO:
        if kernel.spent > OP_COMPILE_SECONDS + COMPILE_SECONDS_PER_CONVOLUTION * kernel.convolutions:
            return None
        kernel.spent += plan.cost
    return plan


def compile_seconds(path: Path) -> float:
    """About how long XLA takes to compile a path."""
    total = COMPILE_SECONDS
    for step in path.steps:
        plan = step.kernel.plan()
        total += COMPILE_SECONDS_PER_OTHER if plan is None else COMPILE_SECONDS_PER_CALL * plan.calls
        total += COMPILE_SECONDS_PER_CONVOLUTION * step.kernel.convolutions
    return total


def run_seconds(path: Path) -> float:
    """About how long a path takes when each op runs by itself."""
    total = 0.0
    for step in path.steps:
        plan = step.kernel.plan()
        total += RUN_SECONDS_PER_OP + (EXECUTABLE_SECONDS if plan is None else plan.cost)
    return total


class Due(Enum):
    """Decides what to do for a path that has no program yet."""

    NOTHING = 0
    BEGIN = 1  # begin to compile it in the background
    SWITCH = 2  # run the program from now on


def runs_by_itself(node: TraceNode) -> bool:
    """Whether no program is ever made of a path, in the mode that it was recorded in."""
    return choice.mode == NEVER or node.depth == 1  # one op has its own executable already


def due(node: TraceNode, history: PathHistory, state: Hashable, ends_step: bool) -> Due:
    """Counts one more run of a path, for a state of its values, and says what is due.

    Args:
        ends_step: a step of a loop ends with it, so it will come again.
    """
    if runs_by_itself(node):
        return Due.NOTHING
    # A path over several devices is a step of a long run, so its compilation is not weighed against its cost.
    if choice.mode == NOW or node.group is not None or isinstance(node.placement, Meshed):
        return Due.SWITCH if history.programs or history.runs >= 2 or ends_step else Due.NOTHING
    if history.run_seconds == 0.0:
        history.run_seconds = run_seconds(node.path())
    if len(history.spent) > MAX_STATES:
        history.spent.clear()
    spent = history.spent[state] = history.spent.get(state, 0.0) + max(history.run_seconds - PROGRAM_SECONDS, 0.0)
    if spent <= BEGIN_AT * COMPILE_SECONDS:
        return Due.NOTHING  # it would not pay for any path
    if history.compile_seconds == 0.0:
        history.compile_seconds = compile_seconds(node.path())
    price = history.compile_seconds
    return Due.SWITCH if spent > SWITCH_AT * price else Due.BEGIN if spent > BEGIN_AT * price else Due.NOTHING
