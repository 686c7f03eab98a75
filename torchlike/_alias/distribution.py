"""Lets ``importlib.metadata`` find a distribution ``torch`` with a version, for programs that look whether PyTorch is installed."""

from __future__ import annotations

from importlib.metadata import Distribution
from os import PathLike
from pathlib import Path

from ..version import __version__

__all__ = ["Torch"]


class Torch(Distribution):
    """The result of ``importlib.metadata.distribution("torch")``."""

    def read_text(self, filename: str) -> str | None:
        return {
            "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\nSummary: torchlike, as torch\n",
            "top_level.txt": "torch\n",
        }.get(filename)

    def locate_file(self, path: str | PathLike[str]) -> Path:
        return Path(__file__).parents[1] / path
