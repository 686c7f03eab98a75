"""Rounds in which engines take turns, in one process or in a process each; prints the times and writes them as JSON."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import multiprocessing
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

Run = Callable[[], float]  # measures once
Maker = Callable[[], Run]  # prepares, with what is compiled once
Figures = dict[str, list[float]]  # by engine, one of each round

# A pause between turns. Idle threads of an engine look for work for a while before they sleep, and would slow the next engine down.
PAUSE = 0.03


@dataclass
class Result:
    """What a benchmark has measured: figures by case and engine, one of each round."""

    name: str
    unit: str
    figures: dict[str, Figures] = field(default_factory=dict)

    def add(self, case: str, figures: Figures) -> None:
        """Keeps the figures of a case and prints their medians."""
        self.figures[case] = figures
        medians = {engine: statistics.median(numbers) for engine, numbers in figures.items()}
        row = "  ".join(f"{engine} {median:9.2f}" for engine, median in medians.items())
        ratios = [f"/{name} {medians['torchlike'] / m:.2f}" for name, m in medians.items() if name != "torchlike"]
        print(f"{case:24s} {row}  {self.unit}   torchlike {'  '.join(ratios)}", flush=True)

    def as_json(self) -> dict[str, object]:
        """For a file: four digits of each figure."""
        rounded = {
            case: {engine: [float(f"{n:.4g}") for n in numbers] for engine, numbers in figures.items()}
            for case, figures in self.figures.items()
        }
        return {"unit": self.unit, "figures": rounded}


def engines(*names: str) -> list[str]:
    """Those of torchlike, jax and pytorch that the command line names and that are installed."""
    return [name for name in names if name != "pytorch" or importlib.util.find_spec("torch") is not None]


def in_turns(makers: Mapping[str, Maker], rounds: int, *, apart: bool = False) -> Figures:
    """So many figures of each maker's run. With ``apart`` each lives in a process of its own, and sleeps while another runs."""
    with ExitStack() as stack:
        runs = {name: stack.enter_context(_Worker(make)) if apart else make() for name, make in makers.items()}
        figures: Figures = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                time.sleep(PAUSE)
                figures[name].append(run())
    return figures


class _Worker:
    """A run in another process, which measures when it receives a message."""

    def __init__(self, make: Maker) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, make))
        self._process.start()
        other.close()
        self._pipe.recv()  # waits until it is prepared, so that two engines do not prepare at once

    def __call__(self) -> float:
        self._pipe.send(True)
        return self._pipe.recv()

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._process.join()


def _serve(pipe: Connection, make: Maker) -> None:
    run = make()
    pipe.send(True)
    while True:
        try:
            pipe.recv()
        except EOFError:  # all is measured
            return
        pipe.send(run())


def machine() -> dict[str, str]:
    """The facts about this machine that the figures depend on."""
    packages = ("torchlike", "jax", "jaxlib", "onednn-cpu-gomp", "torch", "numpy")
    installed = {each.metadata["Name"].lower() for each in importlib.metadata.distributions()}
    versions = {name: importlib.metadata.version(name) for name in packages if name in installed}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = f"{os.getloadavg()[0]:.1f}"  # the load, of other programs and of what has just been measured
    about = {"cores": str(cores), "load": load, "processor": platform.machine(), "python": platform.python_version()}
    waiting = {name: os.environ[name] for name in ("OMP_WAIT_POLICY", "OMP_NUM_THREADS") if name in os.environ}
    return about | waiting | versions


def write(file: Path, results: Iterable[Result], about: dict[str, str]) -> None:
    """Writes results, and the facts about the machine, as JSON."""
    kept = {"machine": about, "benchmarks": {each.name: each.as_json() for each in results}}
    file.write_text(_joined(json.dumps(kept, indent=1)) + "\n", encoding="utf-8")


def _joined(text: str) -> str:
    """JSON with each list of numbers in one line."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        lines[-1:] = [lines[-1] + line.strip()] if inside else [*lines[-1:], line]
        inside = line.endswith("[") or (inside and not line.strip().startswith("]"))
    return "\n".join(lines)


def arguments(text: str | None, rounds: int, cases: Iterable[str] = ()) -> argparse.ArgumentParser:
    """The command-line options that all benchmarks have."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep the figures of all rounds here")
    if names := list(cases):
        parser.add_argument("--only", choices=names)
    return parser


def finish(result: Result, file: Path | None) -> None:
    """Writes a result to the file that ``--json`` names, if any."""
    if file is not None:
        write(file, [result], machine())
