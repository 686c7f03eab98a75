"""``python -m torchlike.distributed.run``: starts a program in several processes, as ``torchrun`` does.

In the program ``import torch`` means torchlike, as under ``python -m torchlike``. Each process finds in its environment RANK, LOCAL_RANK,
WORLD_SIZE, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT and the other variables of torchrun. If one fails, the others are ended,
on all machines.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

from ._launching.meeting import Attempt, Meeting
from ._launching.options import parser, processes, unsupported
from ._launching.workers import Failure, Workers

__all__ = ["main"]


class Launcher:
    """The launcher of this machine."""

    def __init__(self, options: argparse.Namespace) -> None:
        unsupported(options)
        local = processes(options.nproc_per_node)
        self.options = options
        self.meeting = Meeting(options, local)
        self.workers = Workers(options, local, self.meeting.run_id)

    def run(self) -> int:
        """Runs all processes, again after a failure if restarts are left, and returns the exit code."""
        attempt: Attempt | None = None
        try:
            for number in range(self.options.max_restarts + 1):
                attempt = self.meeting.begin(number)
                if self._try(attempt):
                    return 0
            return 1
        except BaseException as error:  # also a signal: the other launchers need not wait for this one
            if attempt is not None:
                self.meeting.report(attempt.number, f"the launcher of machine {attempt.node} has ended: {error!r}")
            raise
        finally:
            self.meeting.leave(attempt)
            self.workers.clean()

    def _try(self, attempt: Attempt) -> bool:
        """Runs all processes once. Returns whether all have succeeded, on all machines."""
        try:
            self.workers.start(attempt)
            failed = self.workers.watch(attempt, lambda: self.meeting.failure(attempt.number))
        finally:
            self.workers.end()
        if failed is None:
            if self.meeting.all_succeeded(attempt, self.options.monitor_interval):
                return True
            failed = self.meeting.failure(attempt.number) or "another launcher has failed"
        elif isinstance(failed, Failure):
            self.meeting.report(attempt.number, str(failed))
        self._say(failed, self.options.max_restarts - attempt.number)
        return False

    def _say(self, failed: Failure | str, left: int) -> None:
        then = f"; starting again, {left} restarts are left" if left else ""
        traceback = f"\n{failed.message}" if isinstance(failed, Failure) and failed.message else ""
        program = self.options.training_script
        sys.stderr.write(f"torchlike.distributed.run: {program} FAILED: {failed}{then}{traceback}\n")


def main(args: Sequence[str] | None = None) -> None:
    """Starts what the command line says, and exits with 1 if a process fails.

    Args:
        args: the command line, by default this program's.
    """
    options = parser().parse_args(args)
    launcher = Launcher(options)

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        launcher.workers.end()
        raise SystemExit(128 + number)

    for name in options.signals_to_handle.split(","):
        signal.signal(signal.Signals[name.strip()], stop)
    code = launcher.run()
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
