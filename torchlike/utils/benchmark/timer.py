"""Timer: measures the time of a statement, including the computation of the operations that it records."""

from __future__ import annotations

import enum
import textwrap
import time
import timeit as python_timeit
from collections.abc import Callable, Mapping
from typing import Any

from .measurement import Measurement, TaskSpec, set_torch_threads

__all__ = ["Language", "Timer", "timer"]


class Language(enum.Enum):
    """The language of a statement."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """Computes all recorded operations on all devices, and returns the time in seconds."""
    from ...engine import flush
    from ...engine.aval import jax_devices, started, wait_for

    flush()
    if started():
        wait_for(jax_devices())
    return time.perf_counter()


class Timer:
    """Measures a statement of Python, as ``timeit.Timer`` does, after warm-up, on a number of threads.

    A statement that computes tensors is measured until they are computed, although the operations themselves only record.

    Args:
        stmt: the statement to measure; ``setup`` runs before it, and ``globals`` are the names for both.
        label: with ``sub_label``, ``description`` and ``env``, where the result stands in tables of ``Compare``.
        num_threads: the number of threads that operations may use.

    >>> from torchlike.utils.benchmark import Timer
    >>> Timer("x + x", globals={"x": torch.ones(10)}).timeit(10).number_per_run
    10

    Source: https://docs.pytorch.org/docs/stable/benchmark_utils.html#torch.utils.benchmark.Timer
    """

    _timer_cls = python_timeit.Timer

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: Mapping[str, object] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "cpp", "c++"):
            raise NotImplementedError("torchlike does not measure statements in C++: it compiles no C++")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                "global_setup is C++ only and runs at the file scope. For Python, do global_setup in `setup`."
            )
        stmt, setup = (textwrap.dedent(text).strip() for text in (stmt, setup))
        names = dict(globals or {})
        import importlib

        package = __name__.partition(".")[0]

        names.setdefault("torch", importlib.import_module(package))
        self._globals = names
        self._timer = self._timer_cls(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)  # the clock may not have advanced; avoid a division by 0

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number_per_run=number, raw_times=times, task_spec=self._task_spec)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Measures the time of ``number`` runs, after a hundredth as many runs to warm up."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timeit(max(int(number // 100), 2))
            return self._measured(number, [self._timeit(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raises NotImplementedError, as in PyTorch: see ``blocked_autorange``."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Callable[[int, float], object] | None = None) -> None:
        """Raises NotImplementedError, as in PyTorch: see ``blocked_autorange``."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _threaded_measurement_loop(
        self,
        number: int,
        time_hook: Callable[[], float],
        stop_hook: Callable[[list[float]], bool],
        min_run_time: float,
        max_run_time: float | None = None,
        callback: Callable[[int, float], object] | None = None,
    ) -> list[float]:
        total, times = 0.0, []
        with set_torch_threads(self._task_spec.num_threads):
            while total < min_run_time or not stop_hook(times):
                spent = time_hook()
                times.append(spent)
                total += spent
                if callback is not None:
                    callback(number, spent)
                if max_run_time is not None and total > max_run_time:
                    break
        return times

    def _estimate_block_size(self, min_run_time: float) -> int:
        """The number of runs in a block that is long compared with the overhead of the clock."""
        with set_torch_threads(self._task_spec.num_threads):
            overhead = sorted(self._timeit(0) for _ in range(5))[2]
            number = 1
            while True:
                spent = self._timeit(number)
                if (overhead / spent <= 1e-4 and spent >= min_run_time / 1000) or spent > min_run_time:
                    return number
                number *= 10

    def blocked_autorange(
        self, callback: Callable[[int, float], object] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """The times of blocks of runs, which together take at least ``min_run_time`` seconds. It finds a size of blocks itself."""
        number = self._estimate_block_size(min_run_time)
        times = self._threaded_measurement_loop(
            number, lambda: self._timeit(number), lambda _: True, min_run_time, callback=callback
        )
        return self._measured(number, times)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], object] | None = None,
    ) -> Measurement:
        """As ``blocked_autorange``, until the middle half of the times lies within ``threshold`` of the median, or time is over."""
        number = self._estimate_block_size(0.05)

        def enough(times: list[float]) -> bool:
            return len(times) > 3 and self._measured(number, times).meets_confidence(threshold)

        times = self._threaded_measurement_loop(
            number, lambda: self._timeit(number), enough, min_run_time, max_run_time, callback
        )
        return self._measured(number, times)

    def collect_callgrind(self, number: int = 100, **options: object) -> Any:
        """Raises NotImplementedError: instructions are not counted."""
        raise NotImplementedError(
            "torchlike does not count instructions by Callgrind: Timer.blocked_autorange measures time"
        )
