"""What the engine did and why: counters and reasons, kept for ``torchlike.explain()``."""

from __future__ import annotations

import linecache
import sys
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Report:
    """Counters since the start of the process, or since ``reset``. ``print(report)`` says them in words."""

    segments: int = 0  # segments that were run, in any way
    cold: int = 0  # of these, run op by op
    hot: int = 0  # of these, run as one program
    ops: int = 0  # ops in these segments
    op_compiles: int = 0  # executables compiled for one op
    compiles: int = 0  # programs compiled for a whole segment
    not_interpreted: Counter[str] = field(default_factory=Counter)  # what the interpreter had no rule for
    donated_bytes: int = 0  # memory of dead inputs taken over by outputs
    reasons: deque[str] = field(default_factory=lambda: deque(maxlen=100))  # why each program was compiled

    def reset(self) -> None:
        self.__init__()

    def snapshot(self) -> Report:
        copy = Report(**{k: v for k, v in vars(self).items() if k != "reasons"})
        copy.reasons.extend(self.reasons)
        return copy

    def __str__(self) -> str:
        lines = [
            f"segments run:      {self.segments} ({self.hot} as one program, {self.cold} op by op; {self.ops} ops)",
            f"programs compiled: {self.compiles}",
            f"ops compiled:      {self.op_compiles}",
            f"memory donated:    {self.donated_bytes:,} bytes",
        ]
        lines += [f"  compiled: {reason}" for reason in self.reasons]
        return "\n".join(lines)


report = Report()

# Told of each op that NumPy computes, by profilers that run: its name, when it began and when it ended, in nanoseconds.
observers: list[Callable[[str, int, int], None]] = []


def explain(reset: bool = False) -> Report:
    """What the engine has done so far: segments, cold and hot runs, compilations with their reasons, donated bytes.

    Args:
        reset: start counting anew after this report.

    >>> print(torchlike.explain())  # doctest: +ELLIPSIS
    segments run: ...
    """
    now = report.snapshot()
    if reset:
        report.reset()
    return now


def user_line() -> str:
    """The innermost line outside this package on the stack: ``file:number: source``."""
    package = __name__.split(".")[0]
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == package:
        frame = frame.f_back
    if frame is None:
        return "unknown line"
    name, number = frame.f_code.co_filename, frame.f_lineno
    return f"{name}:{number}: {linecache.getline(name, number).strip()}"
