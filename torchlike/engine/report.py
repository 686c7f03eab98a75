"""Counters of the engine's work and reasons for its decisions, for ``torchlike.explain()``."""

from __future__ import annotations

import linecache
import sys
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

# The kinds of work that time is spent on.
TRACING, COMPILING, OP_BY_OP = "tracing", "compiling", "op by op"
ADVICE = {
    TRACING: "shapes or arguments that are new each time are traced each time: a few fixed sizes (padding) are not",
    COMPILING: "what is compiled differs from round to round: the reasons below say in what",
    OP_BY_OP: "what comes again is compiled once that pays; TORCHLIKE_COMPILE=now compiles at first sight",
}
FAILED = "the whole program failed"  # part of a reason that is always shown
# Lines of the program, and reasons, that a printed report shows.
LINES_SHOWN = 8


@dataclass
class Report:
    """Counters since the start of the process, or since ``reset``. ``print(report)`` says them in words, on one screen.

    ``lines`` holds seconds by line of the user's program (file and number) and by what they were spent on: "tracing" what is new,
    "compiling" it (in the background too), or running it "op by op". Runs of compiled programs are not timed.
    """

    segments: int = 0  # segments that were run, in any way
    cold: int = 0  # of these, run op by op
    hot: int = 0  # of these, run as one program
    ops: int = 0  # ops in these segments
    op_compiles: int = 0  # executables compiled for one op
    compiles: int = 0  # programs compiled for a whole segment
    loads: int = 0  # programs, of a segment or of one op, that were read from disk instead of compiled
    donated_bytes: int = 0  # memory of dead inputs taken over by outputs
    not_interpreted: Counter[str] = field(default_factory=Counter)  # what NumPy has no rule for
    # Why JAX had to trace an op for NumPy, which takes longer than the interpreter's own rules.
    traced_by_jax: Counter[str] = field(default_factory=Counter)
    not_generic: Counter[str] = field(default_factory=Counter)  # why a trace could not be made for sizes that vary
    reasons: deque[str] = field(default_factory=lambda: deque(maxlen=100))  # why each program was compiled
    lines: dict[tuple[str, int], Counter[str]] = field(default_factory=dict)

    def reset(self) -> None:
        self.__init__()

    def snapshot(self) -> Report:
        """A copy that does not change any more."""
        return replace(  # copied at once, since another thread may be counting
            self,
            not_interpreted=self.not_interpreted.copy(),
            traced_by_jax=self.traced_by_jax.copy(),
            not_generic=self.not_generic.copy(),
            reasons=self.reasons.copy(),
            lines={line: times.copy() for line, times in list(self.lines.items())},
        )

    def spend(self, what: str, seconds: float, line: tuple[str, int] | None = None) -> None:
        """Adds to the time that a line of the user's program took, by default the one that runs now."""
        line = line or user_position()
        times = self.lines.get(line)
        if times is None:
            if len(self.lines) >= MAX_LINES:
                return
            times = self.lines[line] = Counter()
        times[what] += seconds  # type: ignore[assignment]

    def seconds(self, what: str) -> float:
        """All time spent on tracing, compiling, or running op by op."""
        return sum(times[what] for times in self.lines.values())

    def __str__(self) -> str:
        spent = {what: self.seconds(what) for what in (TRACING, COMPILING, OP_BY_OP)}
        lines = [
            f"segments run:      {self.segments} ({self.hot} as one program, {self.cold} op by op; {self.ops} ops)",
            f"programs compiled: {self.compiles}",
            f"ops compiled:      {self.op_compiles}",
            *([f"read from disk:    {self.loads} of these"] if self.loads else []),
            f"memory donated:    {self.donated_bytes:,} bytes",
            f"time spent:        {', '.join(f'{seconds:.2f} s {what}' for what, seconds in spent.items())}",
        ]
        slowest = sorted(self.lines.items(), key=lambda item: -sum(item[1].values()))
        for (name, number), times in slowest[:LINES_SHOWN]:
            parts = ", ".join(f"{seconds:.2f} {what}" for what, seconds in times.most_common())
            lines.append(f"  {sum(times.values()):6.2f} s ({parts}) at {_source_line(name, number)}")
        reasons = Counter(reversed(self.reasons))  # of equally frequent ones, the latest first
        lines += [
            f"  compiled{f' {count} times' if count > 1 else ''}: {reason}"
            for reason, count in sorted(reasons.items(), key=lambda item: (FAILED not in item[0], -item[1]))[
                :LINES_SHOWN
            ]
        ]
        if len(reasons) > LINES_SHOWN:
            lines.append(f"  ... and for {len(reasons) - LINES_SHOWN} other reasons")
        most = max(spent, key=lambda what: spent[what])
        if spent[most] > 1.0:
            lines.append(f"most time went into {most}: {ADVICE[most]}")
        return "\n".join(lines)


# Lines of the program that times are kept for at most.
MAX_LINES = 10_000
report = Report()

# Profilers that run are told of each op that has run by itself: its kernel, when it began in nanoseconds, and its results.
observers: list[Callable[[Any, int, Any], None]] = []


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


def user_position() -> tuple[str, int]:
    """File and number of the innermost line outside this package on the stack."""
    frame = sys._getframe()
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name not in _own_modules:
            if name.partition(".")[0] != _PACKAGE:
                break
            _own_modules.add(name)
        frame = frame.f_back
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


_PACKAGE = __name__.partition(".")[0]
_own_modules: set[str] = set()  # modules of this package that stood on the stack before


def level_of_program() -> int:
    """How many calls up from the caller the program's own line is, as ``stacklevel`` of a warning.

    It varies: what may be overridden is called by one function more, and compiled functions (``_extensions``) have no frames.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        level, frame = level + 1, frame.f_back
    return level


def user_line() -> str:
    """The innermost line outside this package on the stack: ``file:number: source``."""
    return _source_line(*user_position())


def _source_line(name: str, number: int) -> str:
    return f"{name}:{number}: {linecache.getline(name, number).strip()[:100]}" if name else "unknown line"
