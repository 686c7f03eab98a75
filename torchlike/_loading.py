"""Imports the parts of the package, and JAX, while the garbage collector waits.

An import makes a million objects that live as long as the process. The collector would go through all of them time and again, which
was a quarter of the import's time. Afterwards they count as old objects, as if it had done so.
"""

import gc as _gc

_was_enabled = _gc.isenabled()
_gc.disable()
try:
    from . import _bind, distributed, distributions, nn, optim, serialization, utils
finally:
    # What is frozen and released belongs to the oldest generation, which is gone through least. Objects that the program has frozen
    # itself must stay so.
    if not _gc.get_freeze_count():
        _gc.freeze()
        _gc.unfreeze()
    if _was_enabled:
        _gc.enable()

__all__ = ["_bind", "distributed", "distributions", "nn", "optim", "serialization", "utils"]
