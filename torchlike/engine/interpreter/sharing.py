"""The library that computes NumPy's matrix products, and the threads that divide a large one.

OpenBLAS divides a product among threads that wait by spinning: for some thirty milliseconds after each product they take whole cores, and
where another thread needs one of these cores, a product waits until its share has had its turn: five times as long, while a program is
compiled beside it. So products run on one thread of OpenBLAS each, and ``elements.c`` divides the large ones among threads of its own.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
from collections.abc import Iterator
from typing import Any

from .fused import elements

try:
    from numpy._core import _multiarray_umath  # pyright: ignore[reportAttributeAccessIssue]
except ImportError:  # another version of NumPy has other names
    _multiarray_umath: Any = None


# ---- the library's threads


def _functions(name: str) -> Iterator[tuple[Any, bool]]:
    """The function of the OpenBLAS that NumPy was linked to, under the names that it has there, and whether its sizes have 64 bits."""
    if _multiarray_umath is None:
        return
    try:
        library = ctypes.CDLL(_multiarray_umath.__file__)  # and the libraries that it needs
    except OSError:
        return
    for before, after in itertools.product(("scipy_", ""), ("64_", "")):
        if hasattr(library, before + name + after):
            yield getattr(library, before + name + after), after == "64_"


@functools.cache
def product_of(letter: str) -> tuple[int, bool] | None:
    """The address of the function that multiplies matrices of a dtype ("s" or "d"), and whether its sizes have 64 bits; None without it."""
    for function, wide in _functions(f"cblas_{letter}gemm"):
        return ctypes.cast(function, ctypes.c_void_p).value or 0, wide
    return None


_get, _set = [next((f for f, _ in _functions(f"openblas_{what}_num_threads")), None) for what in ("get", "set")]
known = _get is not None and _set is not None
if elements is not None and _get is not None and _set is not None:
    elements.use_library(*[ctypes.cast(function, ctypes.c_void_p).value for function in (_get, _set)])
_inside: list[int] = []


class _OneThread:
    """Within it OpenBLAS computes on the calling thread, as it does for the products that ``elements.c`` has it compute.

    The number of its threads belongs to the process. Where two threads enter and leave at once, the one may find another number than it
    has set. Products are the same then, and take longer.
    """

    def __enter__(self) -> None:
        if _get is not None and _set is not None:
            threads = _get()
            _inside.append(threads)
            if threads != 1:
                _set(1)

    def __exit__(self, *error: object) -> None:
        if _set is not None:
            threads = _inside.pop()
            if threads != 1:
                _set(threads)


one_thread = _OneThread()


# ---- ours


def set_threads(number: int) -> None:
    """How many threads compute a large array together, the caller's among them."""
    if elements is not None:
        elements.set_threads(number)


set_threads(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
