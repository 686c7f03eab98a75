"""Peak memory of training: torchlike beside hand-written JAX, each in a process of its own.

    python -m benchmarks.memory [--rounds 1] [--only gpt] [--json FILE]

The figure is how far the peak of resident memory rose above what the process held before the model was made. The models are those of
``benchmarks.step``, and `wide`, whose parameters are larger than all else.

The peaks of whole processes, from the first step on and beside PyTorch's, are those of ``first_minute.py``.
"""

from __future__ import annotations

import functools
import os
import resource
from pathlib import Path

from ._rounds import Maker, Result, Run, arguments, finish, in_turns
from .models import CASES, Case, mlp
from .step import training

WIDE = mlp.case((784, 3000, 3000, 10), batch=64, steps=10)
ALL: dict[str, Case] = {**CASES, "wide": WIDE}


def peak() -> float:
    """The peak of resident memory so far, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():  # not getrusage, whose peak includes that of the process which started this one
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def prepared(engine: str, name: str) -> Run:
    """Trains once, and gives the rise for an answer. Both compile: what is read from the disk needs less memory."""
    os.environ["TORCHLIKE_CACHE_DIR"] = ""
    import jax.numpy as jnp

    import torchlike  # noqa: F401  so that both processes hold the same code

    jnp.ones(3).block_until_ready()  # so that the runtime's own memory is there already
    before, case = peak(), ALL[name]
    training(engine, case)(min(case.steps, 30))
    rise = peak() - before
    return lambda: rise


def run(rounds: int = 1, only: str | None = None) -> Result:
    """The rise of the peak, in MiB."""
    result = Result("memory", "MiB")
    for name in ALL:
        if only in (None, name):
            makers: dict[str, Maker] = {
                engine: functools.partial(prepared, engine, name) for engine in ("torchlike", "jax")
            }
            rounds_of_each = [in_turns(makers, 1, apart=True) for _ in range(rounds)]
            result.add(name, {engine: [one[engine][0] for one in rounds_of_each] for engine in makers})
    return result


def main() -> None:
    args = arguments(__doc__, 1, ALL).parse_args()
    finish(run(args.rounds, args.only), args.json)


if __name__ == "__main__":
    main()
