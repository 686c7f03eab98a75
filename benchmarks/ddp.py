"""Time of a training step with DistributedDataParallel in several processes: torchlike and PyTorch with Gloo, in turns.

    python -m benchmarks.ddp [--rounds 15] [--only mlp] [--processes 2] [--json FILE]

Each engine has processes of its own, of one thread each, as torchrun starts them, and they sleep while the other engine runs. Two figures
are printed for each model: microseconds of a step on the slowest rank, and of the processor's time on all ranks together. The latter counts
the process that torchlike's ranks ask before each exchange as well. The least of all rounds, which other programs disturb least, is
printed after the medians. PyTorch takes part where it is installed.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import socket
import time
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ._rounds import PAUSE, Result, arguments, engines, machine, write
from .models import CASES, Case
from .step import MODULES, Burst, pytorch_loop

ENGINES = ("torchlike", "pytorch")
MODELS = ("mlp", "tiny", "lenet")
Figure = tuple[float, float]  # microseconds of a step, and of the processor


def parallel_loop(torch: Any, case: Case) -> Burst:
    """The training loop of one rank. The process group is made before."""
    return pytorch_loop(torch, case, wrap=torch.nn.parallel.DistributedDataParallel)


def serve(pipe: Connection, engine: str, case: str, rank: int, size: int, port: int) -> None:
    """One rank: joins the others, prepares, and measures a burst of steps for each message."""
    torch: Any = importlib.import_module(MODULES[engine])
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    burst, steps = parallel_loop(torch, CASES[case]), CASES[case].steps
    for _ in range(3):
        burst(steps)
    pipe.send(None)
    while pipe.recv():
        torch.distributed.barrier()
        start, busy = time.perf_counter(), seconds_of_processor()
        burst(steps)
        took, worked = time.perf_counter() - start, seconds_of_processor() - busy
        pipe.send((took / steps * 1e6, worked / steps * 1e6))
    torch.distributed.destroy_process_group()


def seconds_of_processor() -> float:
    """The processor's time of this process and of the processes that it has started. (Those count where the system is Linux.)"""
    total = time.process_time()
    for file in Path("/proc/self/task").glob("*/children"):
        for child in file.read_text().split():
            # The fields after the name, which is in parentheses: the 12th and 13th are ticks in user and in system code.
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


class Ranks:
    """The ranks of one engine, which train a model together."""

    def __init__(self, engine: str, case: str, size: int) -> None:
        context = multiprocessing.get_context("spawn")
        with socket.socket() as probe:
            probe.bind(("", 0))
            port = probe.getsockname()[1]
        self.pipes: list[Connection] = []
        self.processes = []
        for rank in range(size):
            mine, other = context.Pipe()
            process = context.Process(target=serve, args=(other, engine, case, rank, size, port))
            process.start()
            other.close()
            self.pipes.append(mine)
            self.processes.append(process)
        for pipe in self.pipes:
            pipe.recv()

    def measure(self) -> Figure:
        """Microseconds of a step on the slowest rank, and of the processor on all ranks together."""
        for pipe in self.pipes:
            pipe.send(True)
        figures = [pipe.recv() for pipe in self.pipes]
        return max(took for took, _ in figures), sum(worked for _, worked in figures)

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self.pipes:
            pipe.send(False)
        for process in self.processes:
            process.join()


def run(rounds: int, only: str | None = None, size: int = 2) -> tuple[Result, Result]:
    """The time of a step, and of the processor, of each model."""
    results = Result("ddp", "us"), Result("ddp_processor", "us")
    for case in [only] if only else MODELS:
        with ExitStack() as stack:
            ranks = {name: stack.enter_context(Ranks(name, case, size)) for name in engines(*ENGINES)}
            figures: dict[str, list[Figure]] = {name: [] for name in ranks}
            for _ in range(rounds):
                for name, each in ranks.items():
                    time.sleep(PAUSE)
                    figures[name].append(each.measure())
        for number, result in enumerate(results):
            chosen = {name: [figure[number] for figure in measured] for name, measured in figures.items()}
            result.add(case, chosen)
            print(" " * 24, "  ".join(f"{name} at least {min(each):.0f}" for name, each in chosen.items()), flush=True)
    return results


def main() -> None:
    parser = arguments(__doc__, 15, MODELS)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # as torchrun sets it
    results = run(args.rounds, args.only, args.processes)
    if args.json is not None:
        write(args.json, results, machine())


if __name__ == "__main__":
    main()
