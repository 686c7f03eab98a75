"""torch.profiler: profiles of the steps that a schedule picks, over JAX's profiler."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from .._core.devices import devices_of
from ..autograd import profiler as single
from ..autograd.profiler import record_function as record_function, refuse
from ..autograd.profiler_util import EventList

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


def kineto_available() -> bool:
    """Whether there is the profiler of this module: always. PyTorch's is called Kineto."""
    return True


class ProfilerAction(enum.Enum):
    """What a profiler does at a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(enum.Enum):
    """Whose events count."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


def supported_activities() -> set[ProfilerActivity]:
    """CPU, and CUDA where JAX sees a GPU."""
    return {ProfilerActivity.CPU} | ({ProfilerActivity.CUDA} if devices_of("cuda") else set())


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A function from the number of a step to what the profiler does there: over and over it waits, warms up, is active.

    Args:
        wait, warmup, active: how many steps of each there are in a cycle.
        repeat: how many cycles; 0 means no end.
        skip_first: steps before the first cycle.
        skip_first_wait: if not 0, the first cycle does not wait.

    >>> steps = torch.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [steps(number).name for number in range(4)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE']

    Source: https://docs.pytorch.org/docs/stable/profiler.html
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), active={active} "
            f"(need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        number, at = divmod(step - skip_first + (wait if skip_first_wait else 0), cycle)
        if (repeat and number >= repeat) or at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if at < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[profile], None]:
    """What to give a profiler as ``on_trace_ready``: writes each trace as a file of its own.

    Args:
        dir_name: the folder, made if it is not there.
        worker_name: the beginning of the files' names; None means host and process.
        use_gzip: whether the files are zipped.
        use_python_export: changes nothing here.
    """
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def handle(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        ending = ".pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns()}{ending}"))

    return handle


class profile:
    """A profiler: within it, or between ``start`` and ``stop``, what runs is watched, at all steps or those that a schedule picks.

    XLA fuses PyTorch's operations into its own, so those have XLA's names: ``dot_general.3``, ``multiply_add_fusion``. Ranges made by
    ``record_function`` stand beside them, with the time that their Python lines took.

    Args:
        activities: whose events count; None means all that there are.
        schedule: what to do at each step, made by ``schedule``; None means to record everything.
        on_trace_ready: called with the profiler when a cycle has been recorded.
        with_stack: whether calls of Python functions stand in the trace that ``export_chrome_trace`` writes.
        record_shapes: whether events have the shapes of their inputs.
        profile_memory: whether events have the memory that their results take.
        with_flops, with_modules and the others: not supported yet.

    With ``record_shapes`` or ``profile_memory``, operations are run one by one, and the events are they instead of XLA's: their times are
    then not those of the compiled program.

    Raises:
        NotImplementedError: an argument or an activity is not supported.

    >>> with torch.profiler.profile() as prof:
    ...     with torch.profiler.record_function("forward"):
    ...         x = torch.ones(2) + 1
    >>> [event.count for event in prof.key_averages() if event.key == "forward"]
    [1]

    Source: https://docs.pytorch.org/docs/stable/profiler.html
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., object] | None = None,
        with_stack: bool = False,
        record_shapes: bool = False,
        profile_memory: bool = False,
        use_cuda: bool | None = None,
        **options: object,
    ) -> None:
        refuse("torch.profiler.profile", options)
        kinds = supported_activities() if activities is None else set(activities)
        if use_cuda is not None:
            warnings.warn("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2)
            kinds = kinds | {ProfilerActivity.CUDA} if use_cuda else kinds - {ProfilerActivity.CUDA}
        if not kinds:
            raise AssertionError("No valid profiler activities found")
        for activity in kinds - {ProfilerActivity.CPU, ProfilerActivity.CUDA}:
            raise NotImplementedError(f"torchlike does not support torch.profiler.ProfilerActivity.{activity.name} yet")
        if ProfilerActivity.CUDA in kinds - supported_activities():
            warnings.warn("CUDA is not available, disabling CUDA profiling", UserWarning, stacklevel=2)
        self.activities, self.with_stack = kinds, with_stack
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self._schedule, self._on_trace_ready = schedule, on_trace_ready
        self.step_num = 0
        self._action = ProfilerAction.NONE
        self._step_range: record_function | None = None
        self._running = False
        self._metadata: dict[str, Any] = {}
        self.profiler: single.profile | None = None  # the last cycle's, or the one that is being recorded

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Begins with step 0."""
        self._go_on(self._at(self.step_num))

    def stop(self) -> None:
        """Ends; what is being recorded is a cycle too."""
        if self._action is ProfilerAction.NONE and self.profiler is None and self._schedule is None:
            raise AssertionError("Profiler must be initialized before stopping trace")
        self._end_step()
        if self._running:
            self._save()
        self._action = ProfilerAction.NONE

    def step(self) -> None:
        """Says that a step has ended and the next begins."""
        self._end_step()
        self.step_num += 1
        if self._running and self._action is ProfilerAction.RECORD_AND_SAVE:
            self._save()
        self._go_on(self._at(self.step_num))

    def _at(self, step: int) -> ProfilerAction:
        return ProfilerAction.RECORD if self._schedule is None else self._schedule(step)

    def _go_on(self, action: ProfilerAction) -> None:
        recording = action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if self._running and not recording:  # a schedule of the program's own may drop what it has
            self._stop()
        elif recording and not self._running:
            self.profiler = single.profile(
                use_cpu=ProfilerActivity.CPU in self.activities,
                use_cuda=ProfilerActivity.CUDA in self.activities,
                with_stack=self.with_stack,
                record_shapes=self.record_shapes,
                profile_memory=self.profile_memory,
            )
            self.profiler.__enter__()
            self._running = True
        self._action = action
        if self._schedule is not None:
            self._step_range = record_function(f"ProfilerStep#{self.step_num}")
            self._step_range.__enter__()

    def _end_step(self) -> None:
        if self._step_range is not None:
            self._step_range.__exit__(None, None, None)
            self._step_range = None

    def _stop(self) -> None:
        self._finished("stopping trace").__exit__(None, None, None)
        self._running = False

    def _save(self) -> None:
        self._stop()
        if self._on_trace_ready is not None:
            self._on_trace_ready(self)

    def _finished(self, to: str) -> single.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {to}")
        return self.profiler

    def events(self) -> EventList:
        """The events of the last cycle, in the order of their beginning."""
        return self._finished("accessing events").function_events

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """The sums of the last cycle's events by name, or by name and shapes. Grouping by stacks is not supported yet."""
        return self._finished("getting key averages").key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str) -> None:
        """Writes the last cycle's trace for chrome://tracing or Perfetto, zipped if the path ends in ``.gz``."""
        self._finished("exporting chrome trace").export_chrome_trace(path, self._metadata)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Not supported yet."""
        raise NotImplementedError("torchlike does not support torch.profiler.profile.export_stacks yet")

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Not supported yet: ``jax.profiler.save_device_memory_profile`` shows what memory holds at a moment."""
        raise NotImplementedError("torchlike does not support torch.profiler.profile.export_memory_timeline yet")

    def add_metadata(self, key: str, value: str) -> None:
        """An entry of the trace file."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """An entry of the trace file, given as JSON."""
        self._metadata[key] = json.loads(value)
