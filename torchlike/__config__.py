"""torch.__config__: a text that says how the package was built."""

from __future__ import annotations

import os

import jax
import jaxlib.version

from ._extensions import enabled
from .version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The versions of torchlike, JAX and its compiler, and whether torchlike's own files are compiled.

    >>> "JAX" in torch.__config__.show()
    True
    """
    lines = (
        f"JAX {jax.__version__}",
        f"XLA of jaxlib {jaxlib.version.__version__}",
        f"{'' if enabled else 'no '}extension modules",
    )
    return f"torchlike {__version__} built with:\n" + "".join(f"  - {line}\n" for line in lines)


def _cxx_flags() -> str:
    return ""


def parallel_info() -> str:
    """The number of threads for computing."""
    return f"Parallel backend: XLA\nNumber of processors: {os.cpu_count()}\n"
