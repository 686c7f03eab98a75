"""oneDNN in XLA's programs: they call one target of XLA's foreign function interface, with kind and sizes as an attribute of the call.

So the text of a program describes completely what its calls compute, in any process. A program is lowered before it is read from disk
(``engine/disk/programs.py`` finds it by its text), and lowering prepares what the call will look for.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ..threads import held_by_forks
from .library import Library, library
from .records import Computation, enter

TARGET = "torchlike_onednn"

_lock = held_by_forks(threading.RLock())
_registered: list[bool] = []


def call(computation: Computation) -> Callable[..., Sequence[Any]] | None:
    """Returns a function that calls oneDNN within a program on the CPU; None if oneDNN does not implement this."""
    onednn = library()
    if onednn is None or not enter(computation) or not _register(onednn):
        return None
    results = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in computation.results]
    return lambda *operands: jax.ffi.ffi_call(TARGET, results)(*operands, key=np.array(computation.key, np.int64))


def _register(onednn: Library) -> bool:
    with _lock:
        if not _registered:
            capsule = ctypes.pythonapi.PyCapsule_New
            capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
            try:
                jax.ffi.register_ffi_target(TARGET, capsule(onednn.handler, None, None), platform="cpu")
                _registered.append(True)
            except Exception:  # the interface of another version of XLA
                _registered.append(False)
        return _registered[0]
