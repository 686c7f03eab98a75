"""Index checks that ran inside programs: their verdicts are device arrays, looked at when the host reads something anyway."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Complain = Callable[[int], Exception]


class _Pending(threading.local):
    def __init__(self) -> None:
        self.verdicts: list[tuple[Any, Sequence[Complain]]] = []


_pending = _Pending()


def suspend(flags: Any, complaints: Sequence[Complain]) -> None:
    """Keeps verdicts for later. ``flags``: int64 array of shape (number of complaints, 2), rows ``(bad, value)``."""
    _pending.verdicts.append((flags, complaints))


def raise_failed() -> None:
    """Raises the exception of the first check that failed since the last call; the verdicts are then forgotten."""
    verdicts = _pending.verdicts
    if not verdicts:
        return
    _pending.verdicts = []
    for flags, complaints in verdicts:
        for (bad, value), complain in zip(np.asarray(flags).reshape(-1, 2), complaints, strict=True):
            if bad:
                raise complain(int(value))
