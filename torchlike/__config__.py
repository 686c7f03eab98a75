"""torch.__config__: a text that says how the package was built."""

from __future__ import annotations

import os

import jax
import jaxlib.version

from .version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The versions of torchlike, JAX and its compiler.

    >>> "JAX" in torch.__config__.show()
    True
    """
    return f"torchlike {__version__} built with:\n  - JAX {jax.__version__}\n  - XLA of jaxlib {jaxlib.version.__version__}\n"


def _cxx_flags() -> str:
    return ""


def parallel_info() -> str:
    """The number of threads for computing."""
    return f"Parallel backend: XLA\nNumber of processors: {os.cpu_count()}\n"
