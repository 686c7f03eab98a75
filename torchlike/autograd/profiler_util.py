"""The content of a profile: events with their times, sums by name, and the printed table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "events_of_xla"]


@dataclass
class FunctionEvent:
    """Something that took time: a range of the program's, or an operation that XLA ran. Times are microseconds.

    ``thread`` is what ran it; events of one thread lie within each other or apart. ``self_time`` leaves out those within.
    """

    name: str
    start: float
    end: float
    thread: str
    device: str = "cpu"
    self_time: float = 0.0
    count: int = 1
    input_shapes: tuple[tuple[int, ...], ...] = ()
    memory: int = 0  # bytes of the results

    @property
    def key(self) -> str:
        """The name that it is summed under."""
        return "ProfilerStep*" if self.name.startswith("ProfilerStep#") else self.name

    def _on(self, device: bool, time: float) -> float:
        return time if (self.device != "cpu") is device else 0.0

    @property
    def cpu_memory_usage(self) -> int:
        return int(self._on(False, self.memory))

    @property
    def device_memory_usage(self) -> int:
        return int(self._on(True, self.memory))

    @property
    def cpu_time_total(self) -> float:
        return self._on(False, self.end - self.start)

    @property
    def self_cpu_time_total(self) -> float:
        return self._on(False, self.self_time)

    @property
    def device_time_total(self) -> float:
        return self._on(True, self.end - self.start)

    @property
    def self_device_time_total(self) -> float:
        return self._on(True, self.self_time)


_TOTALS = (
    "cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total", "cpu_memory_usage", "device_memory_usage",
)  # fmt: skip


@dataclass
class FunctionEventAvg:
    """The sum of all events of one name. Times are microseconds, memory is bytes."""

    key: str
    count: int = 0
    input_shapes: tuple[tuple[int, ...], ...] = ()
    cpu_memory_usage: int = 0
    device_memory_usage: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    device_time_total: float = 0.0
    self_device_time_total: float = 0.0

    @property
    def cpu_time(self) -> float:
        """On average."""
        return self.cpu_time_total / max(self.count, 1)

    @property
    def device_time(self) -> float:
        """On average."""
        return self.device_time_total / max(self.count, 1)

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Adds another event to the sum."""
        self.count += other.count
        for name in _TOTALS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


class EventList(list[Any]):
    """Events or their sums, in order.

    >>> from torchlike.autograd.profiler import profile, record_function
    >>> with profile() as prof:
    ...     with record_function("lines"):
    ...         x = torch.ones(2) + 1
    >>> [event.count for event in prof.key_averages() if event.key == "lines"]
    [1]
    """

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """The sums by name, or by name and shapes of inputs."""
        sums: dict[object, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else ()
            sums.setdefault((event.key, shapes), FunctionEventAvg(event.key, input_shapes=shapes)).add(event)
        return EventList(sums.values())

    def total_average(self) -> FunctionEventAvg:
        """The sum of all."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    @property
    def self_cpu_time_total(self) -> float:
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_name_column_width: int = 55,
        header: str | None = None,
    ) -> str:
        """The events as text, a line each.

        Args:
            sort_by: the attribute to sort by, largest first: ``"self_cpu_time_total"``, ``"count"``, ...
            row_limit: how many lines; -1 for all.
            header: a line above.
        """
        events = list(self)
        if sort_by is not None:
            attribute = sort_by.replace("cuda", "device")
            events.sort(key=lambda event: getattr(event, attribute), reverse=True)
        total = self.total_average()
        heads = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
        on_device = total.device_time_total > 0
        if on_device:
            heads += ["Self device", "Self device %", "Device total", "Device time avg"]
        memory = [name for name in ("cpu", "device") if getattr(total, f"{name}_memory_usage")]
        shapes = any(event.input_shapes for event in events)
        heads += [*({"cpu": "CPU Mem", "device": "Device Mem"}[name] for name in memory), "# of Calls"]
        heads += ["Input Shapes"] if shapes else []
        rows = []
        for event in events if row_limit < 0 else events[:row_limit]:
            name = event.key
            if len(name) > max_name_column_width:
                name = name[: max_name_column_width - 3] + "..."
            row = [name, *_shares(event, "cpu", total.self_cpu_time_total), _time(event.cpu_time_total / event.count)]
            if on_device:
                own_share, own_time, _, all_ = _shares(event, "device", total.self_device_time_total)
                row += [own_time, own_share, all_, _time(event.device_time_total / event.count)]
            row += [*(_bytes(getattr(event, f"{name}_memory_usage")) for name in memory), str(event.count)]
            rows.append([*row, str([list(shape) for shape in event.input_shapes])] if shapes else row)
        widths = [max(len(line[i]) for line in [heads, *rows]) for i in range(len(heads))]
        rule = "  ".join("-" * width for width in widths)
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in [heads, *rows]
        ]
        output = [*([header] if header else []), rule, lines[0], rule, *lines[1:], rule]
        output.append(f"Self CPU time total: {_time(total.self_cpu_time_total)}")
        if on_device:
            output.append(f"Self device time total: {_time(total.self_device_time_total)}")
        return "\n".join(output) + "\n"


def _shares(event: FunctionEventAvg, kind: str, whole: float) -> Iterator[str]:
    """Own time and all of it, each with what part of ``whole`` it is."""
    for time in (getattr(event, f"self_{kind}_time_total"), getattr(event, f"{kind}_time_total")):
        yield f"{100 * time / whole if whole else 0:.2f}%"
        yield _time(time)


def _bytes(count: int) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


def _time(microseconds: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


def with_self_times(events: Iterable[FunctionEvent]) -> list[FunctionEvent]:
    """The events in the order of their beginning, each with the time that it spent itself."""
    ordered = sorted(events, key=lambda event: (event.start, -event.end))
    within: dict[str, list[FunctionEvent]] = {}  # by thread, what has not ended yet
    for event in ordered:
        event.self_time = event.end - event.start
        around = within.setdefault(event.thread, [])
        while around and around[-1].end <= event.start:
            around.pop()
        if around:
            around[-1].self_time -= min(event.end, around[-1].end) - event.start
        around.append(event)
    return ordered


def events_of_xla(trace: dict[str, Any]) -> Iterator[FunctionEvent]:
    """The operations that XLA ran, from the trace that JAX has written for Chrome."""
    events = trace["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    streamed = {process for (process, _), name in threads.items() if name.startswith("Stream")}
    for event in events:
        if event.get("ph") != "X":  # what lasts
            continue
        process, thread = processes[event["pid"]], threads.get((event["pid"], event["tid"]), "")
        if process.startswith("/host:"):
            device, counts = "cpu", "hlo_op" in event.get("args", {}) and not event["name"].startswith("end: ")
        else:  # a device's other lines say the same again: a GPU's streams are there as "XLA Ops" too
            device = "device"
            counts = thread.startswith("Stream" if event["pid"] in streamed else "XLA Ops")
        if counts:
            yield FunctionEvent(event["name"], event["ts"], event["ts"] + event["dur"], f"{process} {thread}", device)
