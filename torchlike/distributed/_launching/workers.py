"""The processes of this machine: what they run, what they find in their environment, and how they end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Queue
from typing import NamedTuple

from .meeting import Attempt
from .streams import Streams, chosen, ranks

__all__ = ["Failure", "Workers"]

SECONDS_TO_END = 30.0
# Seconds in which what a process has printed is copied after its end.
SECONDS_TO_COPY = 5.0


class Failure(NamedTuple):
    """A process that has failed: its rank, its local rank, its exit code, and what it has written about its exception."""

    rank: int
    local_rank: int
    code: int
    message: str

    def __str__(self) -> str:
        why = f"signal {signal.Signals(-self.code).name}" if self.code < 0 else f"exit code {self.code}"
        return f"rank {self.rank} (local rank {self.local_rank}) ended with {why}"


class Workers:
    """The processes of this machine.

    Args:
        options: the launcher's.
        local: how many there are.
        run_id: the name of the run.
    """

    def __init__(self, options: Namespace, local: int, run_id: str) -> None:
        self.options, self.local, self.run_id = options, local, run_id
        self.streams = Streams(
            chosen(options.redirects), chosen(options.tee), ranks(options.local_ranks_filter), options.role
        )
        # Signals may end them while others are being started.
        self.running: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []
        self._ends: Queue[tuple[int, int]] = Queue()  # local ranks and exit codes, in the order in which processes end
        self._folder: Path | None = None

    def environment(self, attempt: Attempt, local_rank: int) -> dict[str, str]:
        """The environment variables of a process."""
        options = self.options
        rank, size = attempt.first_rank + local_rank, sum(attempt.sizes)
        variables = {
            "RANK": rank, "LOCAL_RANK": local_rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": self.local,
            "GROUP_RANK": attempt.node, "GROUP_WORLD_SIZE": len(attempt.sizes), "ROLE_RANK": rank, "ROLE_WORLD_SIZE": size,
            "ROLE_NAME": options.role, "MASTER_ADDR": attempt.host, "MASTER_PORT": attempt.port,
            "TORCHELASTIC_RUN_ID": self.run_id, "TORCHELASTIC_RESTART_COUNT": attempt.number,
            "TORCHELASTIC_MAX_RESTARTS": options.max_restarts, "TORCHELASTIC_USE_AGENT_STORE": True,
            "TORCHELASTIC_SIGNALS_TO_HANDLE": options.signals_to_handle,
            "TORCHELASTIC_ERROR_FILE": self._folder_of(attempt, local_rank) / "error.json",
        }  # fmt: skip
        inherited = dict(os.environ)
        inherited.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")
        if self.local > 1:
            inherited.setdefault("OMP_NUM_THREADS", "1")  # as torchrun does, since the processes share the processor
        return inherited | {name: str(value) for name, value in variables.items()}

    def command(self) -> list[str]:
        """The command of each process."""
        options = self.options
        if options.no_python and not options.run_path:
            return [options.training_script, *options.training_script_args]
        runner = [sys.executable, "-u", "-m", "torchlike"]
        as_module = ["-m"] if options.module and not options.run_path else []
        return [*runner, *as_module, options.training_script, *options.training_script_args]

    def _folder_of(self, attempt: Attempt, local_rank: int) -> Path:
        """The folder of what a process prints, and of its error file: made for each run anew, as torchrun does."""
        if self._folder is None:
            base = self.options.log_dir or tempfile.mkdtemp(prefix="torchelastic_")
            os.makedirs(base, exist_ok=True)
            self._folder = Path(tempfile.mkdtemp(prefix=f"{self.run_id}_", dir=base))
        return self._folder / f"attempt_{attempt.number}" / str(local_rank)

    def clean(self) -> None:
        """Removes the folder of the run if the program's user has not asked for files."""
        options = self.options
        if self._folder is not None and options.log_dir is None and options.redirects == options.tee == "0":
            shutil.rmtree(self._folder.parent, ignore_errors=True)

    # ---- an attempt

    def start(self, attempt: Attempt) -> None:
        """Starts all processes."""
        self._threads, self._ends = [], Queue()
        for local_rank in range(self.local):
            folder = self._folder_of(attempt, local_rank)
            folder.mkdir(parents=True, exist_ok=True)
            process, threads = self.streams.start(
                self.command(), self.environment(attempt, local_rank), folder, local_rank
            )
            self.running.append(process)
            self._threads += threads
            threading.Thread(target=self._note_end, args=(process, local_rank, self._ends), daemon=True).start()

    @staticmethod
    def _note_end(process: subprocess.Popen[bytes], local_rank: int, ends: Queue[tuple[int, int]]) -> None:
        # A thread for each process, because the others fail in the next moment: the one that has failed first is to be named.
        ends.put((local_rank, process.wait()))

    def watch(self, attempt: Attempt, elsewhere: Callable[[], str | None]) -> Failure | str | None:
        """Waits until all have succeeded or one has failed, here or on another machine."""
        succeeded = 0
        while succeeded < self.local:
            try:
                local_rank, code = self._ends.get(timeout=self.options.monitor_interval)
            except Empty:
                failed = elsewhere()
                if failed is not None:
                    return failed
                continue
            if code:
                return Failure(attempt.first_rank + local_rank, local_rank, code, self._message(attempt, local_rank))
            succeeded += 1
        return None

    def _message(self, attempt: Attempt, local_rank: int) -> str:
        try:
            found = json.loads((self._folder_of(attempt, local_rank) / "error.json").read_text())["message"]
        except (OSError, ValueError, KeyError):
            return ""
        return found if isinstance(found, str) else str(found["extraInfo"]["py_callstack"])

    def end(self) -> None:
        """Ends the processes that still run."""
        for process in self.running:
            if process.poll() is None:
                process.terminate()
        given = self.options.shutdown_timeout or os.environ.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT") or SECONDS_TO_END
        deadline = time.monotonic() + float(given)
        for process in self.running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for thread in self._threads:
            thread.join(SECONDS_TO_COPY)
        self.running, self._threads = [], []
