"""Time of one batch of an evaluation loop: the loss of the model in evaluation mode, which is read each time.

    python -m benchmarks.inference [--rounds 7] [--only mlp] [--apart | --together] [--json FILE]

Models, engines and turns are those of ``benchmarks.step``.
"""

from __future__ import annotations

import importlib
from typing import Any

import jax

from ._rounds import Result, Run, arguments, finish
from .models import CASES, Case
from .step import MODULES, Burst, in_jax, measure, microseconds, with_processes


def pytorch_loop(torch: Any, case: Case) -> Burst:
    """An evaluation loop as tutorials write it, with gradients off."""
    torch.manual_seed(0)
    model, loss_fn = case.model(torch)
    model.eval()
    inputs, labels = case.data()
    X, y = torch.from_numpy(inputs).clone(), torch.from_numpy(labels).clone()

    def burst(steps: int) -> float:
        total = 0.0
        with torch.no_grad():
            for _ in range(steps):
                total += loss_fn(model(X), y).item()
        return total

    return burst


def jax_loop(case: Case) -> Burst:
    """The loss as one hand-written jitted function. Batch normalisation takes the batch's statistics, as in training."""
    (params, X, y), loss = in_jax(case), jax.jit(case.loss)

    def burst(steps: int) -> float:
        total = 0.0
        for _ in range(steps):
            total += float(loss(params, X, y))
        return total

    return burst


def prepared(engine: str, name: str) -> Run:
    """The run of an engine for a case."""
    case = CASES[name]
    burst = jax_loop(case) if engine == "jax" else pytorch_loop(importlib.import_module(MODULES[engine]), case)
    return microseconds(burst, case.steps)


def run(rounds: int = 7, only: str | None = None, apart: bool | None = None) -> Result:
    """Microseconds of a batch."""
    return measure("inference", prepared, only, rounds, apart)


def main() -> None:
    args = with_processes(arguments(__doc__, 7, CASES)).parse_args()
    finish(run(args.rounds, args.only, args.apart), args.json)


if __name__ == "__main__":
    main()
