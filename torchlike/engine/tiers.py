"""Decides what is compiled, and when.

What a program records runs at once, op by op: with NumPy where that is possible, else by an executable of the one op. A path is
compiled whole when it has come so often that compiling it would have paid: once its runs op by op have cost about as much as
the compilation will. So no program waits much longer than twice as long as it had to, whatever it does next.

Costs are estimated from shapes alone, not measured. So the same program takes the same decisions, and computes the same bits,
each time that it runs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Hashable, Iterator

from .trace import Path, TraceNode

# `TORCHLIKE_COMPILE`: compile a path when that pays ("auto"), when it is first seen at the end of a step ("now"), or never ("never").
# With "now", NumPy computes nothing: what is not compiled whole runs by executables of its ops.
AUTO, NOW, NEVER = "auto", "now", "never"
_MODES = (AUTO, NOW, NEVER)

# What compiling a path takes: at least, and for each of its ops.
COMPILE_SECONDS = 0.08
COMPILE_SECONDS_PER_OP = 0.006
# What an op takes that is run by itself, beyond its own work.
RUN_SECONDS_PER_OP = 10e-6
# The same for an op that has an executable, of which XLA does not tell how long it runs.
EXECUTABLE_SECONDS = 60e-6
# States of a node's values whose costs are counted at most.
MAX_STATES = 64


class _Choice:
    """When paths are compiled, in the whole process."""

    def __init__(self, mode: str) -> None:
        self.set(mode)

    def set(self, mode: str) -> None:
        if mode not in _MODES:
            raise ValueError(f"TORCHLIKE_COMPILE must be one of {', '.join(_MODES)}, not {mode!r}")
        self.mode = mode


choice = _Choice(os.environ.get("TORCHLIKE_COMPILE", AUTO))


@contextlib.contextmanager
def compiling(mode: str) -> Iterator[None]:
    """Within the context, paths are compiled "now", "never", or when it pays ("auto")."""
    before = choice.mode
    choice.set(mode)
    try:
        yield
    finally:
        choice.set(before)


def interprets() -> bool:
    """Whether NumPy computes what is not compiled whole."""
    return choice.mode != NOW


def compile_seconds(path: Path) -> float:
    """About how long XLA takes to compile a path."""
    return COMPILE_SECONDS + COMPILE_SECONDS_PER_OP * len(path.steps)


def run_seconds(path: Path) -> float:
    """About how long a path takes when each op runs by itself."""
    total = 0.0
    for step in path.steps:
        plan = step.kernel.plan()
        total += RUN_SECONDS_PER_OP + (EXECUTABLE_SECONDS if plan is None else plan.cost)
    return total


def worth_compiling(node: TraceNode, state: Hashable, ends_step: bool) -> bool:
    """Whether the path of a node is to be compiled now, for a state of its values. Otherwise one more run op by op is counted.

    Args:
        ends_step: a step of a loop ends with it, so it will come again.
    """
    if choice.mode == NEVER or node.depth == 1:  # one op has its own executable already
        return False
    if choice.mode == NOW:
        return bool(node.programs) or node.runs >= 2 or ends_step
    path = node.path()
    if node.run_seconds == 0.0:
        node.run_seconds = run_seconds(path)
    if len(node.spent) > MAX_STATES:
        node.spent.clear()
    spent = node.spent[state] = node.spent.get(state, 0.0) + node.run_seconds
    return spent > compile_seconds(path)
