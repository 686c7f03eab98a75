"""Time of one training step: torchlike, hand-written JAX and PyTorch, in turns, on the same unmodified loop.

    python -m benchmarks.step [--rounds 7] [--only mlp] [--apart | --together] [--json FILE]

The models are in `benchmarks/models`: mlp, tiny (little but overhead), lenet, lstm, gpt, resnet. Each engine runs a burst of
steps in its turn, so that a machine whose speed drifts treats all alike; the medians over the rounds and their ratios are printed.
PyTorch takes part where it is installed. torchlike runs as users run it: as one program, or op by op where a program would save too
little. After the first round nothing may be compiled: that is asserted.

Engines live in a process each where threads of torchlike or of oneDNN compute a part of the model: in one process they and PyTorch's
take the cores from each other, and both look slower than they are. ``--apart`` and ``--together`` decide it for all models.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import threading
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from ._rounds import Maker, Result, Run, arguments, engines, finish, in_turns
from .models import CASES, Case

Burst = Callable[[int], float]  # runs this many steps and returns the last loss
LR = 1e-3
ENGINES = ("torchlike", "jax", "pytorch")
WITH_THREADS_OF_ITS_OWN = {"lenet", "lstm", "gpt", "resnet"}
MODULES = {"torchlike": "torchlike", "pytorch": "torch"}
# After so long torchlike has compiled what saves time in these models.
SECONDS_TO_SETTLE = 12.0


def pytorch_loop(
    torch: Any, case: Case, device: str = "cpu", compiled: bool = False, wrap: Callable[[Any], Any] | None = None
) -> Burst:
    """The loop that every PyTorch user writes, for PyTorch or for torchlike in its place. ``wrap``: puts the model into another module."""
    torch.manual_seed(0)
    model, loss_fn = case.model(torch)
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    inputs, labels = case.data()
    X, y = (torch.from_numpy(array).clone().to(device) for array in (inputs, labels))
    if compiled:
        model = torch.compile(model)
    if wrap is not None:
        model = wrap(model)

    def burst(steps: int) -> float:
        for _ in range(steps):
            loss = loss_fn(model(X), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return loss.item()

    return burst


def in_jax(case: Case, device: Any = None) -> tuple[Any, jax.Array, jax.Array]:
    """The parameters, inputs and labels of a case as JAX's users keep them: on the CPU, or another of its devices."""
    device = device or jax.local_devices(backend="cpu")[0]
    inputs, labels = case.data()
    X = inputs.astype(np.int32) if inputs.dtype.kind == "i" else inputs
    params = case.params(np.random.default_rng(1))
    return jax.device_put((params, X, labels.astype(np.int32)), device)


def jax_loop(case: Case, device: Any = None) -> Burst:
    """The same step as one hand-written jitted function with donated parameters."""
    state, X, y = in_jax(case, device)

    def step(params: Any, X: jax.Array, y: jax.Array) -> Any:
        loss, grads = jax.value_and_grad(case.loss)(params, X, y)
        return jax.tree.map(lambda p, g: p - LR * g, params, grads), loss

    jitted = jax.jit(step, donate_argnums=0)

    def burst(steps: int) -> float:
        nonlocal state
        for _ in range(steps):
            state, loss = jitted(state, X, y)
        return float(loss)

    return burst


def settle(burst: Burst, steps: int) -> None:
    """Runs bursts until torchlike computes them as it will from then on, in the mode that users have.

    That is as one program, or op by op where a program would save too little. A large program is compiled a second time, in the
    background, once it has run for some time.
    """
    import torchlike
    from torchlike.engine.background import Task, begin

    known = -1
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS_TO_SETTLE:
        before = torchlike.explain()
        burst(steps)
        end = threading.Event()
        begin(Task(end.set, "the end of all compilations"))
        end.wait()  # the background has one thread, which makes them in their order
        after = torchlike.explain()
        if after.cold == before.cold and after.compiles == known:
            break
        known = after.compiles


def microseconds(burst: Burst, steps: int) -> Run:
    """Measures a burst after others, in which everything is compiled that ever is.

    Right before it another one runs whose time does not count. In one process the first steps of a burst are slower after those of
    another engine: on two cores torchlike's mlp took a tenth longer after PyTorch's turn than after its own, and JAX's, whose turn came
    after torchlike's, did not.

    Raises:
        AssertionError: torchlike compiles something in a later one.
    """
    import torchlike
    from torchlike.engine import compiling

    with compiling("auto"):
        settle(burst, max(steps, 3))
    compiled = torchlike.explain().compiles

    def run() -> float:
        with compiling("auto"):
            burst(steps)
            start = time.perf_counter()
            burst(steps)
            took = time.perf_counter() - start
        if torchlike.explain().compiles != compiled:
            raise AssertionError(f"something was compiled after the warm-up:\n{torchlike.explain()}")
        return took / steps * 1e6

    return run


def training(engine: str, case: Case) -> Burst:
    """The training loop of an engine."""
    return jax_loop(case) if engine == "jax" else pytorch_loop(importlib.import_module(MODULES[engine]), case)


def prepared(engine: str, name: str) -> Run:
    """The run of an engine for a case by its name, as another process can make it."""
    return microseconds(training(engine, CASES[name]), CASES[name].steps)


def measure(name: str, make: Callable[[str, str], Run], only: str | None, rounds: int, apart: bool | None) -> Result:
    """The figures of the named cases, each made by ``make(engine, case)``."""
    result = Result(name, "us")
    for case in CASES:
        if only in (None, case):
            makers: dict[str, Maker] = {engine: functools.partial(make, engine, case) for engine in engines(*ENGINES)}
            alone = case in WITH_THREADS_OF_ITS_OWN if apart is None else apart
            result.add(case, in_turns(makers, rounds, apart=alone))
    return result


def with_processes(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds the options that choose between one process for all engines and one for each."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--apart", action="store_true", default=None, help="each engine in a process of its own")
    group.add_argument("--together", action="store_false", dest="apart", help="all engines in one process")
    return parser


def run(rounds: int = 7, only: str | None = None, apart: bool | None = None) -> Result:
    """Microseconds of a step."""
    return measure("step", prepared, only, rounds, apart)


def main() -> None:
    args = with_processes(arguments(__doc__, 7, CASES)).parse_args()
    finish(run(args.rounds, args.only, args.apart), args.json)


if __name__ == "__main__":
    main()
