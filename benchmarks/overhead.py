"""What a line of Python costs beside what it computes: tensors of 16 elements, torchlike and PyTorch in turns.

    python -m benchmarks.overhead [--rounds 7] [--only item] [--json FILE]

Of each case the microseconds of one call, of one operation or of one node, whatever it repeats. Where operations are recorded, the
time holds all there is to one: recording, the program's run, and what frees the results.
"""

from __future__ import annotations

import functools
import importlib
import time
from collections.abc import Callable
from typing import Any

from ._rounds import Maker, Result, Run, arguments, engines, finish, in_turns
from .step import MODULES

REPEATS = 200
Line = Callable[[], None]


def _ops(torch: Any) -> Line:
    x = torch.ones(16)

    def run() -> None:
        y = x
        for _ in range(REPEATS):
            y = y + x
        y[0].item()

    return run


def _ops_in_place(torch: Any) -> Line:
    x = torch.ones(16)

    def run() -> None:
        y = torch.zeros(16)
        for _ in range(REPEATS):
            y.add_(x)
        y[0].item()

    return run


def _views(torch: Any) -> Line:
    x = torch.ones(4, 4)

    def run() -> None:
        for _ in range(REPEATS):
            y = x[1:3]
        y[0, 0].item()

    return run


def _forward_and_backward(torch: Any) -> Line:
    w = torch.ones(16, requires_grad=True)

    def run() -> None:
        y = w
        for _ in range(REPEATS):
            y = y * w
        y.sum().backward()
        w.grad[0].item()
        w.grad = None

    return run


def _module_calls(torch: Any) -> Line:
    module, x = torch.nn.Identity(), torch.ones(16)

    def run() -> None:
        for _ in range(REPEATS):
            module(x)

    return run


def _items(torch: Any) -> Line:
    x = torch.ones(())
    x.item()

    def run() -> None:
        for _ in range(REPEATS):
            x.item()

    return run


def _op_and_item(torch: Any) -> Line:
    x = torch.ones(())

    def run() -> None:
        for _ in range(REPEATS):
            (x + 1).item()

    return run


def _optimizer_steps(torch: Any) -> Line:
    params = [torch.ones(16, requires_grad=True) for _ in range(REPEATS)]
    optimizer = torch.optim.Adam(params)
    for each in params:
        each.grad = torch.ones(16)

    def run() -> None:
        optimizer.step()
        params[-1][0].item()

    return run


CASES: dict[str, Callable[[Any], Line]] = {
    "op": _ops,
    "op in place": _ops_in_place,
    "view": _views,
    "node, forward and backward": _forward_and_backward,
    "module call": _module_calls,
    "item": _items,
    "op and item": _op_and_item,
    "Adam, a parameter": _optimizer_steps,
}


def prepared(engine: str, name: str) -> Run:
    """The run of an engine for a case."""
    line = CASES[name](importlib.import_module(MODULES[engine]))
    for _ in range(3):  # the path is compiled at its second run
        line()

    def run() -> float:
        start = time.perf_counter()
        for _ in range(5):
            line()
        return (time.perf_counter() - start) / 5 / REPEATS * 1e6

    return run


def run(rounds: int = 7, only: str | None = None) -> Result:
    """Microseconds of each case."""
    result = Result("overhead", "us")
    for name in CASES:
        if only in (None, name):
            makers: dict[str, Maker] = {
                e: functools.partial(prepared, e, name) for e in engines("torchlike", "pytorch")
            }
            result.add(name, in_turns(makers, rounds))
    return result


def main() -> None:
    args = arguments(__doc__, 7, CASES).parse_args()
    finish(run(args.rounds, args.only), args.json)


if __name__ == "__main__":
    main()
