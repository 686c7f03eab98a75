"""Exchanges of Python objects through the store at which the processes have met."""

from __future__ import annotations

import pickle
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from .._core.annotations import DeviceLike
from ..engine.recorder import flush
from ..utils.data.distributed import world as sampler_world
from ._groups import ProcessGroup, group_of, is_initialized
from .errors import DistBackendError, DistStoreError

__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "scatter_object_list",
]

# Seconds between checks whether another process has failed, while a process waits for an object.
LOOK = timedelta(seconds=0.5)


def _store_object(group: ProcessGroup, key: str, obj: object) -> None:
    group.store.set(key, pickle.dumps(obj))


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
    obj = pickle.loads(store.get(key))
    if readers == 1 or store.add(f"{key}/read", 1) == readers:
        store.delete_key(key)
        store.delete_key(f"{key}/read")
    return obj


def objects_of_all(group: ProcessGroup, obj: object) -> list[Any]:
    """The objects of all processes, in the order of their numbers."""
    if group.size() == 1:
        return [pickle.loads(pickle.dumps(obj))]
    flush()  # other processes may wait for a collective that is only recorded here
    number = next(group.objects)
    _store_object(group, f"all/{number}/{group.rank()}", obj)
    return [_take(group, f"all/{number}/{rank}", group.size()) for rank in range(group.size())]


def all_gather_object(object_list: list[Any], obj: object, group: ProcessGroup | None = None) -> None:
    """Puts the objects of all processes into a list. Objects travel as pickles."""
    process_group = group_of(group)
    for number, received in enumerate(objects_of_all(process_group, obj)):
        object_list[number] = received


def gather_object(
    obj: object,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    group_dst: int | None = None,
) -> None:
    """Puts the objects of all processes into a list of process ``dst``."""
    process_group = group_of(group)
    number = process_group.number_of(dst, group_dst, "dst", default=0)
    here = process_group.rank() == number
    if here and not object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    if not here and object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must NOT be specified on non-destination ranks.")
    flush()
    turn = next(process_group.objects)
    _store_object(process_group, f"gather/{turn}/{process_group.rank()}", obj)
    if here and object_gather_list is not None:
        for rank in range(process_group.size()):
            object_gather_list[rank] = _take(process_group, f"gather/{turn}/{rank}", 1)


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: DeviceLike | None = None,
    group_src: int | None = None,
) -> None:
    """Gives all processes the objects of process ``src``."""
    process_group = group_of(group)
    number = process_group.number_of(src, group_src, "src", default=0)
    if process_group.size() == 1:
        return
    flush()
    key = f"broadcast/{next(process_group.objects)}"
    if process_group.rank() == number:
        _store_object(process_group, key, object_list)
        return
    for place, received in enumerate(_take(process_group, key, process_group.size() - 1)):
        object_list[place] = received


def _agreed(number: int) -> int:
    """The first process's number, for the seeds of pipes: each process has its part of one order."""
    numbers = [number]
    if is_initialized():
        broadcast_object_list(numbers)
    return numbers[0]


sampler_world.agreed = _agreed


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: Sequence[object] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    """Puts one of the objects of process ``src`` into the first place of each process's list."""
    process_group = group_of(group)
    number = process_group.number_of(src, group_src, "src", default=0)
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    flush()
    turn = next(process_group.objects)
    if process_group.rank() == number:
        if scatter_object_input_list is None or len(scatter_object_input_list) != process_group.size():
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        for rank, part in enumerate(scatter_object_input_list):
            _store_object(process_group, f"scatter/{turn}/{rank}", part)
    scatter_object_output_list[0] = _take(process_group, f"scatter/{turn}/{process_group.rank()}", 1)
