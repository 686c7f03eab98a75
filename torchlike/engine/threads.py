"""The recorders of the process: one for each thread that has recorded anything."""

from __future__ import annotations

import threading
import weakref
from typing import Any

_recorders: list[weakref.ref[object]] = []
_lock = threading.Lock()


def add(recorder: object) -> None:
    with _lock:
        _recorders[:] = [*(reference for reference in _recorders if reference() is not None), weakref.ref(recorder)]


def alone() -> bool:
    """Whether only one thread has recorded. No other thread can then have the memory of its values among its inputs."""
    return len(_recorders) == 1


def recorders() -> list[Any]:
    return [recorder for reference in list(_recorders) if (recorder := reference()) is not None]


def unfinished() -> list[Any]:
    """The segments of all threads that have not been run to their end."""
    segments: list[object] = []
    for recorder in recorders():
        segments += [*recorder.waiting, recorder.segment]
        if recorder.ended is not None:
            segments.append(recorder.ended)
    return segments
