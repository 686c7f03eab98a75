"""Exchanges of Python objects, by the store that the processes have met at."""

from __future__ import annotations

import pickle
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from .._core.annotations import DeviceLike
from ..engine.recorder import flush
from ._groups import ProcessGroup, group_of
from .errors import DistBackendError, DistStoreError

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "scatter_object_list",
]

# Seconds between checks whether another process has failed, while a process waits for an object.
LOOK = timedelta(seconds=0.5)


def _store_object(group: ProcessGroup, key: str, thing: object) -> None:
    group.store.set(key, pickle.dumps(thing))


def _take(group: ProcessGroup, key: str, readers: int) -> Any:
    """Waits for an object that another process puts into the store. The last of its readers removes it."""
    store, end = group.store, time.monotonic() + group.timeout.total_seconds()
    while True:
        try:
            store.wait([key], LOOK)
            break
        except DistStoreError:
            if group.world is not None:
                group.world.control.check("waiting for an object")
            if time.monotonic() > end:
                raise DistBackendError(
                    f"[Rank {group.rank()}] timed out after {group.timeout.total_seconds():g} s: no object has come ({key})"
                ) from None
    thing = pickle.loads(store.get(key))
    if readers == 1 or store.add(f"{key}/read", 1) == readers:
        store.delete_key(key)
        store.delete_key(f"{key}/read")
    return thing


def objects_of_all(group: ProcessGroup, thing: object) -> list[Any]:
    """The objects of all processes, in the order of their numbers."""
    if group.size() == 1:
        return [pickle.loads(pickle.dumps(thing))]
    flush()  # other processes may wait for a collective that is only recorded here
    number = next(group.objects)
    _store_object(group, f"all/{number}/{group.rank()}", thing)
    return [_take(group, f"all/{number}/{rank}", group.size()) for rank in range(group.size())]


def all_gather_object(object_list: list[Any], obj: object, group: ProcessGroup | None = None) -> None:
    """Puts the objects of all processes into a list. Objects travel as pickles."""
    mine = group_of(group)
    for number, thing in enumerate(objects_of_all(mine, obj)):
        object_list[number] = thing


def gather_object(
    obj: object,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    group_dst: int | None = None,
) -> None:
    """Puts the objects of all processes into a list of process ``dst``."""
    mine = group_of(group)
    number = mine.number_of(dst, group_dst, "dst", default=0)
    here = mine.rank() == number
    if here and not object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    if not here and object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must NOT be specified on non-destination ranks.")
    flush()
    turn = next(mine.objects)
    _store_object(mine, f"gather/{turn}/{mine.rank()}", obj)
    if here and object_gather_list is not None:
        for rank in range(mine.size()):
            object_gather_list[rank] = _take(mine, f"gather/{turn}/{rank}", 1)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: DeviceLike | None = None,
    group_src: int | None = None,
) -> None:
    """Gives all processes the objects of process ``src``."""
    mine = group_of(group)
    number = mine.number_of(src, group_src, "src", default=0)
    if mine.size() == 1:
        return
    flush()
    key = f"broadcast/{next(mine.objects)}"
    if mine.rank() == number:
        _store_object(mine, key, object_list)
        return
    for place, thing in enumerate(_take(mine, key, mine.size() - 1)):
        object_list[place] = thing


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: Sequence[object] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    """Puts one of the objects of process ``src`` into the first place of each process's list."""
    mine = group_of(group)
    number = mine.number_of(src, group_src, "src", default=0)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    flush()
    turn = next(mine.objects)
    if mine.rank() == number:
        if scatter_object_input_list is None or len(scatter_object_input_list) != mine.size():
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        for rank, thing in enumerate(scatter_object_input_list):
            _store_object(mine, f"scatter/{turn}/{rank}", thing)
    scatter_object_output_list[0] = _take(mine, f"scatter/{turn}/{mine.rank()}", 1)
