"""Time of one training step against the size of one thing: batch, width, depth, length of the sequence; and what recording costs.

    python -m benchmarks.scaling [--rounds 5] [--only width] [--json FILE]

Engines take turns as in ``benchmarks.step``. `recording` is torchlike alone: the microseconds an operation takes to record where so
many are recorded before any is computed. It should not grow with their number.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

from ._rounds import Maker, Result, Run, arguments, engines, finish, in_turns
from .models import Case, gpt, lstm, mlp
from .step import ENGINES, microseconds, training

SIZES: dict[str, tuple[Callable[[int], Case], tuple[int, ...]]] = {
    "batch": (lambda n: mlp.case((784, 512, 512, 10), batch=n, steps=20), (1, 8, 64, 512)),
    "width": (lambda n: mlp.case((784, n, n, 10), batch=64, steps=20), (16, 128, 512, 1024)),
    "depth": (lambda n: mlp.case((784, *[128] * n, 10), batch=64, steps=20), (1, 4, 16, 64)),
    "length, lstm": (lambda n: lstm.case(lstm.Sizes(n), steps=5), (10, 50, 200)),
    "length, gpt": (lambda n: gpt.case(n, steps=2), (32, 64, 128)),
}
RECORDED = (100, 500, 2_000)  # at 2,048 the engine runs what is pending


def prepared(engine: str, kind: str, size: int) -> Run:
    """The run of an engine for a size."""
    case = SIZES[kind][0](size)
    return microseconds(training(engine, case), case.steps)


def recording(count: int) -> Run:
    """Records this many operations and drops their results, so that nothing is computed."""
    import torchlike as torch

    x = torch.ones(16)
    x[0].item()

    def run() -> float:
        start = time.perf_counter()
        y = x
        for _ in range(count):
            y = y + x
        took = time.perf_counter() - start
        del y
        x[0].item()
        return took / count * 1e6

    run()
    return run


def run(rounds: int = 5, only: str | None = None) -> Result:
    """Microseconds of a step for each size, and of an operation for each count."""
    result = Result("scaling", "us")
    for kind, (_, sizes) in SIZES.items():
        for size in sizes if only in (None, kind) else ():
            makers: dict[str, Maker] = {e: functools.partial(prepared, e, kind, size) for e in engines(*ENGINES)}
            result.add(f"{kind} {size}", in_turns(makers, rounds))
    for count in RECORDED if only in (None, "recording") else ():
        result.add(f"recording {count}", in_turns({"torchlike": functools.partial(recording, count)}, rounds))
    return result


def main() -> None:
    args = arguments(__doc__, 5, (*SIZES, "recording")).parse_args()
    finish(run(args.rounds, args.only), args.json)


if __name__ == "__main__":
    main()
