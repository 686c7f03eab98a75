"""Index checks that ran inside programs: their verdicts are device arrays, looked at when the host waits for the device anyway."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

Complain = Callable[[int], Exception]
# A program that never reads anything must not fill the memory with verdicts.
MAX_PENDING = 1000


class Verdict(Protocol):
    """Holds an int64 array of shape (number of checks, 2) with rows ``(bad, value)``. A bad row stays bad from run to run."""

    array: Any

    def spoil(self, number: int, error: Exception) -> None:
        """Takes the arrays away that come after a failed check: ``error`` is raised where they are read."""
        ...


class _Pending(threading.local):
    def __init__(self) -> None:
        # By who made the checks: a program, whose verdict stays bad once it is, or a fresh object for one op.
        self.verdicts: dict[Any, tuple[Verdict, Sequence[Complain]]] = {}


_pending = _Pending()


def verdict_of(program: Any) -> Verdict | None:
    """Where the verdicts of a program's earlier runs are, as far as nobody has looked at them."""
    known = _pending.verdicts.get(program)
    return None if known is None else known[0]


def expect(program: Any, verdict: Verdict, complaints: Sequence[Complain]) -> None:
    """Says where the verdicts of a program are going to be, before it runs for the first time."""
    if len(_pending.verdicts) >= MAX_PENDING:
        _drop_clean(_pending.verdicts)
    _pending.verdicts[program] = verdict, complaints


def _drop_clean(verdicts: dict[Any, tuple[Verdict, Sequence[Complain]]]) -> None:
    for program, (verdict, _) in list(verdicts.items()):
        if not np.asarray(verdict.array).any():
            del verdicts[program]


def first_failed(flags: Any, complaints: Sequence[Complain]) -> tuple[int, Exception] | None:
    """The number of the first check that failed and its exception; None if all is well. Waits for the device."""
    rows = np.asarray(flags).reshape(-1, 2)
    if rows[:, 0].any():
        number = int(rows[:, 0].argmax())
        return number, complaints[number](int(rows[number, 1]))
    return None


def raise_failed() -> None:
    """Raises the exception of the first check that failed since the last call; the verdicts are then forgotten."""
    if not _pending.verdicts:
        return
    verdicts, _pending.verdicts = _pending.verdicts, {}
    for verdict, complaints in verdicts.values():
        failed = first_failed(verdict.array, complaints)
        if failed is not None:
            verdict.spoil(*failed)
            raise failed[1]
