"""torch.autograd.profiler: one profile, made by JAX's profiler, and ranges with names in it."""

from __future__ import annotations

import contextlib
import gzip
import json
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import jax

from ..engine import Kernel, flush
from ..engine.recorder import set_op_by_op
from ..engine.report import observers
from .profiler_util import EventList, FunctionEvent, FunctionEventAvg, events_of_xla, with_self_times

__all__ = ["profile", "record_function"]

_running: list[profile] = []  # JAX makes one profile at a time


class record_function(contextlib.ContextDecorator):
    """A range with a name, in torchlike's profiles and in those of ``jax.profiler``; also a decorator.

    It measures the Python code inside it. The operations recorded there may run later; they have entries of their own, under XLA's names.

    Args:
        name: of the range.
        args: added to the name in the trace.

    >>> with torch.autograd.profiler.record_function("forward"):
    ...     x = torch.ones(2) + 1

    Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.profiler.record_function.html
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def _recreate_cm(self) -> record_function:  # a decorated function may call itself
        return type(self)(self.name, self.args)

    def __enter__(self) -> record_function:
        self._start = time.perf_counter_ns()
        self._annotation = jax.profiler.TraceAnnotation(self.name if self.args is None else f"{self.name}({self.args})")
        self._annotation.__enter__()
        return self

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._annotation.__exit__(type, value, traceback)
        for profile in _running:
            profile._take(self.name, self._start, time.perf_counter_ns())


class profile:
    """What runs within it, as XLA's operations and the program's named ranges.

    What runs op by op has the names of its operators. In what was compiled whole, XLA fuses them into operations of its own, with
    names such as ``dot_general.3`` and ``multiply_add_fusion``. Work that was recorded before is run first, and at the end all is
    waited for.

    Args:
        enabled: without it nothing is done.
        use_cpu: whether ranges and what ran on the CPU count.
        use_cuda, use_device: whether what ran on the accelerator counts.
        with_stack: whether calls of Python functions stand in the trace that ``export_chrome_trace`` writes.
        record_shapes: whether events have the shapes of their inputs.
        profile_memory: whether events have the memory that their results take.
        use_kineto: which of PyTorch's two recorders; here there is one.
        with_flops, with_modules and the others: not supported yet.

    XLA's fused operations know nothing of shapes and results of PyTorch's. So with one of these two, operations are run one by one, and the
    events are they: the times are then not those of the compiled program.

    Raises:
        RuntimeError: another profile is being made. NotImplementedError: an argument is not supported.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     x = torch.ones(2) + 1
    >>> "Self CPU time total" in prof.key_averages().table(sort_by="self_cpu_time_total")
    True

    Source: https://docs.pytorch.org/docs/stable/autograd.html#profiler
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        with_stack: bool = False,
        use_cpu: bool = True,
        record_shapes: bool = False,
        profile_memory: bool = False,
        use_kineto: bool = False,
        **options: object,
    ) -> None:
        refuse("torch.autograd.profiler.profile", options)
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.enabled, self.with_stack = enabled, with_stack
        self._kept = {"cpu"} if use_cpu else set()
        if use_cuda or use_device is not None:
            self._kept.add("device")
        self._ranges: list[FunctionEvent] = []
        self._trace = b""  # for Chrome
        self._events: EventList | None = None

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        flush()
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = int(self.with_stack)
        self._folder = tempfile.mkdtemp()
        try:
            jax.profiler.start_trace(self._folder, profiler_options=options)
        except RuntimeError:  # another one is being made
            shutil.rmtree(self._folder)
            raise
        self._start = time.perf_counter_ns()
        _running.append(self)
        observers.append(self._take_operation)
        self._op_by_op_before = set_op_by_op(True) if self._one_by_one else None
        return self

    @property
    def _one_by_one(self) -> bool:
        return self.record_shapes or self.profile_memory

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self.enabled:
            return
        try:
            flush()
            jax.block_until_ready(jax.live_arrays())
        finally:
            if self._op_by_op_before is not None:
                set_op_by_op(self._op_by_op_before)
            _running.remove(self)
            observers.remove(self._take_operation)
            jax.profiler.stop_trace()
            folder = Path(self._folder)
            self._trace = gzip.decompress(next(folder.rglob("*.trace.json.gz")).read_bytes())
            shutil.rmtree(folder)

    def _take(self, name: str, start: int, end: int) -> None:
        """Records a range that has ended, unless it began before the profile."""
        if start >= self._start:
            thread = f"thread {threading.get_ident()}"
            self._ranges.append(self._event(name, thread, start, end))

    def _event(self, name: str, thread: str, start: int, end: int) -> FunctionEvent:
        return FunctionEvent(len(self._ranges), name, thread, (start - self._start) / 1e3, (end - self._start) / 1e3)

    def _take_operation(self, kernel: Kernel, start: int, results: object) -> None:
        """An operation that has run by itself. What XLA ran is in its own events, unless these are not wanted."""
        arrays = jax.tree.leaves(results)
        by_xla = any(isinstance(array, jax.Array) for array in arrays)
        if start < self._start or (by_xla and not self._one_by_one):
            return
        end = time.perf_counter_ns() if not by_xla else _when_ready(arrays)
        event = self._event(kernel.name, f"thread {threading.get_ident()}", start, end)
        if kernel.out_avals and kernel.out_avals[0].placement.platform != "cpu":
            event.device = "device"
        if self.record_shapes:
            event.input_shapes = tuple(aval.shape for aval in kernel.in_avals)
        if self.profile_memory:
            event.memory = sum(aval.nbytes for aval in kernel.out_avals)
        self._ranges.append(event)

    @property
    def function_events(self) -> EventList:
        """All events, in the order of their beginning.

        Raises:
            RuntimeError: the profile has not ended.
        """
        if not self._trace:
            raise RuntimeError("Profiler didn't finish running")
        if self._events is None:
            events = [*self._ranges, *([] if self._one_by_one else events_of_xla(json.loads(self._trace)))]
            self._events = EventList(with_self_times(event for event in events if event.device in self._kept))
            self._events._populate_cpu_children()
        return self._events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The sums of events by name, or by name and shapes of inputs. Grouping by stacks is not supported yet."""
        refuse("key_averages", {"group_by_stack_n": group_by_stack_n})
        return self.function_events.key_averages(group_by_input_shape)

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The time spent on the CPU, in microseconds."""
        return self.function_events.self_cpu_time_total

    def table(self, *args: Any, **kwargs: object) -> str:
        """The events as text: see ``EventList.table``."""
        return self.function_events.table(*args, **kwargs)

    def export_chrome_trace(self, path: str, metadata: Mapping[str, list[object]] | None = None) -> None:
        """Writes the trace for chrome://tracing or Perfetto, zipped if the path ends in ``.gz``.

        Args:
            metadata: entries to add to the file's own.
        """
        if not self._trace:
            raise RuntimeError("Profiler didn't finish running")
        text = self._trace
        if metadata:
            text = json.dumps(json.loads(text) | metadata).encode()
        Path(path).write_bytes(gzip.compress(text) if str(path).endswith(".gz") else text)


def _when_ready(arrays: list[object]) -> int:
    jax.block_until_ready(arrays)
    return time.perf_counter_ns()


class emit_nvtx:
    """Within it, each operation would be marked for NVIDIA's profilers. XLA marks its programs itself.

    Raises:
        NotImplementedError: always, unless it is not enabled.
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx:
        if self.enabled:
            raise NotImplementedError(
                "torchlike does not support torch.autograd.profiler.emit_nvtx: nsys shows the programs that XLA runs by itself"
            )
        return self

    def __exit__(self, *exc: object) -> None:
        pass


def refuse(where: str, options: Mapping[str, object]) -> None:
    """NotImplementedError for the first option that asks for something."""
    for name, value in options.items():
        if name not in UNSUPPORTED:
            raise TypeError(f"{where.rpartition('.')[2]}() got an unexpected keyword argument '{name}'")
        if value:
            raise NotImplementedError(f"torchlike does not support {where}({name}=) yet")


# Arguments of PyTorch's profilers that ask for what XLA's fused operations do not tell, or for parts of PyTorch's own profiler.
UNSUPPORTED = (
    "with_flops", "with_modules", "experimental_config", "execution_trace_observer",
    "acc_events", "custom_trace_id_callback", "post_processing_timeout_s", "activity_filters", "group_by_stack_n",
)  # fmt: skip
