"""Replaces JAX's devices of one process by those of several processes, and moves values from the old devices to the new ones."""

from __future__ import annotations

import gc
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from . import checks, kernel
from .aval import Aval, Placement, started
from .recorder import forget
from .value import Value


def leave_devices() -> None:
    """Moves every value to the host, and drops all devices and what was compiled for them. Does nothing where JAX has not started.

    JAX arrays that the program itself holds stay on the old devices.
    """
    forget()
    if not started():
        return
    checks.raise_failed()
    arrays: dict[int, Any] = {}
    for value in [candidate for candidate in gc.get_objects() if isinstance(candidate, Value)]:
        array = getattr(value, "array", None)
        if isinstance(array, jax.Array) and not isinstance(array, Tracer):
            if id(array) not in arrays:
                arrays[id(array)] = array, np.array(array)
            value.array, value.pinned = arrays[id(array)][1], False
    for reference in kernel.with_executable():
        candidate = reference()
        if candidate is not None:
            candidate.drop_executable()
    for placement in Placement.all():
        placement.forget_device()
    for aval in Aval.all():
        aval.sds = None
    from jax.extend.backend import clear_backends

    clear_backends()
