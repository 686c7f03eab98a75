"""Raises KeyboardInterrupt where Python enters a function of JAX or the end of a context during tracing, compiling or transforming.

    python -m tests.engine.entries --every 1        every place; the test suite takes each kind of context and a part of the other places

Python handles signals at these places, so Ctrl-C may interrupt at each. Afterwards the state that JAX keeps for the thread must be as
before, and the work must go on.
"""

import argparse
import contextlib
import gc
import os
import sys
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax._src import config, core, source_info_util

import torchlike as torch
from torchlike.engine import compiling, recorder
from torchlike.engine.aval import CPU, Aval
from torchlike.engine.executable import compile_ahead
from torchlike.engine.memory.transfer import put

JAX = os.path.dirname(jax.__file__)
Site = tuple[Any, ...]


# ---- what is interrupted: each is made anew for a number, and returns work to be done, and a check that it was done right


class Step:
    """The first step of a new model, written with NumPy."""

    def __init__(self, number: int) -> None:
        self.own, self.twin = self._pair(number), self._pair(number)

    @staticmethod
    def _pair(number: int) -> Any:
        torch.manual_seed(number)
        model = torch.nn.Sequential(torch.nn.Linear(3 + number, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2))
        return model, torch.optim.SGD(model.parameters(), lr=0.1), torch.randn(4, 3 + number)

    @staticmethod
    def _step(pair: Any) -> None:
        model, optimizer, x = pair
        with compiling("never"):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), torch.tensor([0, 1, 1, 0])).backward()
            optimizer.step()
            Step._numbers(pair)

    @staticmethod
    def _numbers(pair: Any) -> np.ndarray:
        return np.concatenate([p.detach().numpy().ravel() for p in pair[0].parameters()])

    def work(self) -> None:
        self._step(self.own)

    def is_right(self) -> bool:
        """Asserts that the step has happened completely or not at all, and that the next step is right."""
        if not np.allclose(self._numbers(self.own), self._numbers(self.twin), rtol=1e-5):
            self._step(self.twin)
        self._step(self.own)
        self._step(self.twin)
        return np.allclose(self._numbers(self.own), self._numbers(self.twin), rtol=1e-5)


class Compilation:
    """The compilation of a program."""

    def __init__(self, number: int) -> None:
        self.avals = [Aval((2 + number,), np.dtype(np.float64), CPU)]

    def work(self) -> Any:
        def program(x: Any) -> tuple[Any]:
            return (jax.vjp(lambda x: jax.nn.softplus(x) * 2, x)[1](x)[0],)

        return compile_ahead(program, self.avals, self.avals)

    def is_right(self) -> bool:
        ones = np.ones(self.avals[0].shape)
        return np.allclose(self.work()([put(ones, CPU)])[0], 2 / (1 + np.exp(-1.0)))


class Transform:
    """Computes a Jacobian of a function of tensors."""

    def __init__(self, number: int) -> None:
        self.x = torch.linspace(0, 1, 3)
        self.shift = number  # a constant of the operation, so that JAX traces it each time

    def work(self) -> Any:
        return torch.func.jacrev(lambda x: torch.roll(x, self.shift).square() * 3)(self.x)

    def is_right(self) -> bool:
        return bool(torch.allclose(self.work(), torch.roll(torch.diag(6 * self.x), self.shift, 0)))


KINDS: dict[str, Callable[[int], Any]] = {"step": Step, "compilation": Compilation, "transform": Transform}


# ---- where


def _site(frame: Any, event: str) -> Site | None:
    if event != "call" or frame.f_back is None:
        return None
    code, caller = frame.f_code, frame.f_back
    if code.co_filename.startswith(JAX) or code.co_filename == contextlib.__file__:
        return code, caller.f_code, caller.f_lineno
    return None


def sites(kind: str) -> list[Site]:
    """Returns the places where functions of JAX are entered, each once."""
    found: dict[Site, None] = {}

    def watch(frame: Any, event: str, _: object) -> None:
        site = _site(frame, event)
        if site is not None:
            found[site] = None

    for number in (0, 1):  # afterwards everything that a process does only once has been done
        found.clear()
        work = KINDS[kind](number).work
        sys.setprofile(watch)
        try:
            work()
        finally:
            sys.setprofile(None)
    return list(found)


def _interrupt(site: Site, work: Callable[[], object]) -> bool:
    """Returns whether the work reached this place, where it was interrupted."""

    def watch(frame: Any, event: str, _: object) -> None:
        if _site(frame, event) == site:
            sys.setprofile(None)
            raise KeyboardInterrupt

    collects = gc.isenabled()
    gc.disable()  # the garbage collector may call functions of JAX, and Python drops exceptions raised in them
    sys.setprofile(watch)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
        if collects:
            gc.enable()
    return False


def settings() -> list[object]:
    """Returns JAX's settings of this thread."""
    states = [config.config_states[name].get_local() for name in sorted(config.config_states)]
    return [core.trace_ctx.trace, core.trace_ctx.axis_env, source_info_util.current_name_stack(), *states]


def harm(kind: str, every: int) -> tuple[int, list[str]]:
    """Interrupts the work at the end of each kind of context, and at one of every so many other places.

    Returns:
        How many interrupts arrived, and what differed from before.
    """
    came, wrong = 0, []
    places = sites(kind)
    ends = [site for site in places if site[0].co_name == "__exit__"]
    others = [site for site in places if site[0].co_name != "__exit__"]
    if every > 1:
        ends = list({site[0]: site for site in ends}.values())
    before = settings()
    for number, site in enumerate(ends + others[::every], 2):
        if kind == "step" and number % 40 == 0:
            recorder().forget()
        one = KINDS[kind](number)
        came += _interrupt(site, one.work)
        at = f"{site[0].co_qualname}, from {site[1].co_filename}:{site[2]}"
        if [x is y or x == y for x, y in zip(settings(), before, strict=True)].count(False):
            return came, [*wrong, f"settings after {at}"]
        try:
            if not one.is_right():
                wrong.append(f"numbers after {at}")
        except Exception as error:
            wrong.append(f"{error!r:.200} after {at}")
    return came, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS, action="append")
    options = parser.parse_args()
    for kind in options.kind or KINDS:
        came, wrong = harm(kind, options.every)
        print(f"{kind}: {came} interrupts, {len(wrong)} harmful", *wrong, sep="\n")


if __name__ == "__main__":
    main()
