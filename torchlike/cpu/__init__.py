"""torch.cpu: the CPU as a device. It runs everything in order, so streams and events have nothing to wait for."""

from __future__ import annotations

from .._core.annotations import DeviceLike
from ..accelerator._streams import Event as _Event, StreamContext as _StreamContext
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
    """The number of CPU devices: 1."""
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
        """Does nothing: there is one stream, which runs in order."""

    def record_event(self) -> None:
        """Does nothing, as ``wait_stream``."""

    def wait_event(self, event: Event) -> None:
        """Does nothing, as ``wait_stream``."""


class Event(_Event):
    """A point in time: when all work before it is done. Recording it waits for that work."""

    def __init__(self, enable_timing: bool = False) -> None:
        super().__init__("cpu", enable_timing=enable_timing)


class StreamContext(_StreamContext):
    """Within it nothing changes; None is allowed."""


_stream = Stream()


def stream(stream: Stream | None) -> StreamContext:
    """A context that names a stream: there is one order of work whatever it names."""
    return StreamContext(stream)


def current_stream(device: DeviceLike | None = None) -> Stream:
    """The stream of the CPU."""
    return _stream
