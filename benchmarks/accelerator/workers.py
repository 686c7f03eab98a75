"""Processes that prepare side by side and measure in turns, so that compiling takes all cores and measuring the whole device."""

from __future__ import annotations

import contextlib
import multiprocessing
import statistics
import time
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

Figures = dict[str, Any]  # by name: numbers, or a text that says what went wrong
Measurement = Callable[[], Figures]
LATE, NO_TIME = "no answer", "no time was left"  # so begins the text where the time was too short
Preparation = Callable[[], Measurement]  # what is measured again and again, after everything is compiled


class Worker:
    """A process that prepares at once, and measures when it is asked."""

    def __init__(self, prepare: Preparation) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        # Not a daemon: PyTorch's compiler starts processes of its own.
        self._process = context.Process(target=_serve, args=(other, prepare))
        self._process.start()
        self._begun = time.monotonic()
        other.close()

    def answer(self, seconds: float) -> Any:
        """What the process sends next; a text if it fails or is late."""
        try:
            if self._pipe.poll(max(seconds, 0)):
                return self._pipe.recv()
            return f"{LATE} {time.monotonic() - self._begun:.0f} s after its start"
        except EOFError:
            return f"the process ended with {self._process.exitcode}"

    def measure(self, seconds: float) -> Any:
        self._pipe.send(True)
        return self.answer(seconds)

    def end(self, seconds: float = 2) -> None:
        self._pipe.close()
        self._process.join(seconds)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(pipe: Connection, prepare: Preparation) -> None:
    try:
        measure = prepare()
        pipe.send(True)
        while True:
            try:
                pipe.recv()
            except EOFError:  # all is measured
                return
            pipe.send(measure())
    except Exception as error:
        text = "".join(traceback.format_exception(error))
        with contextlib.suppress(OSError):  # nobody waits for it any more
            pipe.send(f"{type(error).__name__}: {str(error)[:300]}\n{text[-3000:]}")


def in_turns(preparations: Mapping[str, Preparation], rounds: int, ready: float, deadline: float) -> dict[str, Figures]:
    """The median figures of each, or why there are none under "error".

    What is not prepared by the time ``ready`` of ``monotonic`` is ended, so that it disturbs no measurement; all ends at the deadline.
    """
    workers = {name: Worker(prepare) for name, prepare in preparations.items()}
    found: dict[str, Figures] = {}
    kept: dict[str, list[Figures]] = {}
    try:
        for name, worker in workers.items():
            answer = worker.answer(ready - time.monotonic())
            if isinstance(answer, str):
                found[name] = {"error": answer}
                worker.end(0)
            else:
                kept[name] = []
        for number in range(rounds):
            for name, each in kept.items():
                if name in found or (number and time.monotonic() > deadline):
                    continue
                answer = workers[name].measure(20)
                if isinstance(answer, str):
                    found[name] = {"error": answer}
                else:
                    each.append(answer)
    finally:
        for worker in workers.values():
            worker.end()
    medians = {name: _median(each) for name, each in kept.items() if each}
    return {name: found.get(name) or medians.get(name) or {"error": NO_TIME} for name in preparations}


def _median(rounds: list[Figures]) -> Figures:
    def middle(values: list[Any]) -> Any:
        return values[0] if isinstance(values[0], str) else float(f"{statistics.median(values):.4g}")

    return {key: middle([each[key] for each in rounds]) for key in rounds[0]}
