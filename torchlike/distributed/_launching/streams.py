"""Where the output of the processes goes: to the console, into files, or both."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple

__all__ = ["Streams", "chosen", "ranks"]

OUT, ERR = 1, 2
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def chosen(text: str) -> int | dict[int, int]:
    """What ``--redirects`` and ``--tee`` say: a sum of 1 for stdout and 2 for stderr, for all processes or by local rank.

    Raises:
        ValueError: the text has another form.
    """
    if re.fullmatch("[0123]", text):
        return int(text)
    if re.fullmatch(r"(\d:[0123],)*(\d:[0123])", text):
        return {int(rank): int(which) for rank, which in (part.split(":") for part in text.split(","))}
    raise ValueError(rf"{text} does not match: <^[0123]$> or <^(\d:[0123],)*(\d:[0123])$>")


def ranks(text: str) -> set[int] | None:
    """The local ranks of a list such as "0,1"; None for an empty one.

    Raises:
        ValueError: it is no list of numbers.
    """
    try:
        return {int(part) for part in text.split(",")} if text else None
    except ValueError:
        raise ValueError(
            "--local_ranks_filter must be a comma-separated list of integers e.g. --local_ranks_filter=0,1,2"
        ) from None


class Streams(NamedTuple):
    """Where output goes. ``shown``: the local ranks that write to the console; None: all."""

    redirects: int | Mapping[int, int]
    tees: int | Mapping[int, int]
    shown: set[int] | None
    role: str

    def start(
        self, command: list[str], environment: Mapping[str, str], folder: Path, local_rank: int
    ) -> tuple[subprocess.Popen[bytes], list[threading.Thread]]:
        """Starts a process; its files lie in ``folder``. The threads end with what it prints."""
        shown = self.shown is None or local_rank in self.shown
        tees = _of(self.tees, local_rank)
        redirects = _of(self.redirects, local_rank) | (0 if shown else tees)
        tees = tees if shown else 0
        opened: list[BinaryIO] = []
        targets: list[IO[bytes] | int | None] = []
        for bit, name in ((OUT, "stdout"), (ERR, "stderr")):
            if tees & bit:
                targets.append(subprocess.PIPE)
            elif redirects & bit:
                opened.append((folder / f"{name}.log").open("wb"))
                targets.append(opened[-1])
            else:
                targets.append(None if shown else subprocess.DEVNULL)
        try:
            process = subprocess.Popen(
                command, env=environment, stdout=targets[0], stderr=targets[1], preexec_fn=ending_with(os.getpid())
            )
        finally:
            for file in opened:
                file.close()
        prefix = f"[{self.role}{local_rank}]:".encode()
        threads = []
        for source, name, console in ((process.stdout, "stdout", sys.stdout), (process.stderr, "stderr", sys.stderr)):
            if source is not None:
                arguments = (source, folder / f"{name}.log", console.buffer, prefix)
                threads.append(threading.Thread(target=_copy, args=arguments, daemon=True))
                threads[-1].start()
        return process, threads


def ending_with(launcher: int) -> Callable[[], None] | None:
    """What a new process does before its program: it asks Linux to end it when the launcher ends, also when that one is killed.

    Other systems have no such signal. The launcher's main thread has to start processes, since Linux watches the thread.
    """
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl  # loaded here, because little is safe between fork and exec

    def ask() -> None:
        prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != launcher:  # it has ended already
            os._exit(1)

    return ask


def _of(which: int | Mapping[int, int], local_rank: int) -> int:
    return which if isinstance(which, int) else which.get(local_rank, 0)


def _copy(source: IO[bytes], path: Path, console: BinaryIO, prefix: bytes) -> None:
    """Copies lines as they come, to a file and with a prefix to the console."""
    with source, path.open("wb", buffering=0) as file:
        for line in source:
            file.write(line)
            console.write(prefix + line if line.endswith(b"\n") else prefix + line + b"\n")
            console.flush()
