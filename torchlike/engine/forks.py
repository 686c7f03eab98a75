"""Raises in a process that is forked from one in which JAX runs: a fork copies none of JAX's threads, so every op would hang."""

from __future__ import annotations

import os
from typing import Any, NoReturn

from . import recorder
from .aval import started
from .value import refuse_to_compute

_WHY = (
    "Cannot run torchlike in a forked process when the process that it was forked from had run it already: JAX's threads do not survive "
    "a fork, and this would wait for ever. Start processes with the start method 'spawn' or 'forkserver', as "
    "torch.multiprocessing.spawn does and torch.multiprocessing.get_context('spawn') gives it, or fork before torchlike is first used"
)


def _refuse(*arguments: object, **keywords: object) -> NoReturn:
    raise RuntimeError(_WHY)


class _Forked:
    """Replaces the recorder of the thread that forked, the only thread that a fork copies. Each use of it raises."""

    def __getattr__(self, name: str) -> NoReturn:
        _refuse()


def _after_fork() -> None:
    """Makes every op raise, and every read of a value that was not computed before the fork."""
    if not started():
        return  # JAX starts its threads here when it is first used
    per_thread, threads = _CHANGED
    per_thread.recorder = _Forked()
    threads.__init__ = _refuse  # threads that this process starts
    refuse_to_compute(_refuse)


_CHANGED: Any = recorder.per_thread, type(recorder.per_thread)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
