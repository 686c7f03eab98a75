"""The mappings of memory that a process holds. Linux allows some 65,000, and LLVM ends the process where the compiler is refused one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

# So much of what is allowed may be in use, by the compiler or by the program of the user, before executables are dropped.
ALLOWED_SHARE = 0.75
# A compiled step of a large model takes some 600 (measured).
MAX_PER_COMPILATION = 2000


def in_use() -> int:
    """The number of mappings of this process; 0 where the system does not say."""
    try:
        return Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:
        return 0


def allowed() -> int:
    """How many the system allows, of which ``ALLOWED_SHARE`` serves; 0 where it does not say."""
    try:
        return int(ALLOWED_SHARE * int(Path("/proc/sys/vm/max_map_count").read_text(encoding="ascii")))
    except (OSError, ValueError):
        return 0


# Each drops a quarter of the executables of one kind, those that were not used for longest.
droppers: list[Callable[[], None]] = []


class _Watch:
    """``rest``: compilations until the mappings are counted again. Counting takes a microsecond for each."""

    rest = 0


def compiled() -> None:
    """To be called after each compilation: drops executables if there are too many mappings."""
    _Watch.rest -= 1
    if _Watch.rest > 0:
        return
    most = allowed()
    left = most - in_use()
    if most and left < 0:
        for drop in droppers:
            drop()
    _Watch.rest = max(left, 0) // MAX_PER_COMPILATION
