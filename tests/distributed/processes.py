"""Starts several processes that import PyTorch or JAX once and then run one function after another together."""

import os
import pickle
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SECONDS = 55.0


def with_one_device() -> dict[str, str]:
    """The environment of this process for others that have one device each. XLA compiles there as quickly as here."""
    flags = [
        flag
        for flag in os.environ.get("XLA_FLAGS", "").split()
        if not flag.startswith("--xla_force_host_platform_device_count")
    ]
    return os.environ | {"XLA_FLAGS": " ".join(flags), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class Processes:
    """``size`` processes of one process group, of torchlike or of PyTorch."""

    def __init__(self, size: int, framework: str = "torchlike") -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.members = []
        environment = with_one_device() | {"TORCHLIKE_COMPILE": "auto"}
        for rank in range(size):
            taken, given = os.pipe()
            words = [
                sys.executable,
                str(HERE / "member.py"),
                framework,
                str(rank),
                str(size),
                f"{self.folder.name}/store",
                str(given),
            ]
            process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=(given,), env=environment,
            )  # fmt: skip
            os.close(given)
            self.members.append((process, os.fdopen(taken, "rb")))

    def run(self, name: str, *arguments: Any) -> list[Any]:
        """Returns the function's result in each process."""
        for process, _ in self.members:
            pickle.dump((name, arguments), process.stdin)
            process.stdin.flush()
        timer = threading.Timer(SECONDS, self.kill)
        timer.start()
        try:
            answers = [self._answer(rank) for rank in range(len(self.members))]
        finally:
            timer.cancel()
        for rank, (good, answer) in enumerate(answers):
            assert good, f"rank {rank}:\n{answer}"
        return [answer for _, answer in answers]

    def _answer(self, rank: int) -> Any:
        process, taken = self.members[rank]
        try:
            return pickle.load(taken)
        except EOFError:
            self.kill()
            raise AssertionError(f"rank {rank} has ended: {process.stderr.read().decode()}") from None

    def kill(self) -> None:
        for process, _ in self.members:
            process.kill()

    def close(self) -> None:
        for process, _ in self.members:
            process.stdin.close()
        for process, taken in self.members:
            try:
                process.wait(20.0)
            except subprocess.TimeoutExpired:
                self.kill()
            process.stderr.close()
            taken.close()
        self.folder.cleanup()
