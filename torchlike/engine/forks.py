"""A process that is forked from one in which JAX runs: JAX's threads stay behind, and whatever needs them would wait for ever."""

from __future__ import annotations

import os
from typing import Any, NoReturn

import numpy as np

from . import recorder
from .aval import started
from .value import Value

_WHY = (
    "Cannot run torchlike in a forked process when the process that it was forked from had run it already: JAX's threads do not survive "
    "a fork, and this would wait for ever. Start processes with the start method 'spawn' or 'forkserver', as "
    "torch.multiprocessing.spawn does and torch.multiprocessing.get_context('spawn') gives it, or fork before torchlike is first used"
)


def _refuse(*arguments: Any, **named: Any) -> NoReturn:
    raise RuntimeError(_WHY)


class Forked(recorder.Recorder):
    """A recorder that has come over by a fork: it records nothing and runs nothing."""

    record = flush = end_step = jump = landing = varies = _refuse


def _finished(value: Value) -> Any:
    """In place of ``Value.finish``: what was computed before the fork can be read."""
    array = value.array
    if array is None or not (isinstance(array, np.ndarray) or array.is_ready()):
        _refuse()
    return array


def _after_fork() -> None:
    if not started():
        return  # JAX starts its threads here when it is first used
    for each in list(recorder._recorders):
        each.__class__ = Forked
    # The process is new and stays so: what every thread of it would call is replaced, which costs other processes nothing.
    changed: Any = recorder, Value
    changed[0]._new_recorder = _refuse
    changed[1].finish, changed[1].jax = _finished, _refuse
    changed[1].of = _refuse


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
