"""Figures that a compiler for TPUs gives: kept in a file of the docs, with the table of them on a page."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"


def compiler() -> Any:
    """libtpu, which any number of processes may use; None if it is not installed, which is said."""
    if importlib.util.find_spec("libtpu") is None:
        print("libtpu is not installed, so nothing is compiled for a TPU: pip install libtpu")
        return None
    os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")  # libtpu would ask a machine of Google's for its chips
    os.environ.setdefault("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")
    return importlib.import_module("libtpu")


class Kept:
    """The figures of a command, in ``docs/benchmarks``, and a page with their table between two marks.

    Args:
        name: of the command and its file.
        page: of the docs.
        table: from the figures to the table.
    """

    def __init__(self, name: str, page: str, table: Callable[[dict[str, Any]], str]) -> None:
        self.file, self.page, self._table = DOCS / f"benchmarks/{name}.json", DOCS / page, table
        self._begin, self._end = f"<!-- written by benchmarks/{name}.py -->\n", "<!-- until here -->\n"

    def read(self) -> dict[str, Any]:
        return json.loads(self.file.read_text(encoding="utf-8")) if self.file.exists() else {"rows": {}}

    def on_page(self, text: str, figures: dict[str, Any]) -> str:
        """The text of the page with the table of these figures.

        Raises:
            ValueError: the page has no place for it.
        """
        if self._begin not in text or self._end not in text:
            raise ValueError(f"{self.page.name} has no lines {self._begin.strip()} and {self._end.strip()}")
        between = f"(?s)(?<={re.escape(self._begin)}).*(?={re.escape(self._end)})"
        return re.sub(between, lambda _: self._table(figures), text)

    def write(self, figures: dict[str, Any]) -> None:
        self.file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        self.page.write_text(self.on_page(self.page.read_text(encoding="utf-8"), figures), encoding="utf-8")
