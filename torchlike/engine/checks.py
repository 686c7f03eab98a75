"""Index checks that ran inside programs: their verdicts are device arrays, looked at when the host reads something anyway."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Complain = Callable[[int], Exception]
# A program that never reads anything must not fill the memory with verdicts.
MAX_PENDING = 1000


class _Pending(threading.local):
    def __init__(self) -> None:
        # by who found it: a program, whose verdict stands once bad, or a fresh object for one op
        self.verdicts: dict[Any, tuple[Any, Sequence[Complain]]] = {}


_pending = _Pending()


def last(program: Any, clean: Any) -> Any:
    """The verdicts of the last run of a program, as far as nobody has looked at them; else ``clean``."""
    found = _pending.verdicts.get(program)
    return clean if found is None else found[0]


def suspend(program: Any, flags: Any, complaints: Sequence[Complain]) -> None:
    """Keeps verdicts for later, in the place of earlier ones of the same program.

    ``flags``: int64 array of shape (number of complaints, 2), rows ``(bad, value)``.
    """
    verdicts = _pending.verdicts
    verdicts[program] = flags, complaints
    if len(verdicts) > MAX_PENDING:
        for known, (flags, _) in list(verdicts.items()):
            if not np.asarray(flags).any():
                del verdicts[known]


def raise_failed() -> None:
    """Raises the exception of the first check that failed since the last call; the verdicts are then forgotten."""
    verdicts = _pending.verdicts
    if not verdicts:
        return
    _pending.verdicts = {}
    for flags, complaints in verdicts.values():
        found = np.asarray(flags)
        if found.any():
            for (bad, value), complain in zip(found.reshape(-1, 2), complaints, strict=True):
                if bad:
                    raise complain(int(value))
