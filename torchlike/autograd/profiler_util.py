"""The content of a profile: events with their times, sums by name, and the printed table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "events_of_xla"]


class Interval(NamedTuple):
    """When an event began and ended, in microseconds."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        return self.end - self.start


@dataclass
class FunctionEvent:
    """Something that took time: a range of the program's, or an operation that XLA ran. Times are microseconds.

    ``thread`` is what ran it; events of one thread lie within each other or apart. ``self_time`` leaves out those within: None until it
    is known.
    """

    id: int
    name: str
    thread: object
    start_us: float
    end_us: float
    _: KW_ONLY
    device: str = "cpu"
    self_time: float | None = None
    count: int = 1
    input_shapes: tuple[tuple[int, ...], ...] = ()
    memory: int = 0  # bytes of the results
    node_id: int = -1
    is_async: bool = False
    sequence_nr: int = -1
    cpu_children: list[FunctionEvent] = field(default_factory=list, repr=False, compare=False)
    cpu_parent: FunctionEvent | None = field(default=None, repr=False, compare=False)

    @property
    def time_range(self) -> Interval:
        return Interval(self.start_us, self.end_us)

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Notes an event within this one."""
        self.cpu_children.append(child)
        child.cpu_parent = self

    def _own_time(self) -> float:
        if self.self_time is not None:
            return self.self_time
        return self.end_us - self.start_us - sum(child.end_us - child.start_us for child in self.cpu_children)

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
        return self._on(False, self.end_us - self.start_us)

    @property
    def self_cpu_time_total(self) -> float:
        return self._on(False, self._own_time())

    @property
    def device_time_total(self) -> float:
        return self._on(True, self.end_us - self.start_us)

    @property
    def self_device_time_total(self) -> float:
        return self._on(True, self._own_time())


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
    cpu_parent: FunctionEvent | None = None  # of the first

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
        self.cpu_parent = other.cpu_parent if self.count == 0 else self.cpu_parent
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

    def __init__(
        self, *args: Any, use_device: str | None = None, profile_memory: bool = False, with_flops: bool = False
    ) -> None:
        super().__init__(*args)

    def _populate_cpu_children(self) -> None:
        """Notes which event of a thread of the CPU lies within which; those that end after an earlier one are apart from it."""
        around: dict[object, list[FunctionEvent]] = {}
        events = [event for event in self if not event.is_async and event.device == "cpu"]
        for event in sorted(events, key=lambda event: (event.start_us, -event.end_us)):
            within = around.setdefault((event.thread, event.node_id), [])
            while within and (event.start_us >= within[-1].end_us or event.end_us > within[-1].end_us):
                within.pop()
            if within:
                within[-1].append_cpu_child(event)
            within.append(event)

    def key_averages(self, group_by_input_shapes: bool = False) -> EventList:
        """The sums by name, or by name and shapes of inputs."""
        sums: dict[object, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shapes else ()
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
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as text, a line each.

        Args:
            sort_by: the attribute to sort by, largest first: ``"self_cpu_time_total"``, ``"count"``, ...
            row_limit: how many lines; -1 for all.
            max_name_column_width, max_shapes_column_width: longer names and shapes are cut off. Sources are not shown.
            header: a line above.
            top_level_events_only: leaves out what lies within another event.
            time_unit: ``"s"``, ``"ms"`` or ``"us"``; else what fits each time.
        """
        events = [event for event in self if not (top_level_events_only and event.cpu_parent is not None)]
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
            name = _cut(event.key, max_name_column_width)
            shares = _shares(event, "cpu", total.self_cpu_time_total, time_unit)
            row = [name, *shares, _format_time(event.cpu_time_total / event.count, time_unit)]
            if on_device:
                own_share, own_time, _, all_ = _shares(event, "device", total.self_device_time_total, time_unit)
                row += [own_time, own_share, all_, _format_time(event.device_time_total / event.count, time_unit)]
            row += [*(_bytes(getattr(event, f"{name}_memory_usage")) for name in memory), str(event.count)]
            listed = _cut(str([list(shape) for shape in event.input_shapes]), max_shapes_column_width)
            rows.append([*row, listed] if shapes else row)
        widths = [max(len(line[i]) for line in [heads, *rows]) for i in range(len(heads))]
        rule = "  ".join("-" * width for width in widths)
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in [heads, *rows]
        ]
        output = [*([header] if header else []), rule, lines[0], rule, *lines[1:], rule]
        output.append(f"Self CPU time total: {_format_time(total.self_cpu_time_total)}")
        if on_device:
            output.append(f"Self device time total: {_format_time(total.self_device_time_total)}")
        return "\n".join(output) + "\n"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _shares(event: FunctionEventAvg, kind: str, whole: float, unit: str | None) -> Iterator[str]:
    """Own time and all of it, each with what part of ``whole`` it is."""
    for time in (getattr(event, f"self_{kind}_time_total"), getattr(event, f"{kind}_time_total")):
        yield f"{100 * time / whole if whole else 0:.2f}%"
        yield _format_time(time, unit)


def _bytes(count: int) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"


def _format_time(microseconds: float, wanted: str | None = None) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3), ("us", 1.0)):
        if unit == wanted or (wanted is None and (microseconds >= size or unit == "us")):
            return f"{microseconds / size:.3f}{unit}"
    raise ValueError(f"time_unit is 's', 'ms' or 'us', not {wanted!r}")


def with_self_times(events: Iterable[FunctionEvent]) -> list[FunctionEvent]:
    """The events in the order of their beginning, each with the time that it spent itself."""
    ordered = sorted(events, key=lambda event: (event.start_us, -event.end_us))
    within: dict[object, list[FunctionEvent]] = {}  # by thread, what has not ended yet
    for event in ordered:
        own = event.end_us - event.start_us
        event.self_time = own
        around = within.setdefault(event.thread, [])
        while around and around[-1].end_us <= event.start_us:
            around.pop()
        if around and (outer := around[-1]).self_time is not None:
            outer.self_time -= min(event.end_us, outer.end_us) - event.start_us
        around.append(event)
    return ordered


def events_of_xla(trace: dict[str, Any]) -> Iterator[FunctionEvent]:
    """The operations that XLA ran, from the trace that JAX has written for Chrome."""
    events = trace["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e.get("name") == "thread_name"}
    streamed = {process for (process, _), name in threads.items() if name.startswith("Stream")}
    for number, event in enumerate(events):
        if event.get("ph") != "X":  # what lasts
            continue
        process, thread = processes[event["pid"]], threads.get((event["pid"], event["tid"]), "")
        if process.startswith("/host:"):
            device, counts = "cpu", "hlo_op" in event.get("args", {}) and not event["name"].startswith("end: ")
        else:  # a device's other lines say the same again: a GPU's streams are there as "XLA Ops" too
            device = "device"
            counts = thread.startswith("Stream" if event["pid"] in streamed else "XLA Ops")
        if counts:
            began, line = event["ts"], f"{process} {thread}"
            yield FunctionEvent(number, event["name"], line, began, began + event["dur"], device=device)
