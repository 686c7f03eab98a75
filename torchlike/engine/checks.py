"""Index checks that ran inside programs: their verdicts are device arrays, looked at when the host waits for the device anyway."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

MakeError = Callable[[int], Exception]
# A program that never reads anything must not fill the memory with verdicts.
MAX_PENDING = 1000


class Verdict(Protocol):
    """Holds an int64 array of shape (number of checks, 2) with rows ``(bad, value)``. A bad row stays bad from run to run."""

    array: Any
    clean: bytes  # what the array holds as long as no check has failed
    tables: list[Any]  # what the runs since the last look have computed

    def spoil(self, number: int, error: Exception) -> None:
        """Takes the arrays away that come after a failed check: ``error`` is raised where they are read."""
        ...


class _Pending(threading.local):
    def __init__(self) -> None:
        # By who made the checks: a program, whose verdict stays bad once it is, or a fresh object for one op.
        self.verdicts: dict[Any, tuple[Verdict, Sequence[MakeError]]] = {}


_pending = _Pending()


def verdict_of(program: Any) -> Verdict | None:
    """Where the verdicts of a program's earlier runs are, as far as nobody has looked at them."""
    entry = _pending.verdicts.get(program)
    return None if entry is None else entry[0]


def expect(program: Any, verdict: Verdict, make_errors: Sequence[MakeError]) -> None:
    """Says where the verdicts of a program are going to be, before it runs for the first time."""
    if len(_pending.verdicts) >= MAX_PENDING:
        _drop_clean(_pending.verdicts)
    _pending.verdicts[program] = verdict, make_errors


def _drop_clean(verdicts: dict[Any, tuple[Verdict, Sequence[MakeError]]]) -> None:
    for program, (verdict, _) in list(verdicts.items()):
        if not np.asarray(verdict.array).any():
            del verdicts[program]


def first_failed(flags: Any, make_errors: Sequence[MakeError]) -> tuple[int, Exception] | None:
    """The number of the first check that failed and its exception; None if all is well. Waits for the device."""
    rows = np.asarray(flags)
    if rows.tobytes() == bytes(rows.nbytes):  # of a whole program, rows of checks that did not fail are zero
        return None
    rows = rows.reshape(-1, 2)
    number = int((rows[:, 0] != 0).argmax())
    bad, value = rows[number]
    return (number, make_errors[number](int(value))) if bad else None


def nothing_failed(program: Any) -> bool:
    """Whether ``find_failed(program)`` would find nothing, as far as this is seen at a glance: in a loop of one program.

    A verdict that is not there yet does not matter then: it goes into the program's next run.
    """
    verdicts = _pending.verdicts
    if not verdicts:
        return True
    if len(verdicts) > 1 or program not in verdicts:
        return False
    verdict = verdicts[program][0]
    array = verdict.array
    if not array.is_ready():
        return True
    if np.asarray(array).tobytes() != verdict.clean:
        return False
    verdict.tables.clear()
    return True


class Failed(NamedTuple):
    """A check that has failed: what is to be raised, and the verdict that says so."""

    error: Exception
    program: Any
    verdict: Verdict
    number: int

    def spoil(self) -> None:
        """Takes the arrays away that came after the check. Doing it again changes nothing."""
        self.verdict.spoil(self.number, self.error)

    def forget(self) -> None:
        """Lets go of all verdicts. Comes last, as nobody would know of the failure any more if an interrupt came before the rest."""
        entry = _pending.verdicts.get(self.program)
        if entry is not None and entry[0] is self.verdict:
            _pending.verdicts = {}


def find_failed(about_to_run: Any = None, wait: bool = True) -> Failed | None:
    """The first check that failed since verdicts were last forgotten; those of programs whose checks all passed are let go of.

    Args:
        about_to_run: a program. Its own verdict goes into its next run, which changes nothing if it is bad: there is no need to
            wait for it.
        wait: for programs that still run. Otherwise their verdicts are looked at another time.
    """
    verdicts = _pending.verdicts
    if not verdicts:
        return None
    remaining = {}
    for program, entry in verdicts.items():
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


def raise_failed() -> None:
    """Raises the exception of the first check that failed since the last call; the verdicts are then forgotten."""
    failed = find_failed()
    if failed is not None:
        failed.spoil()
        failed.forget()
        raise failed.error
