"""Pipes with samples in another order or in other groups: shuffled, for one of several workers, unpacked, grouped by a key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

from ...sampler import SequentialSampler
from .._shuffling import ShufflingPipe
from ..datapipe import IterDataPipe, functional_datapipe

__all__ = ["Grouper", "Sampler", "ShardingFilter", "Shuffler", "UnBatcher"]


@functional_datapipe("shuffle")
class Shuffler(ShufflingPipe):
    """The samples in random order, with PyTorch's numbers: from a buffer, each sample that is read replaces one that is given out.

    Args:
        datapipe: the samples.
        buffer_size: how many wait at a time.
        unbatch_level: how many levels of lists are unpacked first.
    """

    def __init__(self, datapipe: Iterable[object], *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else UnBatcher(datapipe, unbatch_level=unbatch_level)
        self.buffer_size = buffer_size

    def __iter__(self) -> Iterator[object]:
        if not self._enabled:
            yield from self.datapipe
            return
        generator, waiting = self._generator(), []
        for sample in self.datapipe:
            if len(waiting) == self.buffer_size:
                place = generator.randint(0, len(waiting) - 1)
                given, waiting[place] = waiting[place], sample
                yield given
            else:
                waiting.append(sample)
        while waiting:
            yield waiting.pop(generator.randint(0, len(waiting) - 1))

    def __len__(self) -> int:
        return len(self.datapipe)  # pyright: ignore[reportArgumentType]


@functional_datapipe("sharding_filter")
class ShardingFilter(IterDataPipe):
    """Every n-th sample, where there are n workers: ``apply_sharding`` says how many, and which this is."""

    def __init__(self, source_datapipe: Iterable[object], sharding_group_filter: object = None) -> None:
        self.source_datapipe = source_datapipe
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(self, num_of_instances: int, instance_id: int, sharding_group: object = None) -> None:
        """From now on this is one of several."""
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        self.num_of_instances, self.instance_id = num_of_instances, instance_id

    def __iter__(self) -> Iterator[object]:
        for number, sample in enumerate(self.source_datapipe):
            if number % self.num_of_instances == self.instance_id:
                yield sample

    def __len__(self) -> int:
        count: int = len(self.source_datapipe)  # pyright: ignore[reportArgumentType]
        return count // self.num_of_instances + (self.instance_id < count % self.num_of_instances)


@functional_datapipe("unbatch")
class UnBatcher(IterDataPipe):
    """The samples within lists.

    Args:
        datapipe: lists.
        unbatch_level: how many levels of lists are unpacked; -1 for all.
    """

    def __init__(self, datapipe: Iterable[object], unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[object]:
        if self.unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        for sample in self.datapipe:
            yield from self._unpacked(sample, self.unbatch_level)

    def _unpacked(self, sample: object, level: int) -> Iterator[object]:
        if level == -1:
            if not isinstance(sample, list):
                yield sample
                return
        elif level == 0:
            yield sample
            return
        elif not isinstance(sample, list):
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        for inner in sample:
            yield from self._unpacked(inner, level if level == -1 else level - 1)


@functional_datapipe("groupby")
class Grouper(IterDataPipe):
    """Lists of samples with the same key.

    Args:
        datapipe: the samples.
        group_key_fn: gives the key of a sample.
        keep_key: whether to give out pairs of a key and a list.
        buffer_size: how many samples may wait.
        group_size: the length at which a list is given out; None: all of a key.
        guaranteed_group_size, drop_remaining: what is done with shorter lists when the buffer is full.
    """

    def __init__(
        self, datapipe: Iterable[object], group_key_fn: Callable[[Any], object], *, keep_key: bool = False,
        buffer_size: int = 10000, group_size: int | None = None, guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:  # fmt: skip
        self.datapipe, self.group_key_fn, self.keep_key = datapipe, group_key_fn, keep_key
        self.buffer_size, self.group_size, self.drop_remaining = buffer_size, group_size, drop_remaining
        self.guaranteed_group_size = group_size if guaranteed_group_size is None else guaranteed_group_size

    def _given(self, key: object, group: list[object]) -> object:
        return (key, group) if self.keep_key else group

    def _make_room(self, groups: dict[object, list[object]]) -> object:
        """The key of the longest group, which has to leave, or None where it is dropped."""
        key = max(groups, key=lambda each: len(groups[each]))
        if self.guaranteed_group_size is not None and len(groups[key]) < self.guaranteed_group_size:
            if not self.drop_remaining:
                raise RuntimeError("Failed to group items", str(groups[key]))
            del groups[key]
            return None
        return key

    def __iter__(self) -> Iterator[object]:
        groups: dict[object, list[object]] = {}
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            groups.setdefault(key, []).append(sample)
            if self.group_size is not None and len(groups[key]) == self.group_size:
                yield self._given(key, groups.pop(key))
            if sum(map(len, groups.values())) == self.buffer_size and (full := self._make_room(groups)) is not None:
                yield self._given(full, groups.pop(full))
        for key, group in groups.items():
            yield self._given(key, group)


class Sampler(IterDataPipe):
    """The indices that a sampler gives for a pipe of known length."""

    def __init__(
        self, datapipe: Sized, sampler: Any = SequentialSampler, sampler_args: Any = None, sampler_kwargs: Any = None
    ) -> None:
        self.datapipe = datapipe
        self.sampler = sampler(data_source=datapipe, *(sampler_args or ()), **(sampler_kwargs or {}))  # noqa: B026

    def __iter__(self) -> Iterator[object]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return len(self.sampler)
