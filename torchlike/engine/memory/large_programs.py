"""Compiles a large program of a CPU a second time, in the background, to run in memory that the process keeps.

XLA allocates the memory of all intermediate values in one block, and frees it after the run. glibc gives blocks of 32 MiB and more back to
the system at once, which then clears their pages again in each run: a quarter of the time of a small GPT. XLA can divide the memory into
smaller blocks, but it cannot write such a program to the disk. So the first program is the one that is kept there, and the second is made
once the first has run for some time. Both compute the same bits: they differ in where values lie. Where programs are kept on no disk, there
is no need for two.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ..background import Task, begin
from ..executable import Executable
from ..report import COMPILING, report
from ..tiers import NOW, choice
from .heap import give_back_memory

# Programs that need this much are compiled again.
LARGE_BYTES = 32 * 2**20
# How many times longer than its compilation takes a program has run by then.
PAYS_AFTER = 3.0


class SecondProgram:
    """The second compilation of one program."""

    __slots__ = ("_compile", "_seconds", "_first_run", "_task")

    def __init__(self, compile_again: Callable[[], Executable], seconds: float) -> None:
        """``seconds``: about how long the compilation takes."""
        self._compile, self._seconds = compile_again, seconds
        self._first_run: float | None = None
        self._task: Task | None = None

    def made(self) -> Executable | None:
        """The executable, once it is there. Called before each run of the first."""
        task = self._task
        if task is not None:
            return task.made()
        now = time.perf_counter()
        if self._first_run is None:
            self._first_run = now
        if choice.mode == NOW or now - self._first_run > PAYS_AFTER * self._seconds:
            self._task = Task(self._run, "a large program for the second time")
            begin(self._task)
        return None

    def _run(self) -> Executable:
        start = time.perf_counter()
        executable = self._compile()
        give_back_memory()
        report.spend(COMPILING, time.perf_counter() - start)
        return executable
