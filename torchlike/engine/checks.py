"""Index checks that run inside programs. Their verdicts are device arrays, read when the host waits for the device anyway."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

MakeError = Callable[[int], Exception]
# Unread verdicts kept at most, so that a program that never reads a value does not fill the memory.
MAX_PENDING = 1000
# Reading a verdict from an accelerator takes as long as a small training step, also where its program has ended. So many programs, or runs
# of one, may wait for the next time that the program reads something anyway.
UNREAD_ON_ACCELERATORS = 32


class Verdict(Protocol):
    """Holds an int64 array of shape (number of checks, 2) with rows ``(bad, value)``. A bad row stays bad from run to run."""

    array: Any
    tables: list[object]  # of the runs since the verdict was last read: the values that they have computed

    def spoil(self, number: int, error: Exception) -> None:
        """Removes the arrays computed after a failed check: reading them raises ``error``."""
        ...


class _Pending(threading.local):
    def __init__(self) -> None:
        # The key is the program that made the checks, or a fresh object for one op. A program's verdict stays bad once it is.
        self.verdicts: dict[Any, tuple[Verdict, Sequence[MakeError]]] = {}


_pending = _Pending()


def verdict_of(program: object) -> Verdict | None:
    """The verdict of a program's earlier runs; None if all of them have been read."""
    entry = _pending.verdicts.get(program)
    return None if entry is None else entry[0]


def expect(program: object, verdict: Verdict, make_errors: Sequence[MakeError]) -> None:
    """Registers the verdict of a program, before the first run that writes to it."""
    if len(_pending.verdicts) >= MAX_PENDING:
        _drop_clean(_pending.verdicts)
    _pending.verdicts[program] = verdict, make_errors


def _drop_clean(verdicts: dict[object, tuple[Verdict, Sequence[MakeError]]]) -> None:
    for program, (verdict, _) in list(verdicts.items()):
        if not np.asarray(verdict.array).any():
            del verdicts[program]


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
            _pending.verdicts = {}


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
    remaining = {}
    for program, entry in verdicts.items():
        # Reading it would wait until the device has finished, and cost the overlap of host and device.
        if (program is about_to_run or not wait) and not entry[0].array.is_ready():
            remaining[program] = entry
            continue
        failed = first_failed(entry[0].array, entry[1])
        if failed is not None:
            return Failed(failed[1], program, entry[0], failed[0])
        if program is about_to_run:
            entry[0].tables.clear()
            remaining[program] = entry
    if len(remaining) != len(verdicts):
        _pending.verdicts = remaining
    return None


def _are_many(verdicts: dict[Any, tuple[Verdict, Sequence[MakeError]]]) -> bool:
    return len(verdicts) > UNREAD_ON_ACCELERATORS or any(
        len(verdict.tables) >= UNREAD_ON_ACCELERATORS for verdict, _ in verdicts.values()
    )


def raise_failed(there: Any = None) -> None:
    """Raises the exception of the first check that failed since the last call. The verdicts are then dropped.

    Args:
        there: an array on an accelerator that is read next. Its copy and those of the verdicts travel at the same time.
    """
    if there is not None:
        for array in (there, *[verdict.array for verdict, _ in _pending.verdicts.values()]):
            if not isinstance(array, np.ndarray):
                array.copy_to_host_async()
    failed = find_failed()
    if failed is not None:
        failed.spoil()
        failed.forget()
        raise failed.error
