"""Events and statistics of monitor. The numbers are PyTorch's."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from torchlike import monitor
from torchlike.monitor import Aggregation as A, Event, Stat


@pytest.fixture
def events():
    seen: list[Event] = []
    handle = monitor.register_event_handler(seen.append)
    yield seen
    monitor.unregister_event_handler(handle)
    monitor.log_event(Event("late", datetime(2020, 1, 1), {}))
    assert "late" not in [event.name for event in seen]


def test_an_event_reaches_its_handlers(events):
    monitor.log_event(Event("e", datetime(2020, 1, 1), {"a": 1, "b": "x"}))
    assert [(event.name, event.data, event.timestamp.year) for event in events] == [("e", {"a": 1, "b": "x"}, 2020)]
    wrong: Any = 3
    for call in (lambda: Event("e", wrong, {}), lambda: monitor.log_event(wrong)):
        with pytest.raises(TypeError, match="incompatible"):
            call()


def test_a_statistic_is_logged_when_it_is_full(events):
    stat = Stat("s", [A.SUM, A.COUNT, A.MEAN, A.MAX, A.MIN], timedelta(days=9999), 3)
    assert set(stat.get().values()) == {0.0}
    stat.add(2)
    stat.add(5.5)
    assert stat.count == 2 and stat.get()[A.SUM] == 0 and not events
    stat.add(1)
    assert stat.count == 0 and stat.get()[A.SUM] == 8.5 and stat.get()[A.MEAN] == 8.5 / 3
    assert events[0].name == "torch.monitor.Stat"
    assert events[0].data == {"s.sum": 8.5, "s.count": 3.0, "s.mean": 8.5 / 3, "s.max": 5.5, "s.min": 1.0}
    stat.add(9)  # not in this window any more
    assert stat.count == 0 and len(events) == 1


def test_statistics_become_points_of_curves():
    class Writer:
        points: list[tuple[Any, ...]] = []

        def add_scalar(self, tag: str, scalar_value: object, *, walltime: float):
            self.points.append((tag, scalar_value, walltime))

    writer, when = Writer(), datetime(2020, 1, 1)
    handle = monitor.register_event_handler(monitor.TensorboardEventHandler(writer))
    try:
        monitor.log_event(Event("torch.monitor.Stat", when, {"s.sum": 3.0, "s.count": 2.0}))
        monitor.log_event(Event("other", when, {"s": 1}))
    finally:
        monitor.unregister_event_handler(handle)
    assert writer.points == [("s.sum", 3.0, when.timestamp()), ("s.count", 2.0, when.timestamp())]
