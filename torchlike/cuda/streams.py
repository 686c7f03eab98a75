"""torch.cuda.streams: on a GPU, XLA runs what it is given in one order; streams and events are kept for programs that use them."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

from .._core.annotations import DeviceLike
from .._core.devices import device as device_
from .devices import current_device, one, synchronize

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream"]


class Stream:
    """The one order in which a GPU works: whatever is said of waiting is so already.

    Raises:
        RuntimeError: there is no GPU.
    """

    def __init__(self, device: DeviceLike | None = None, priority: int = 0, **kwargs: object) -> None:
        one(device)
        self.priority = priority
        self.device_index = current_device() if device is None else device_(device).index or 0

    @property
    def device(self) -> Any:
        return device_("cuda", self.device_index)

    def synchronize(self) -> None:
        """Waits until the GPU has done all."""
        synchronize(self.device)

    def query(self) -> bool:
        """Waits until the GPU has done all; then all is done."""
        self.synchronize()
        return True

    def wait_stream(self, stream: Stream) -> None:
        """Does nothing: the other's work comes first if it was given first."""

    def wait_event(self, event: Event) -> None:
        """Does nothing, as ``wait_stream``."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event that is recorded now."""
        event = event or Event()
        event.record(self)
        return event


class Event:
    """A moment: when all that the GPU was given before is done. Recording it waits for that.

    Raises:
        RuntimeError: there is no GPU, or it is asked for a time that was not recorded.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        one(None)
        self._at: float | None = None
        self._timed = enable_timing

    def record(self, stream: Stream | None = None) -> None:
        """Finishes all work, and notes the time."""
        synchronize()
        self._at = time.perf_counter()

    def synchronize(self) -> None:
        """Does nothing: recording has waited."""

    def query(self) -> bool:
        """True: recording has waited."""
        return True

    def wait(self, stream: Stream | None = None) -> None:
        """Does nothing: what comes later runs later."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another."""
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._at is None or end_event._at is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return 1000 * (end_event._at - self._at)


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
    """The stream of a GPU."""
    return Stream(device)


def default_stream(device: DeviceLike | None = None) -> Stream:
    """The stream of a GPU."""
    return Stream(device)


def set_stream(stream: Stream) -> None:
    """Does nothing: there is one order of work."""
