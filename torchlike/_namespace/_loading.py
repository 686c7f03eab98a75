"""Imports the parts of the package, and JAX, and spares Python's garbage collector the objects that this makes.

An import makes a quarter of a million objects that live as long as the process. The collector went through all of them time and again:
in a quarter of the import's time, and again whenever the program had made a quarter as many objects of its own, 0.2 s each time. So it
waits until the import is over, and then leaves these objects out for good, as ``gc.freeze`` says.

``gc.freeze`` takes all objects that there are, those of the program too. These are given back to the collector one by one, so that it
frees their cycles as before. Where they are many, or where the program has frozen objects itself, nothing is frozen.

Compiling makes as many again, bit by bit, while the program runs. The collector may go through all objects once in ten collections of
younger ones; here it is once in a thousand, unless the program has set this itself. It was a quarter of Python's time in the steps of a
ResNet-50, and of the text of a small T5 after other models, in pauses of 0.1 to 0.3 s. Young objects, such as those of a step, are
collected as often as before. PyTorch makes few objects in a step, so under it old ones are collected still more seldom.
"""

import gc as _gc
from collections.abc import Sequence as _Sequence

_OF_PYTHON = 1_000  # frozen objects that are not the program's: Python 3.12 has 375 when it starts
_MOST = 50_000  # objects that may be there before the import: an interpreter has 5,000, one with NumPy 17,000. Each takes a microsecond.


def _freeze_all_but(others: _Sequence[object]) -> None:
    """Takes all objects away from the collector except these."""
    import ctypes

    untrack, track = ctypes.pythonapi.PyObject_GC_UnTrack, ctypes.pythonapi.PyObject_GC_Track
    untrack.argtypes = track.argtypes = [ctypes.py_object]
    untrack.restype = track.restype = None
    _gc.freeze()
    for obj in others:
        if _gc.is_tracked(obj):
            untrack(obj)
            track(obj)  # as a new object, which is not frozen


# What Python sets; the second from 3.13 on. From 3.14 on it goes through old objects in another way.
_USUAL = (700, 10, 10), (2000, 10, 10)

_was_enabled = _gc.isenabled()
_gc.disable()
_before = _gc.get_objects()
try:
    from . import _bind  # isort: skip (first, since the others use the methods of Tensor)
    from .. import distributed, distributions, nn, optim, serialization, utils

    if _was_enabled and _gc.get_freeze_count() <= _OF_PYTHON and len(_before) <= _MOST:
        _freeze_all_but(_before)
    if _gc.get_threshold() in _USUAL:
        _gc.set_threshold(2000, 10, 1000)
finally:
    del _before
    if _was_enabled:
        _gc.enable()

__all__ = ["_bind", "distributed", "distributions", "nn", "optim", "serialization", "utils"]
