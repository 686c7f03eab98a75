"""Index checks that run inside programs. Their verdicts are device arrays, read when the host waits for the device anyway."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

MakeError = Callable[[int], Exception]
# Unread verdicts kept at most, so that a program that never reads a value does not fill the memory.
MAX_PENDING = 1000
# Reading a verdict from an accelerator takes as long as a small training step, also where its program has ended. So many programs, or runs
# of one, may wait for the next time that the program reads something anyway.
UNREAD_ON_ACCELERATORS = 32
# Runs of a program with unread verdicts whose values are remembered at most.
MAX_TABLES = 64


class Verdict(Protocol):
    """Holds an int64 array of shape (number of checks, 2) with rows ``(bad, value)``. A bad row stays bad from run to run."""

    array: Any
    tables: list[object]  # of the runs since the verdict was last read: the values that they have computed

    def spoil(self, number: int, error: Exception) -> None:
        """Removes the arrays computed after a failed check: reading them raises ``error``."""
        ...


_Entry: TypeAlias = tuple[Verdict, Sequence[MakeError]]


class _Pending(threading.local):
    def __init__(self) -> None:
        # The key is the program that made the checks, or a fresh object for one op. A program's verdict stays bad once it is.
        self.verdicts: dict[Any, _Entry] = {}


_pending = _Pending()


def verdict_of(program: object) -> Verdict | None:
    """The verdict of a program's earlier runs; None if all of them have been read."""
    entry = _pending.verdicts.get(program)
    return None if entry is None else entry[0]


def expected(program: object, verdict: Verdict, make_errors: Sequence[MakeError], table: object) -> Iterator[None]:
    """An iterator that registers the verdict of a program and the table of its run, in calls of C.

    It is part of the call in which the program runs. A signal handler that has read all verdicts before has forgotten this one.
    """
    verdicts = _pending.verdicts
    if len(verdicts) >= MAX_PENDING:
        for known, entry in list(verdicts.items()):
            array = entry[0].array
            if not np.asarray(array).any():
                _drop(known, entry, array)
    if len(verdict.tables) >= MAX_TABLES:  # where nothing is read for long
        del verdict.tables[0]
    return chain(
        map(verdicts.__setitem__, (program,), ((verdict, make_errors),)),
        map(verdict.tables.append, (table,)),
    )


def _drop(program: Any, entry: _Entry, array: object) -> None:
    """Forgets a verdict that was read in this array, unless the program has run again since, from a signal handler.

    There is no call between the comparisons and the deletion, so no handler runs there.
    """
    verdicts = _pending.verdicts
    if program in verdicts and verdicts[program] is entry and entry[0].array is array:
        del verdicts[program]
        entry[0].tables.clear()


def first_failed(flags: object, make_errors: Sequence[MakeError]) -> tuple[int, Exception] | None:
    """The number of the first check that failed and its exception; None if all is well. Waits for the device."""
    rows = np.asarray(flags)
    if rows.tobytes() == bytes(rows.nbytes):  # in a whole program, the rows of checks that passed are zero
        return None
    rows = rows.reshape(-1, 2)
    number = int((rows[:, 0] != 0).argmax())
    bad, value = rows[number]
    return (number, make_errors[number](int(value))) if bad else None


class Failed(NamedTuple):
    """A failed check: the exception to raise, and the verdict that reported it."""

    error: Exception
    program: Any
    verdict: Verdict
    number: int

    def spoil(self) -> None:
        """Removes the arrays computed after the check. A second call changes nothing."""
        self.verdict.spoil(self.number, self.error)

    def forget(self) -> None:
        """Drops all verdicts. Call this last: if an interrupt came after it, the failure would be lost."""
        entry = _pending.verdicts.get(self.program)
        if entry is not None and entry[0] is self.verdict:
            _pending.verdicts.clear()


def are_unread() -> bool:
    """Whether there are verdicts that nobody has read."""
    return bool(_pending.verdicts)


def find_failed(about_to_run: object = None, wait: bool = True) -> Failed | None:
    """The first check that failed since verdicts were last dropped. Verdicts of programs whose checks all passed are dropped here.

    Args:
        about_to_run: the program that runs next. Its own verdict is an input of that run, which changes nothing if it is bad: there
            is no need to wait for it.
        wait: whether to wait for programs that still run. Otherwise, on accelerators, verdicts are read by a later call, unless there are
            many.
    """
    verdicts = _pending.verdicts
    if not verdicts or not (wait or _are_many(verdicts)):
        return None
    for program, entry in list(verdicts.items()):
        array = entry[0].array
        # Reading it would wait until the device has finished, and cost the overlap of host and device.
        if (program is about_to_run or not wait) and not array.is_ready():
            continue
        failed = first_failed(array, entry[1])
        if failed is not None:
            return Failed(failed[1], program, entry[0], failed[0])
        if program is not about_to_run:
            _drop(program, entry, array)
        elif entry[0].array is array:
            entry[0].tables.clear()
    return None


def _are_many(verdicts: dict[Any, _Entry]) -> bool:
    return len(verdicts) > UNREAD_ON_ACCELERATORS or any(
        len(verdict.tables) >= UNREAD_ON_ACCELERATORS for verdict, _ in list(verdicts.values())
    )


def raise_failed(there: Any = None) -> None:
    """Raises the exception of the first check that failed since the last call. The verdicts are then dropped.

    Args:
        there: an array on an accelerator that is read next. Its copy and those of the verdicts travel at the same time.
    """
    if there is not None:
        for array in (there, *[verdict.array for verdict, _ in list(_pending.verdicts.values())]):
            if not isinstance(array, np.ndarray):
                array.copy_to_host_async()
    failed = find_failed()
    if failed is not None:
        failed.spoil()
        failed.forget()
        raise failed.error
