"""Ends a process of which threads of XLA still run a program: libraries must not be torn down under them.

Python ends, and then the C library calls the destructors of every library. A thread that runs a program uses what they destroy, and
crashes: after all was printed, the process ends with signal 11. Nothing tells whether such a thread is left, as no result of its run needs
to exist any more. So no destructor is called: the function that the C library calls first ends the process.
"""

from __future__ import annotations

import atexit
import ctypes
import sys

from .forks import uses_xla, wait_for_runs

_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


@atexit.register
def _end() -> None:
    """Waits for runs whose results exist, since other processes may need them.

    It is registered when torchlike is imported, so functions that the program registers run before it, and can still compute.
    """
    if not uses_xla():
        return
    wait_for_runs()
    on_exit = getattr(_libc, "on_exit", None)  # of glibc alone; it hands the exit code on
    if _libc is not None and on_exit is not None:
        _libc.fflush(None)
        on_exit(ctypes.cast(_libc._exit, ctypes.c_void_p), None)
