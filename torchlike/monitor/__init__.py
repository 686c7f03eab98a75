"""Events and statistics that a program hands to whoever has registered for them (``torch.monitor``)."""

from __future__ import annotations

import enum
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

__all__ = [
    "Aggregation", "Event", "EventHandlerHandle", "Stat", "TensorboardEventHandler", "data_value_t", "log_event",
    "register_event_handler", "unregister_event_handler",
]  # fmt: skip

data_value_t = int | float | bool | str  # of the values of an event


class Aggregation(enum.Enum):
    """What a statistic gives of the numbers that were added."""

    VALUE = 1
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6


class Event:
    """Something that happened: a name, a time, and values by name.

    Raises:
        TypeError: the time is no ``datetime``, or a value is of another type than int, float, bool or str.
    """

    def __init__(self, name: str, timestamp: datetime, data: Mapping[str, data_value_t]) -> None:
        fits = isinstance(name, str) and isinstance(timestamp, datetime)
        if not fits or not all(isinstance(value, (int, float, str)) for value in data.values()):
            raise TypeError(
                "__init__(): incompatible constructor arguments. The following argument types are supported:\n    1. "
                "torch._C._monitor.Event(name: str, timestamp: datetime.datetime, data: collections.abc.Mapping[str, data_value_t])"
            )
        self.name, self.timestamp, self.data = name, timestamp, dict(data)


class EventHandlerHandle:
    """What ``unregister_event_handler`` takes."""

    def __init__(self, handler: Callable[[Event], object]) -> None:
        self.handler = handler


class _Writer(Protocol):
    def add_scalar(self, tag: str, scalar_value: object, *, walltime: float) -> object: ...


class TensorboardEventHandler:
    """A handler that writes statistics as points of curves, by a ``torch.utils.tensorboard.SummaryWriter``.

    >>> from torchlike.monitor import TensorboardEventHandler, register_event_handler
    >>> from torchlike.utils.tensorboard import SummaryWriter
    >>> handle = register_event_handler(TensorboardEventHandler(SummaryWriter("log_dir")))  # doctest: +SKIP
    """

    def __init__(self, writer: _Writer) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        if event.name == "torch.monitor.Stat":
            for tag, value in event.data.items():
                self._writer.add_scalar(tag, value, walltime=event.timestamp.timestamp())


_handlers: list[EventHandlerHandle] = []


def register_event_handler(callback: Callable[[Event], object]) -> EventHandlerHandle:
    """From now on ``callback`` is called with each event that is logged.

    >>> import datetime
    >>> seen = []
    >>> handle = torch.monitor.register_event_handler(lambda event: seen.append(event.name))
    >>> torch.monitor.log_event(torch.monitor.Event("start", datetime.datetime.now(), {"epoch": 1}))
    >>> torch.monitor.unregister_event_handler(handle)
    >>> seen
    ['start']
    """
    handle = EventHandlerHandle(callback)
    _handlers.append(handle)
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """The callback is called no more."""
    if handler in _handlers:
        _handlers.remove(handler)


def log_event(event: Event) -> None:
    """Hands an event to all callbacks.

    Raises:
        TypeError: it is no event.
    """
    if not isinstance(event, Event):
        raise TypeError(
            "log_event(): incompatible function arguments. The following argument types are supported:\n    1. (event: "
            f"torch._C._monitor.Event) -> None\n\nInvoked with: {event!r}"
        )
    for handle in _handlers:
        handle.handler(event)


class Stat:
    """Numbers of a window of time, which is logged as an event once it is over, or once it has ``max_samples`` numbers.

    Args:
        name: begins the names of the event's values: ``name.sum``.
        aggregations: what is given of the numbers.
        window_size: how long a window is.
        max_samples: numbers beyond these are dropped until the window is over.
    """

    def __init__(
        self, name: str, aggregations: Sequence[Aggregation], window_size: timedelta, max_samples: int = sys.maxsize
    ) -> None:
        self.name, self._aggregations, self._most = name, tuple(aggregations), max_samples
        self._seconds = window_size.total_seconds()
        self._window = self._number_of_window()
        self._numbers: list[float] = []
        self._last: dict[Aggregation, float] = self._aggregated([])
        self._logged = False

    @property
    def count(self) -> int:
        """How many numbers were added since the last event."""
        return len(self._numbers)

    def add(self, v: float) -> None:
        """Adds a number."""
        number = float(v)
        self._end_window()
        if self._logged:
            return
        self._numbers.append(number)
        if len(self._numbers) >= self._most:
            self._log()

    def get(self) -> dict[Aggregation, float]:
        """What the last window that was logged gave; zeros before."""
        self._end_window()
        return dict(self._last)

    def _number_of_window(self) -> float:
        return time.time() // self._seconds if self._seconds else 0

    def _end_window(self) -> None:
        window = self._number_of_window()
        if window != self._window:
            if not self._logged:
                self._log()
            self._window, self._logged = window, False

    def _log(self) -> None:
        self._last, self._numbers, self._logged = self._aggregated(self._numbers), [], True
        values = {f"{self.name}.{each.name.lower()}": value for each, value in self._last.items()}
        log_event(Event("torch.monitor.Stat", datetime.now(), values))

    def _aggregated(self, numbers: list[float]) -> dict[Aggregation, float]:
        total = sum(numbers)
        found = {
            Aggregation.MEAN: total / len(numbers) if numbers else 0.0,
            Aggregation.COUNT: float(len(numbers)),
            Aggregation.SUM: float(total),
            Aggregation.MAX: max(numbers, default=0.0),
            Aggregation.MIN: min(numbers, default=0.0),
        }
        if numbers:
            found[Aggregation.VALUE] = numbers[-1]
        return {each: found[each] for each in self._aggregations if each in found}
