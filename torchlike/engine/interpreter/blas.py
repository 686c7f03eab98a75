"""The threads of the library that computes NumPy's matrix products.

OpenBLAS divides a product among threads that wait by spinning: for some thirty milliseconds after each product they take whole cores, and
where another thread needs one of these cores, a product waits until its share has had its turn: five times as long, while a program is
compiled beside it. So products run on one thread of OpenBLAS each, and ``products.py`` divides the large ones itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

try:
    from numpy._core import _multiarray_umath
except ImportError:  # another version of NumPy has other names
    _multiarray_umath: Any = None


def _function(purpose: str) -> Callable[..., int] | None:
    """A function of the OpenBLAS that NumPy was linked to, under one of the names that it has there."""
    if _multiarray_umath is None:
        return None
    try:
        library = ctypes.CDLL(_multiarray_umath.__file__)  # and the libraries that it needs
    except OSError:
        return None
    names = [f"{before}openblas_{purpose}_num_threads{after}" for before in ("scipy_", "") for after in ("64_", "")]
    return next((getattr(library, name) for name in names if hasattr(library, name)), None)


_get, _set = _function("get"), _function("set")
known = _get is not None and _set is not None
_inside: list[int] = []


class _OneThread:
    """Within it OpenBLAS computes on the calling thread.

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
