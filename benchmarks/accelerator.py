"""Training on the accelerator that JAX finds: torchlike, hand-written JAX, and PyTorch eager and compiled where it has the device.

    python -m benchmarks.accelerator [--rounds 7] [--only gpt] [--json FILE] [--made-up]

Each engine has a process of its own, in turns, and takes memory as it needs it. Beside the step of each model are measured: the same with
bfloat16 in autocast; a loop that reads its loss each step, or a step late, or draws random numbers for the device; and copies to and from
it. ``--made-up`` lets JAX's second CPU device serve as one, which shows that all of it runs.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from ._rounds import Maker, Result, Run, arguments, engines, finish, in_turns
from .models import CASES
from .step import MODULES, Burst, jax_loop, microseconds, pytorch_loop

MEBIBYTES = 64
_made_up = ExitStack()  # lives as long as the process
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def accelerator(made_up: bool) -> str:
    """The type of the device, for torchlike.

    Raises:
        SystemExit: there is none.
    """
    import torchlike as torch

    if made_up and torch.accelerator.current_accelerator() is None:
        from tests.accelerator.made_up import gpus

        _made_up.enter_context(gpus())
    found = torch.accelerator.current_accelerator()
    if found is None:
        sys.exit("JAX finds no accelerator here")
    return found.type


def for_jax(made_up: bool) -> Any:
    """JAX's device for the same accelerator."""
    import torchlike as torch

    return torch.ones(1, device=accelerator(made_up))._aval.placement.device


def pytorch_has_it() -> bool:
    """Whether PyTorch is installed and sees a GPU."""
    if not engines("pytorch"):
        return False
    return importlib.import_module("torch").cuda.is_available()


def training(engine: str, name: str, made_up: bool) -> Run:
    """Microseconds of a step of a model."""
    case = CASES[name]
    if engine == "jax":
        return microseconds(jax_loop(case, for_jax(made_up)), case.steps)
    module, _, how = engine.partition(", ")
    device = accelerator(made_up) if module == "torchlike" else "cuda"
    torch = importlib.import_module(MODULES[module])
    burst = pytorch_loop(torch, case, device, how == "compiled")
    return microseconds(mixed(torch, device, burst) if how == "bfloat16" else burst, case.steps)


def mixed(torch: Any, device: str, burst: Burst) -> Burst:
    """The loop under autocast. The backward pass is inside the context too, which makes no difference to its dtypes."""

    def run(steps: int) -> float:
        with torch.autocast(device, dtype=torch.bfloat16):
            return burst(steps)

    return run


def loop(engine: str, kind: str, made_up: bool) -> Run:
    """Microseconds of a step of the mlp in a loop that does something more."""
    torch, case = importlib.import_module(MODULES[engine]), CASES["mlp"]
    device = accelerator(made_up) if engine == "torchlike" else "cuda"
    model, loss_fn = case.model(torch)
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    X, y = (torch.from_numpy(array).to(device) for array in case.data())

    def burst(steps: int) -> float:
        before = torch.zeros((), device=device)
        for _ in range(steps):
            noise = torch.rand(X.shape, device=device) if kind == "random numbers" else 0
            loss = loss_fn(model(X + noise), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if kind == "read each loss":
                loss.item()
            if kind == "read a step late":
                before.item()
            before = loss.detach()
        return before.item()

    return microseconds(burst, case.steps)


def copying(engine: str, direction: str, made_up: bool) -> Run:
    """Microseconds of a copy of this many mebibytes."""
    torch = importlib.import_module(MODULES[engine])
    device = accelerator(made_up) if engine == "torchlike" else "cuda"
    here = torch.rand(MEBIBYTES * 2**18)
    here = here.pin_memory() if direction == "to it, pinned" else here
    there = here.to(device) + 1

    def run() -> float:
        start = time.perf_counter()
        if direction == "from it":
            (there + 1).cpu()[0].item()
        else:
            here.to(device, non_blocking=True)[0].item()
        return (time.perf_counter() - start) * 1e6

    run()
    return run


def memory(made_up: bool) -> dict[str, int]:
    """The statistics of the device's allocator; empty if it has none."""
    stats = for_jax(made_up).memory_stats() or {}
    return {name: stats[name] for name in ("bytes_in_use", "peak_bytes_in_use", "bytes_limit") if name in stats}


def peak(engine: str, name: str, made_up: bool) -> Run:
    """Peak memory of a training on the device, in mebibytes."""
    training(engine, name, made_up)
    return lambda: memory(made_up).get("peak_bytes_in_use", 0) / 2**20


def run(rounds: int = 7, only: str | None = None, made_up: bool = False) -> list[Result]:
    """Steps, loops, copies, and memory where it is counted."""
    theirs = ["pytorch"] if pytorch_has_it() and not made_up else []
    compiled = ["pytorch, compiled", "pytorch, bfloat16"] if theirs else []
    results = [
        Result("step", "us"),
        Result("loop", "us"),
        Result(f"copy of {MEBIBYTES} MiB", "us"),
        Result("peak", "MiB"),
    ]

    def add(result: Result, case: str, make: Callable[..., Run], names: list[str], argument: str, count: int) -> None:
        makers: dict[str, Maker] = {name: functools.partial(make, name, argument, made_up) for name in names}
        result.add(case, in_turns(makers, count, apart=True))

    for name in CASES:
        if only in (None, name):
            add(
                results[0],
                name,
                training,
                ["torchlike", "torchlike, bfloat16", "jax", *theirs, *compiled],
                name,
                rounds,
            )
            if memory(made_up):
                add(results[3], name, peak, ["torchlike", "jax"], name, 1)
    if only is None:
        for kind in ("plain", "read each loss", "read a step late", "random numbers"):
            add(results[1], kind, loop, ["torchlike", *theirs], kind, rounds)
        for direction in ("to it", "to it, pinned", "from it"):
            add(results[2], direction, copying, ["torchlike", *theirs], direction, rounds)
    return results


def main() -> None:
    parser = arguments(__doc__, 7, CASES)
    parser.add_argument("--made-up", action="store_true")
    args = parser.parse_args()
    if args.made_up:
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    print("device:", for_jax(args.made_up), memory(args.made_up))
    for result in run(args.rounds, args.only, args.made_up):
        if args.json is not None and result.figures:
            finish(result, args.json.with_stem(f"{args.json.stem}-{result.name.partition(' ')[0]}"))


if __name__ == "__main__":
    main()
