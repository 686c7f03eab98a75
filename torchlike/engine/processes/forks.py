"""Lets a process fork while XLA runs: its child computes by NumPy alone, since XLA's threads do not survive a fork.

*Before a fork* the process settles: what the thread has recorded runs, no thread traces or compiles, no program runs, and the locks that
the child will need are held. So the child finds values that are there, whose memory it reads, and structures that nobody was changing.
*In the child* every operation runs by its NumPy plan, one by one. What has none raises an error that names it. No program is run or made,
no JAX array is made, and an accelerator's memory is not read. What another thread had recorded, the child computes where it needs it.

A child that is forked before XLA has started may start it, and is a process like any other, unless it calls ``compute_by_numpy``.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import time
from functools import partial
from typing import Any

import jax

from .. import recorder as recorders, threads
from ..aval import started
from ..interpreter.sharing import set_threads
from ..jax_settings import TRACING
from ..threads import SECONDS_BETWEEN_LOOKS, SECONDS_FOR_COMPILING, free_others, hold, others_are_in, release, state
from ..tiers import NEVER, choice

try:
    from jax._src import api, xla_bridge
except ImportError:  # another version of JAX has other names
    api: Any = None
    xla_bridge: Any = None


def settle() -> None:
    """Runs what this thread has recorded, and waits for programs that run.

    A fork does so by itself, but an exception that is raised meanwhile, such as Ctrl-C, is lost there.
    """
    if uses_xla():
        with contextlib.suppress(Exception):  # whoever reads the value gets the error
            recorders.recorder().finish("a process is forked")
        wait_for_runs()


def wait_for_runs() -> None:
    with contextlib.suppress(RuntimeError):  # there is no CPU among JAX's platforms
        for array in jax.live_arrays("cpu"):
            with contextlib.suppress(Exception):  # it was deleted, or computing it has failed
                array.block_until_ready()


def compute_by_numpy() -> None:
    """From now on this process, which has been forked, computes by NumPy alone."""
    if state.by_numpy_alone:
        return
    state.by_numpy_alone = True
    choice.fix(NEVER)
    set_threads(1)  # beside the other processes
    threads.forget_others(recorders.recorder())
    recorders.recorder().begin_anew()
    _keep_clients()


def uses_xla() -> bool:
    """Whether XLA has been started here. A child that is forked now finds it without the threads that it needs."""
    in_jax = xla_bridge is not None and xla_bridge.backends_are_initialized()
    return (started() or in_jax) and not state.by_numpy_alone


def _before() -> None:
    state.forking = True
    settle()
    until = time.monotonic() + SECONDS_FOR_COMPILING
    while True:
        hold(thread_recorder.lock for thread_recorder in threads.recorders())
        state.closed = True
        if not uses_xla():
            return
        if not others_are_in(TRACING) or time.monotonic() > until:
            break
        state.closed = False  # what they trace may need one of these locks
        release()
        time.sleep(SECONDS_BETWEEN_LOOKS)
    wait_for_runs()


# Calls of C: a signal that arrives during the fork is handled at the first function of Python after it, and an exception would end that.
_AFTER = (partial(setattr, state, "closed", False), partial(setattr, state, "forking", False), release)


def _in_child() -> None:
    if uses_xla():
        compute_by_numpy()


def _keep_clients() -> None:
    """Keeps XLA's clients from being deleted at the end of the process: that would wait for their threads."""
    if xla_bridge is not None and api is not None:
        atexit.unregister(api.clean_up)
        for client in (*xla_bridge._backends.values(), xla_bridge._default_backend):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(client))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_child=free_others)
    for call in _AFTER:
        os.register_at_fork(after_in_parent=call, after_in_child=call)
    os.register_at_fork(after_in_child=_in_child)
    # JAX warns of every fork, as its own functions wait for ever in the child. torchlike's do not.
    if getattr(xla_bridge, "_at_fork_handler_installed", None) is False:
        xla_bridge._at_fork_handler_installed = True
