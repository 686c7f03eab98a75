"""torch.cuda.streams: on a GPU, XLA runs what it is given in one order; streams and events are kept for programs that use them."""

from __future__ import annotations

from .._core.annotations import DeviceLike
from .._core.devices import as_device as device_
from ..accelerator._streams import Event as _Event, Stream as _Stream, StreamContext as _StreamContext
from .devices import current_device, jax_device

__all__ = ["Event", "Stream", "StreamContext", "current_stream", "default_stream", "set_stream", "stream"]


class Stream(_Stream):
    """A stream of a GPU. There is one, which runs in order, so every wait is fulfilled already.

    Raises:
        RuntimeError: there is no GPU.
    """

    def __init__(self, device: DeviceLike | None = None, priority: int = 0, **kwargs: object) -> None:
        jax_device(device)
        super().__init__(device_("cuda", current_device() if device is None else device_(device).index or 0))
        self.priority = priority

    def record_event(self, event: Event | None = None) -> Event:
        """An event that is recorded now."""
        event = event or Event()
        event.record(self)
        return event


class Event(_Event):
    """A point in time: when all work of the GPU before it is done. Recording it waits for that work.

    Raises:
        RuntimeError: there is no GPU, or it is asked for a time that was not recorded.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        jax_device(None)
        super().__init__("cuda", enable_timing=enable_timing)


class StreamContext(_StreamContext):
    """Within it nothing changes; None is allowed."""


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
