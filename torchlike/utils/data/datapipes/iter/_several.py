"""Pipes of several pipes: one after the other, in turn, copies, and parts."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..datapipe import IterDataPipe, functional_datapipe

__all__ = ["Concater", "Demultiplexer", "Forker", "Multiplexer"]


@functional_datapipe("concat")
class Concater(IterDataPipe):
    """The samples of several pipes, one pipe after the other."""

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[object]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(len(pipe) for pipe in self.datapipes)


@functional_datapipe("mux")
class Multiplexer(IterDataPipe):
    """A sample of each pipe in turn, until one of them has no more."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[object]:
        for samples in zip(*self.datapipes, strict=False):
            yield from samples

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes) * len(self.datapipes)


class _Child(IterDataPipe):
    """One of the pipes that share a source: it keeps what others have read for it."""

    def __init__(self, source: _Source, number: int) -> None:
        self.source, self.number = source, number
        self.main_datapipe = source.datapipe  # for those who look for the pipes behind this one

    def __iter__(self) -> Iterator[object]:
        self.source.begin(self.number)
        waiting = self.source.waiting[self.number]
        while waiting or self.source.read():
            while waiting:
                yield waiting.popleft()


class _Source:
    """Reads a pipe for several children."""

    def __init__(
        self, datapipe: Iterable[object], count: int, place: Callable[[Any], Iterable[int]], buffer_size: int
    ) -> None:
        self.datapipe, self.place, self.buffer_size = datapipe, place, buffer_size
        self.waiting: list[collections.deque[object]] = [collections.deque() for _ in range(count)]
        self.begun: set[int] = set(range(count))
        self.samples: Iterator[object] = iter(())

    def begin(self, number: int) -> None:
        """A child begins. Once it begins a second time, all begin anew."""
        if number in self.begun:
            self.begun.clear()
            self.samples = iter(self.datapipe)
            for waiting in self.waiting:
                waiting.clear()
        self.begun.add(number)

    def read(self) -> bool:
        """Reads one sample for those that get it; False if there is none."""
        for sample in self.samples:
            for number in self.place(sample):
                self.waiting[number].append(sample)
            if 0 <= self.buffer_size < max(map(len, self.waiting)):
                raise BufferError(
                    f"DataPipe buffer overflow: more than {self.buffer_size} samples wait for another pipe"
                )
            return True
        return False


def _check(count: int, buffer_size: int) -> None:
    if count < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {count} is found")
    if buffer_size == 0:
        raise ValueError("Expected `buffer_size` to be larger than 0, or -1, but 0 is found")


@functional_datapipe("fork")
class Forker(IterDataPipe):
    """Several pipes with the same samples.

    Args:
        datapipe: the source.
        num_instances: how many.
        buffer_size: how many samples may wait for the slowest; -1 for any number.
        copy: "shallow" or "deep" for copies of the samples in each pipe.
    """

    def __new__(
        cls, datapipe: Iterable[object], num_instances: int, buffer_size: int = 1000, copy: str | None = None
    ) -> Any:
        _check(num_instances, buffer_size)
        if copy not in (None, "shallow", "deep"):
            raise ValueError(f"Unknown copy method `{copy}` is found, please choose one of: None, 'shallow', 'deep'")
        source = _Source(datapipe, num_instances, lambda sample: range(num_instances), buffer_size)
        children = [_Child(source, number) for number in range(num_instances)]
        if copy is None:
            return children
        import copy as copying

        duplicate = copying.copy if copy == "shallow" else copying.deepcopy
        return [child.map(duplicate) for child in children]


@functional_datapipe("demux")
class Demultiplexer(IterDataPipe):
    """Several pipes among which a function divides the samples.

    Args:
        datapipe: the source.
        num_instances: how many.
        classifier_fn: gives the number of the pipe that gets a sample, or None.
        drop_none: whether samples without a number are left out; otherwise they are an error.
        buffer_size: how many samples may wait for another pipe; -1 for any number.
    """

    def __new__(
        cls, datapipe: Iterable[object], num_instances: int, classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False, buffer_size: int = 1000,
    ) -> Any:  # fmt: skip
        _check(num_instances, buffer_size)

        def place(sample: object) -> tuple[int, ...]:
            number = classifier_fn(sample)
            if number is None and drop_none:
                return ()
            if number is None or not 0 <= number < num_instances:
                raise ValueError(
                    f"Output of the classification fn should be between 0 and {num_instances - 1}. {number} is returned."
                )
            return (number,)

        source = _Source(datapipe, num_instances, place, buffer_size)
        return [_Child(source, number) for number in range(num_instances)]
