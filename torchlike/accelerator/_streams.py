"""torch.Stream and torch.Event, for any type of device. Each device works in one order, so there is nothing to wait for."""

from __future__ import annotations

import time
from types import TracebackType

from .._core.annotations import DeviceLike
from .._core.devices import accelerator, device as device_, placement
from ..engine import flush
from ..engine.aval import wait_for

__all__ = ["Event", "Stream", "StreamContext"]


def _of(wish: DeviceLike | None) -> device_:
    place = accelerator() or device_("cpu") if wish is None else device_(wish)
    placement(place)  # which says where there is no such device
    return place


class Stream:
    """A stream of a device. There is one, which runs in order, so every wait is fulfilled already.

    Args:
        device: the accelerator, or the CPU where there is none.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.Stream.html
    """

    def __init__(self, device: DeviceLike | None = None, *, priority: int = 0) -> None:
        self.device = _of(device)
        self.device_index = -1 if self.device.index is None else self.device.index
        self.stream_id = 0

    def query(self) -> bool:
        """Runs what has been recorded; then all is done."""
        self.synchronize()
        return True

    def synchronize(self) -> None:
        """Waits until the device has done all."""
        _wait_for(self.device)

    def wait_event(self, event: Event) -> None:
        """Does nothing: there is one stream, which runs in order."""

    def wait_stream(self, stream: Stream) -> None:
        """Does nothing, as ``wait_event``."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event that is recorded now."""
        event = event or Event(self.device)
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.device == other.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        kind, index, number = self.device.type, self.device_index, self.stream_id
        return f"torch.Stream device_type={kind}, device_index={index}, stream_id={number}"


class Event:
    """A point in time: when all work of the device before it is done. Recording it waits for that work.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.Event.html
    """

    def __init__(
        self,
        device: DeviceLike | None = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        self.device = _of(device)
        self._timed = enable_timing
        self._at: float | None = None

    def record(self, stream: object = None) -> None:
        """Finishes all work, and notes the time."""
        _wait_for(self.device)
        self._at = time.perf_counter()

    def query(self) -> bool:
        """True: recording has waited."""
        return True

    def wait(self, stream: object = None) -> None:
        """Does nothing: what comes later runs later."""

    def synchronize(self) -> None:
        """Does nothing: recording has waited."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another."""
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._at is None or end_event._at is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return 1000 * (end_event._at - self._at)


class StreamContext:
    """Within it nothing changes; None is allowed."""

    def __init__(self, stream: object) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pass


def _wait_for(device: device_) -> None:
    flush()
    if device.type not in ("cpu", "meta"):
        wait_for([placement(device).device])
