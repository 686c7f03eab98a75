"""oneDNN in XLA's programs: they call one target of XLA's foreign function interface, with the sizes as an attribute of the call.

So the text of a program describes completely what its calls compute, in any process. A program is lowered before it is read from disk
(``engine/disk.py`` finds it by its text), and lowering prepares what the call will look for.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import jax
import numpy as np

from ..geometry import Geometry
from .library import Library, library
from .records import enter, key_of

TARGET = "torchlike_onednn_convolution"

_lock = threading.Lock()
_registered: list[bool] = []


def call(geometry: Geometry, dtype: np.dtype) -> Any:
    """Returns a function of two arrays that calls oneDNN within a program on the CPU; None if oneDNN does not implement this."""
    onednn = library()
    if onednn is None or not enter(geometry, dtype) or not _register(onednn):
        return None
    result = jax.ShapeDtypeStruct(geometry.shape(geometry.result), dtype)
    return lambda *operands: jax.ffi.ffi_call(TARGET, result)(*operands, geometry=key_of(geometry, dtype))


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
