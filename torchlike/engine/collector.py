"""Says whether Python's garbage collector is at work, and so whether finalizers may be running.

Before it calls the finalizers of objects that only refer to each other, the collector clears all weak references to these objects. A
finalizer may still read a tensor among them. A segment knows by weak references which of its values are alive, so one that runs in the
meantime cannot tell: see ``Segment.run``.
"""

from __future__ import annotations

import gc


class _Collector:
    def __init__(self) -> None:
        self.at_work = False

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        self.at_work = phase == "start"


collector = _Collector()
gc.callbacks.append(collector)


def catch_up() -> None:
    """Lets the collector do what it has put off. From Python 3.12 on it waits for the next call of a function that is not compiled.

    So a compiled function that must not be interrupted by finalizers calls this one first: this file is no extension module.
    """
