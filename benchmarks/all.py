"""All that the documentation's page of benchmarks shows, in at most twelve minutes on two quiet cores.

    python -m benchmarks.all [--json docs/benchmarks/results.json]

``python docs/_benchmarks.py`` then draws the page anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from . import epoch, first_minute, inference, memory, overhead, programs, scaling, step
from ._rounds import Result, arguments, machine, write

FILE = Path(__file__).parents[1] / "docs" / "benchmarks" / "results.json"


def main() -> None:
    parser = arguments(__doc__, 7)
    parser.set_defaults(json=FILE)
    args = parser.parse_args()
    few, start, about = max(args.rounds // 2, 1), time.perf_counter(), machine()
    results: list[Result] = []
    measures: list[Callable[[], Iterable[Result]]] = [
        first_minute.run,
        lambda: [step.run(args.rounds)],
        lambda: [inference.run(args.rounds)],
        lambda: [overhead.run(args.rounds)],
        lambda: [scaling.run(few)],
        lambda: [epoch.run(few, count=12_800)],
        lambda: [memory.run(1)],
        lambda: [programs.run(1)],
    ]
    for measure in measures:
        results += measure()
        write(args.json, results, about)  # written after each benchmark, so that a later failure loses nothing
        print(f"-- {results[-1].name}: {time.perf_counter() - start:.0f} s so far", flush=True)


if __name__ == "__main__":
    main()
