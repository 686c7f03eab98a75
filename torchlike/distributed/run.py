"""``python -m torchlike.distributed.run``: starts a program in several processes, as ``torchrun`` does.

In the program ``import torch`` means torchlike, as under ``python -m torchlike``. Each process finds in its environment RANK, LOCAL_RANK,
WORLD_SIZE, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT and the other variables of torchrun. If one fails, the others are ended.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from types import FrameType
from typing import NoReturn

__all__ = ["main"]

LOOK_SECONDS = 0.05
# Seconds that a process has to end after a signal.
SECONDS_TO_END = 5.0
DEFAULT_PORT = 29500


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m torchlike.distributed.run",
        description="Starts a program in several processes, which find each other by torch.distributed.",
    )

    def option(*names: str, **how: object) -> None:
        # torchrun accepts long names with hyphens and with underscores.
        long = [name for name in names if name.startswith("--")]
        spelled = dict.fromkeys([*names, *("--" + name[2:].replace("-", "_") for name in long)])
        parser.add_argument(*spelled, **how)  # type: ignore[arg-type]

    option("--nnodes", default="1", help="how many machines")
    option("--nproc-per-node", default="1", help='processes on each: a number, or "auto", "cpu" or "gpu"')
    option("--node-rank", type=int, default=0, help="this machine's number")
    option("--rdzv-backend", default="static", help='"static" or "c10d"')
    option("--rdzv-endpoint", default="", help="HOST:PORT where processes meet")
    option("--rdzv-id", default="none", help="a name for this run")
    option("--rdzv-conf", default="", help="taken, and of no effect")
    option("--standalone", action="store_true", help="one machine, and a free port")
    option("--master-addr", default="127.0.0.1", help="the first machine")
    option("--master-port", type=int, default=DEFAULT_PORT, help="a port of it")
    option("--max-restarts", type=int, default=0, help="how often all processes are started again after a failure")
    option("--monitor-interval", type=float, default=LOOK_SECONDS, help="seconds between looks at the processes")
    option("--start-method", default="spawn", help="taken, and of no effect: processes are always fresh")
    option("--role", default="default", help="a name for the processes")
    option("--log-dir", default=None, help="a folder for what the processes print: RANK.stdout and RANK.stderr")
    option("-m", "--module", action="store_true", help="the program is a module, as for python -m")
    option("--no-python", action="store_true", help="the program is not one of Python")
    parser.add_argument("training_script", help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def _processes(text: str) -> int:
    if text.isdigit() and int(text) > 0:
        return int(text)
    if text == "cpu":
        return os.cpu_count() or 1
    if text in ("auto", "gpu"):
        from ..accelerator import device_count

        count = device_count()
        if text == "gpu" and not count:
            raise ValueError("Cuda is not available.")
        return count or os.cpu_count() or 1
    raise ValueError(f"Unsupported nproc_per_node value: {text}")


class Launcher:
    """The processes of this machine."""

    def __init__(self, options: argparse.Namespace) -> None:
        nodes = str(options.nnodes).partition(":")
        if nodes[2] and nodes[0] != nodes[2]:
            raise NotImplementedError("torchlike does not support a varying number of machines (--nnodes MIN:MAX) yet")
        self.nodes = int(nodes[0])
        self.local = _processes(options.nproc_per_node)
        self.options = options
        if options.rdzv_backend not in ("static", "c10d"):
            raise NotImplementedError(f"torchlike does not support --rdzv-backend {options.rdzv_backend} yet")
        if self.nodes > 1 and options.max_restarts:
            raise NotImplementedError("torchlike does not support --max-restarts with several machines yet")
        self.host, self.port = self._meeting_place()
        self.run_id = uuid.uuid4().hex if options.standalone or options.rdzv_id == "none" else options.rdzv_id
        self.running: list[subprocess.Popen[bytes]] = []

    def _meeting_place(self) -> tuple[str, int]:
        options = self.options
        host, port = options.master_addr, options.master_port
        if options.rdzv_endpoint:
            host, _, text = (
                options.rdzv_endpoint.rpartition(":")
                if ":" in options.rdzv_endpoint
                else (options.rdzv_endpoint, "", "")
            )
            port = int(text or DEFAULT_PORT)
        alone = self.nodes == 1
        if options.standalone or (
            alone and (port == 0 or (options.rdzv_backend == "c10d" and not options.rdzv_endpoint))
        ):
            return "127.0.0.1", _free_port()
        return host, port

    def environment(self, local_rank: int, attempt: int) -> dict[str, str]:
        """The environment variables of a process."""
        options = self.options
        rank = options.node_rank * self.local + local_rank
        size = self.nodes * self.local
        variables = {
            "RANK": rank, "LOCAL_RANK": local_rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": self.local,
            "GROUP_RANK": options.node_rank, "GROUP_WORLD_SIZE": self.nodes, "ROLE_RANK": rank, "ROLE_WORLD_SIZE": size,
            "ROLE_NAME": options.role, "MASTER_ADDR": self.host, "MASTER_PORT": self.port,
            "TORCHELASTIC_RUN_ID": self.run_id, "TORCHELASTIC_RESTART_COUNT": attempt,
            "TORCHELASTIC_MAX_RESTARTS": options.max_restarts, "TORCHELASTIC_USE_AGENT_STORE": False,
        }  # fmt: skip
        inherited = dict(os.environ)
        if self.local > 1:
            inherited.setdefault("OMP_NUM_THREADS", "1")  # as torchrun does, since the processes share the processor
        return inherited | {name: str(value) for name, value in variables.items()}

    def command(self) -> list[str]:
        """The command of each process."""
        options = self.options
        if options.no_python:
            return [options.training_script, *options.training_script_args]
        runner = [sys.executable, "-u", "-m", "torchlike"]
        return [*runner, *(["-m"] if options.module else []), options.training_script, *options.training_script_args]

    def run(self) -> int:
        """Runs all processes, again after a failure if restarts are left, and returns the exit code."""
        for attempt in range(self.options.max_restarts + 1):
            failed = self._attempt(attempt)
            if failed is None:
                return 0
            local_rank, code = failed
            again = attempt < self.options.max_restarts
            self._report(local_rank, code, attempt if again else None)
        return 1

    def _attempt(self, attempt: int) -> tuple[int, int] | None:
        """The local rank and exit code of the process that failed first; None if none did."""
        try:
            for local_rank in range(self.local):
                self.running.append(self._start(local_rank, attempt))
            while True:
                codes = [process.poll() for process in self.running]
                failed = next(((rank, code) for rank, code in enumerate(codes) if code), None)
                if failed is not None or all(code == 0 for code in codes):
                    return failed
                time.sleep(self.options.monitor_interval)
        finally:
            self.end()

    def _start(self, local_rank: int, attempt: int) -> subprocess.Popen[bytes]:
        environment = self.environment(local_rank, attempt)
        folder = self.options.log_dir
        if folder is None:
            return subprocess.Popen(self.command(), env=environment)
        os.makedirs(folder, exist_ok=True)
        name = os.path.join(folder, environment["RANK"])
        with open(f"{name}.stdout", "ab") as out, open(f"{name}.stderr", "ab") as err:
            return subprocess.Popen(self.command(), env=environment, stdout=out, stderr=err)

    def end(self) -> None:
        """Ends the processes that still run."""
        for process in self.running:
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + SECONDS_TO_END
        for process in self.running:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running = []

    def _report(self, local_rank: int, code: int, attempt: int | None) -> None:
        rank = self.options.node_rank * self.local + local_rank
        why = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        then = "" if attempt is None else f"; starting again, {self.options.max_restarts - attempt} restarts are left"
        program = self.options.training_script
        sys.stderr.write(
            f"torchlike.distributed.run: {program} FAILED: rank {rank} (local rank {local_rank}) ended with {why}{then}\n"
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


def main(args: Sequence[str] | None = None) -> None:
    """Starts what the command line says, and exits with 1 if a process fails.

    Args:
        args: the command line, by default this program's.
    """
    launcher = Launcher(_parser().parse_args(args))

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        launcher.end()
        raise SystemExit(128 + number)

    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, stop)
    code = launcher.run()
    if code:
        raise SystemExit(code)


if __name__ == "__main__":
    main()
