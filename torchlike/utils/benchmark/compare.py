"""Compare: measurements as a table, a row for each statement and a column for each description."""

from __future__ import annotations

import enum
import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any

from .measurement import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]

_BEST, _GOOD, _BAD, _VERY_BAD, _BOLD, _END = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m", "\033[1m", "\033[0m"


class Colorize(enum.Enum):
    """The scope of a colour scale: the whole table, a column or a row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Prints measurements in tables: one for each label, its rows the sub-labels and threads, its columns the descriptions.

    Source: https://docs.pytorch.org/docs/stable/benchmark_utils.html#torch.utils.benchmark.Compare
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = False
        self._colorize = Colorize.NONE
        self._highlight = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Adds measurements."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
            self._results.append(result)

    def trim_significant_figures(self) -> None:
        """From now on shows only the figures that mean something."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """From now on colours the best and the worst times of a column, or of a row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """From now on marks times that differ by more than they should."""
        self._highlight = True

    def print(self) -> None:
        """Prints the tables."""
        print(str(self))  # noqa: T201  # which is what it is for

    def __str__(self) -> str:
        labels: dict[str, list[Measurement]] = {}
        for result in Measurement.merge(self._results):
            labels.setdefault(result.task_spec.title if result.label is None else result.label, []).append(result)
        return "\n".join(self._table(label, group) for label, group in labels.items())

    def _table(self, label: str, results: list[Measurement]) -> str:
        unit, scale = select_unit(min(result.median for result in results))
        rows = ordered_unique(_row(result) for result in results)
        rows.sort(key=lambda row: row[:2])
        columns = ordered_unique(result.description for result in results)
        cells = {(_row(result), result.description): result for result in results}
        columns_of_text = [self._column([cells.get((row, name)) for row in rows], name, scale) for name in columns]
        places = [list(place) for place in zip(*[texts for texts, _ in columns_of_text], strict=True)]
        self._colour(places, [[cells.get((row, name)) for name in columns] for row in rows])
        names = [("      " if len(rows) else "") + row[2] for row in rows]
        envs = ordered_unique(row[1] for row in rows)
        width = max(len(name) for name in names)
        lines: list[Any] = ["  |  ".join([" " * width, *[header for _, header in columns_of_text]])]
        before = None
        for row, name, texts in zip(rows, names, places, strict=True):
            if row[:2] != before:
                before = row[:2]
                lines.append((row[0], row[1] if len(envs) > 1 else None))
            lines.append("  |  ".join([name.ljust(width), *texts]))
        total = max(len(_plain(line)) for line in lines if isinstance(line, str))
        full = [line if isinstance(line, str) else _threads(*line).ljust(total, "-") for line in lines]
        head = f" {label} "
        dashes = total - len(head) - 2
        title = f"[{'-' * max(dashes // 2, 0)}{head}{'-' * max(dashes - dashes // 2, 0)}]"
        text = [title, *full, "", f"Times are in {unit_to_english(unit)}s ({unit})."]
        if self._highlight:
            text.append("(! XX%) Measurement has high variance, where XX is the IQR / median * 100.")
        return "\n".join([*text, ""])

    def _column(self, results: list[Measurement | None], name: Any, scale: float) -> tuple[list[str], str]:
        """The texts of a column, all of one width, and its header."""
        there = [result for result in results if result is not None]
        figures = max(result.significant_figures for result in there)
        digits = [1]
        if self._trim:
            digits = [
                max(figures - 1 - math.floor(math.log10(result.median / scale)), 0) if result.median else 0
                for result in there
            ]
        point = max(digits)
        numbers = [
            None if one is None else (trim_sigfig(one.median, one.significant_figures) if self._trim else one.median) / scale
            for one in results
        ]  # fmt: skip
        texts = ["" if number is None else f"{number:.{point}f}" for number in numbers]
        widest = max(map(len, texts))
        texts = [text.rjust(widest) for text in texts]
        if self._highlight and any(result.has_warnings for result in there):
            marks = [
                f" (! {one.iqr / one.median * 100:.0f}%)" if one is not None and one.has_warnings else "" for one in results
            ]  # fmt: skip
            longest = max(map(len, marks))
            texts = [text + mark.ljust(longest) for text, mark in zip(texts, marks, strict=True)]
        header = name or ""
        widest = max(len(header), *map(len, texts))
        return [text.center(widest) if len(text) < widest else text for text in texts], header.center(widest)

    def _colour(self, places: list[list[str]], results: list[list[Measurement | None]]) -> None:
        if self._colorize is Colorize.NONE:
            return
        rowwise = self._colorize is Colorize.ROWWISE
        groups = results if rowwise else [list(column) for column in zip(*results, strict=True)]
        best = [min((one.median for one in group if one is not None), default=0.0) for group in groups]
        for i, j in itertools.product(range(len(results)), range(len(results[0]))):
            result = results[i][j]
            if result is None:
                continue
            paint = _paint(result.median, best[i if rowwise else j])
            stripped = places[i][j].lstrip(" ") if self._highlight else places[i][j].strip(" ")
            places[i][j] = places[i][j].replace(stripped, paint(stripped))


def _paint(value: float, best: float) -> Callable[[str], str]:
    if value <= best * 1.001:
        start = _BEST + _BOLD
    elif value <= best * 1.1:
        start = _GOOD + _BOLD
    elif value <= best * 2:
        return lambda text: text
    elif value <= best * 4:
        start = _BAD
    else:
        start = _VERY_BAD + _BOLD
    return lambda text: f"{start}{text}{_END}{_END if start.count(chr(27)) > 1 else ''}"


def _plain(text: str) -> str:
    for code in (_BEST, _GOOD, _BAD, _VERY_BAD, _BOLD, _END):
        text = text.replace(code, "")
    return text


def _row(result: Measurement) -> tuple[int, str, str]:
    return result.num_threads, result.task_spec.env or "", result.as_row_name


def _threads(count: int, env: str | None) -> str:
    return f"{count} threads: " if not env else f"{env}: {count} threads: "
