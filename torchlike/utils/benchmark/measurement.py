"""Measurements: the times of a statement, their statistics and their text."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = [
    "Measurement",
    "TaskSpec",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "trim_sigfig",
    "unit_to_english",
]

# A quarter of this much of the median, as the interquartile range, is worth a warning.
_WIDE = 0.1
_MIN_CONFIDENCE, _MAX_FIGURES = 1, 5


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """The task of a measurement: the statement, its set-up, and its labels in tables."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label and sub-label, or the statement where there is no label."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self) -> str:
        """The set-up, if there is any to show."""
        if self.setup == "pass" or not self.setup:
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and set-up."""
        sections = [self.title, self.description or "", self.setup_str()]
        return "\n".join([f"{section}\n" if "\n" in section else section for section in sections if section])


_TASK = tuple(field.name for field in dataclasses.fields(TaskSpec))


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """The times of one statement. ``raw_times`` are those of ``number_per_run`` runs each.

    Source: https://docs.pytorch.org/docs/stable/benchmark_utils.html#torch.utils.benchmark.Measurement
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[object, object] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _TASK:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """Seconds for one run, each time."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        """The median of ``times``."""
        self._need_times()
        return float(np.median(self.times))

    @property
    def mean(self) -> float:
        """The mean of ``times``."""
        self._need_times()
        return float(np.mean(self.times))

    @property
    def iqr(self) -> float:
        """The range in which the middle half of ``times`` lies."""
        low, high = self._quartiles()
        return high - low

    def _need_times(self) -> None:
        if not self.raw_times:
            raise ValueError("No measurements.")

    def _quartiles(self) -> tuple[float, float]:
        self._need_times()
        low, high = np.quantile(self.times, (0.25, 0.75))
        return float(low), float(high)

    @property
    def significant_figures(self) -> int:
        """The number of significant digits of the median, by the confidence interval of the mean."""
        n = len(self.raw_times)
        spread = float(np.subtract(*np.quantile(self.times, (0.75, 0.25))))
        interval = max(1.645 * spread / 1.349 / math.sqrt(n), self.median / 10**_MAX_FIGURES) if n else 1.0
        relative = math.log10(self.median / interval) if interval else _MAX_FIGURES
        return min(max(math.floor(relative), 1), _MAX_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """Whether the times differ by more than they should."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the middle half of the times lies within this part of the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        return self.task_spec.title

    @property
    def env(self) -> str | None:
        return self.task_spec.env

    @property
    def as_row_name(self) -> str:
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        lines = [f"{object.__repr__(self)}", self.task_spec.summarize()]
        self._need_times()
        unit, scale = select_unit(self.median)
        n = len(self.raw_times)
        if n == 1:
            lines.append(f"  {self.median / scale:.2f} {unit}")
        else:
            lines.append(f"  Median: {self.median / scale:.2f} {unit}")
        if n >= 4:
            low, high = self._quartiles()
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low / scale:.2f} to {high / scale:.2f})")
        runs = f"{self.number_per_run} runs {'per measurement' if n > 1 else ''}"
        threads = f"{self.task_spec.num_threads} thread{'s' if self.task_spec.num_threads > 1 else ''}"
        lines.append(f"  {n} measurement{'s' if n > 1 else ''}, {runs}, {threads}")
        ratio = self.iqr / self.median
        if ratio >= _WIDE:
            lines.append(f"  WARNING: Interquartile range is {ratio * 100:.1f}% of the median measurement.")
            warning = (
                "suggests significant environmental influence."
                if ratio >= 0.25
                else "could indicate system fluctuation."
            )
            lines.append(f"           This {warning}")
        return "\n".join(lines)

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Merges measurements of the same task: one measurement for each, with all times, for one run each."""
        grouped: dict[TaskSpec, list[Measurement]] = {}
        for measurement in measurements:
            grouped.setdefault(measurement.task_spec, []).append(measurement)
        return [
            Measurement(1, [time for one in group for time in one.times], task, None) for task, group in grouped.items()
        ]


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time is printed, and its seconds.

    >>> from torchlike.utils.benchmark import select_unit
    >>> select_unit(3e-5)
    ('us', 1e-06)
    """
    power = int(min(max(math.floor(math.log10(t) / 3), -3), 0)) if t > 0 else -3
    return {0: "s", -1: "ms", -2: "us", -3: "ns"}[power], 10.0 ** (3 * power)


def unit_to_english(u: str) -> str:
    """The name of a unit."""
    return {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}[u]


def trim_sigfig(x: float, n: int) -> float:
    """A number with so many significant figures."""
    if x == 0:
        return x
    scale = 10 ** (math.ceil(math.log10(abs(x))) - n)
    return float(round(x / scale) * scale)


def ordered_unique(elements: Iterable[object]) -> list[Any]:
    """The distinct elements in the order in which they first come."""
    return list(dict.fromkeys(elements))


class set_torch_threads:
    """Within it, operations are to use this many threads: see ``torch.set_num_threads``."""

    def __init__(self, n: int) -> None:
        self.wanted = n

    def __enter__(self) -> None:
        from ...ops.settings.switches import get_num_threads, set_num_threads

        self.before = get_num_threads()
        set_num_threads(self.wanted)

    def __exit__(self, *exc: object) -> None:
        from ...ops.settings.switches import set_num_threads

        set_num_threads(self.before)
