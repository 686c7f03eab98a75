"""Ends a process of which threads of XLA still compute or compile: nothing can stop them, and libraries must not be torn down under them.

Python ends, and then the C library calls the destructors of every library. A thread that runs a program of XLA's or compiles one uses what
they destroy, and crashes: after all was printed, the process ends with signal 11. Nothing tells whether such a thread is left, since no
result of its run needs to exist any more. So no destructor is called: the function that the C library calls first ends the process.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import sys

from .aval import started
from .forks import wait_for_runs
from .threads import state

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


@atexit.register
def _end() -> None:
    """Waits for runs whose results exist, since other processes may need them.

    It is registered when torchlike is imported, so functions that the program registers run before it, and can still compute.
    """
    if not started() or state.by_numpy_alone:
        return
    wait_for_runs()
    # glibc has ``on_exit``, which hands the exit code on. Elsewhere the end of the process waits for the compiler alone.
    on_exit = getattr(_libc, "on_exit", None)
    if _libc is not None and on_exit is not None:
        _stop_instead_of_aborting()
        _libc.fflush(None)
        on_exit(ctypes.cast(_libc._exit, ctypes.c_void_p), None)


def _stop_instead_of_aborting() -> None:
    """Lets a thread stop for good where C++ would end the process.

    A thread that asks for Python's lock once Python ends is ended by an exception of C++, which must not leave some functions that it
    passes, such as those with which XLA's compiler returns.
    """
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL("libstdc++.so.6", mode=os.RTLD_NOLOAD)
        library["_ZSt13set_terminatePFvvE"](ctypes.cast(ctypes.CDLL(None).pause, ctypes.c_void_p))
