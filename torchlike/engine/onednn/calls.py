"""oneDNN in XLA's programs: one target of XLA's foreign function interface, which is told the sizes as an attribute.

The text of a program therefore says all that its call computes, in any process. A program is lowered before it is read from disk
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
    """A function of two arrays that calls oneDNN within a program on the CPU; None where oneDNN does not compute this."""
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
            except Exception:  # another version of XLA's interface
                _registered.append(False)
        return _registered[0]
