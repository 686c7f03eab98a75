"""torch.cpu: the CPU as a device among others. It does what it is told in order, so streams and events have nothing to wait for."""

from __future__ import annotations

import time
from types import TracebackType

from .._core.annotations import DeviceLike
from ..engine import flush
from . import amp as amp

__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "is_available", "is_initialized",
    "set_device", "stream", "synchronize",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is a CPU: yes."""
    return True


def is_initialized() -> bool:
    """Whether the CPU is ready: yes."""
    return True


def device_count() -> int:
    """How many CPUs there are as devices: one."""
    return 1


def current_device() -> str:
    """The name of the device: "cpu"."""
    return "cpu"


def set_device(device: DeviceLike) -> None:
    """Does nothing: there is one CPU."""


def synchronize(device: DeviceLike | None = None) -> None:
    """Runs what has been recorded so far."""
    flush()


class Stream:
    """The one order in which the CPU works."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Stream) -> None:
        """Does nothing: what was asked for first is done first."""

    def record_event(self) -> None:
        """Does nothing, as ``wait_stream``."""

    def wait_event(self, event: Event) -> None:
        """Does nothing, as ``wait_stream``."""


class Event:
    """A moment: when all that was asked for before is done. Recording it runs that."""

    def __init__(self, enable_timing: bool = False) -> None:
        self._timed = enable_timing
        self._at: float | None = None

    def query(self) -> bool:
        """True: recording has waited."""
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Runs what has been recorded so far, and notes the time."""
        flush()
        self._at = time.perf_counter()

    def synchronize(self) -> None:
        """Does nothing: recording has waited."""

    def wait(self, stream: Stream | None = None) -> None:
        """Does nothing: what comes later runs later."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another."""
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._at is None or end_event._at is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return 1000 * (end_event._at - self._at)


_stream = Stream()


class StreamContext:
    """Within it nothing changes; None is allowed."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pass


def stream(stream: Stream | None) -> StreamContext:
    """A context that names a stream: there is one order of work whatever it names."""
    return StreamContext(stream)


def current_stream(device: DeviceLike | None = None) -> Stream:
    """The stream of the CPU."""
    return _stream
