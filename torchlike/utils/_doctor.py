"""``torchlike doctor``: what is installed and compiled here, which devices there are, and what would make programs faster."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from .._extensions import MODULES, enabled
from ..engine import onednn
from ..engine.aval import jax_devices
from ..version import __version__

__all__ = ["advice", "report"]

# The extras of the package: a module of each, and what it is for.
EXTRAS = {
    "onednn": ("", "convolutions and LSTMs on x86-64 processors"),
    "onnx": ("jax2onnx", "torch.onnx.export"),
    "stablehlo": ("flatbuffers", "files of what export_jax makes"),
    "safetensors": ("safetensors", "files of weights"),
    "tensorboard": ("tensorboardX", "torch.utils.tensorboard"),
    "datasets": ("tensorflow_datasets", "downloads of pictures"),
}
_LIBRARIES = ("jax", "jaxlib", "numpy", "flax", "optax")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
COMPILERS = ("cc", "gcc", "clang")


def report() -> str:
    """The description, with a line for all that is missing for speed at its end."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f"torchlike {__version__}"
    yield f"Python {platform.python_version()} on {platform.platform()}, {os.cpu_count()} processors"
    for name in _LIBRARIES:
        yield f"{name} {metadata.version(name)}"
    yield f"devices: {', '.join(map(str, jax_devices()))}"
    yield f"extension modules: {f'{len(MODULES)} compiled' if enabled else 'none'}"
    yield f"C compiler: {_compiler() or 'none'}"
    yield f"huge pages: {_huge_pages() or 'not known'}"
    yield "extras:"
    for name, (_, purpose) in EXTRAS.items():
        yield f"  {name:12}{'there' if _is_there(name) else 'missing':9}{purpose}"
    found = list(advice())
    yield "missing for speed:" if found else "nothing is missing for speed"
    for line in found:
        yield f"  {line}"


def advice() -> Iterator[str]:
    """What is missing for speed, and how it is had."""
    if not enabled:
        without = "" if _compiler() else " after a C compiler"
        yield f"extension modules, which halve the time of small steps: install torchlike anew{without}, without its pure wheel"
    if not onednn.available() and sys.platform == "linux" and platform.machine() == "x86_64":
        yield "oneDNN, for convolutions and LSTMs: pip install 'torchlike[onednn]'"
    if _huge_pages() == "never":
        yield f"huge pages, for large arrays: echo madvise > {HUGE_PAGES}, as root"


def _is_there(extra: str) -> bool:
    return onednn.available() if extra == "onednn" else find_spec(EXTRAS[extra][0]) is not None


def _compiler() -> str | None:
    return next((found for found in map(shutil.which, COMPILERS) if found), None)


def _huge_pages() -> str | None:
    """The kernel's setting: always, madvise or never."""
    try:
        return HUGE_PAGES.read_text().partition("[")[2].partition("]")[0] or None
    except OSError:
        return None
