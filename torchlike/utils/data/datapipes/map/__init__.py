"""Pipes that are indexed: of a sequence, and those that map, batch, join and shuffle the samples of others."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence, Sized
from typing import Any, Protocol, SupportsIndex

from .._shuffling import ShufflingPipe
from ..datapipe import IterDataPipe, MapDataPipe, functional_datapipe

__all__ = ["Batcher", "Concater", "MapDataPipe", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]


class _Samples(Protocol):
    """What can be indexed."""

    def __getitem__(self, index: Any, /) -> object: ...

    def __len__(self) -> int: ...


class SequenceWrapper(MapDataPipe):
    """A pipe of the elements of a sequence or of a mapping, of which it keeps a copy.

    Args:
        sequence: what is indexed.
        deepcopy: whether to copy it.

    >>> from torchlike.utils.data.datapipes.map import SequenceWrapper
    >>> list(SequenceWrapper(range(3)).map(lambda x: x + 1))
    [1, 2, 3]
    """

    def __init__(self, sequence: _Samples, deepcopy: bool = True) -> None:
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn(
                    "The input sequence can not be deepcopied, please be aware of in-place modification would affect source data",
                    stacklevel=2,
                )

    def __getitem__(self, index: Any) -> object:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


def _same(sample: object) -> object:
    return sample


@functional_datapipe("map")
class Mapper(MapDataPipe):
    """Applies a function to each sample that is asked for."""

    def __init__(self, datapipe: _Samples, fn: Callable[[object], object] = _same) -> None:
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> object:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("batch")
class Batcher(MapDataPipe):
    """Lists of ``batch_size`` samples. The last may be shorter, or is dropped."""

    def __init__(
        self,
        datapipe: _Samples,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Callable[[list[object]], object] = list,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = (
            datapipe,
            batch_size,
            drop_last,
            wrapper_class,
        )

    def __getitem__(self, index: int) -> object:
        batch: list[object] = []
        try:
            batch.extend(self.datapipe[i] for i in range(index * self.batch_size, (index + 1) * self.batch_size))
        except IndexError as error:
            if self.drop_last or not batch:
                raise IndexError(f"Index {index} is out of bound.") from error
        return self.wrapper_class(batch)

    def __len__(self) -> int:
        if not isinstance(self.datapipe, Sized):
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def _checked(datapipes: tuple[object, ...]) -> tuple[_Samples, ...]:
    if not datapipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    if not all(isinstance(pipe, MapDataPipe) for pipe in datapipes):
        raise TypeError("Expected all inputs to be `MapDataPipe`")
    if not all(isinstance(pipe, Sized) for pipe in datapipes):
        raise TypeError("Expected all inputs to be `Sized`")
    return datapipes  # pyright: ignore[reportReturnType]


@functional_datapipe("concat")
class Concater(MapDataPipe):
    """The samples of several pipes, one pipe after the other."""

    def __init__(self, *datapipes: MapDataPipe) -> None:
        self.datapipes = _checked(datapipes)

    def __getitem__(self, index: int) -> object:
        place = index
        for pipe in self.datapipes:
            if place < len(pipe):
                return pipe[place]
            place -= len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class Zipper(MapDataPipe):
    """Tuples of the samples that all pipes have at an index."""

    def __init__(self, *datapipes: MapDataPipe) -> None:
        self.datapipes = _checked(datapipes)

    def __getitem__(self, index: SupportsIndex) -> tuple[object, ...]:
        return tuple(self._sample(pipe, index) for pipe in self.datapipes)

    def _sample(self, pipe: _Samples, index: SupportsIndex) -> object:
        try:
            return pipe[index]
        except IndexError as error:
            raise IndexError(f"Index {index} is out of range for one of the input MapDataPipes {pipe}.") from error

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


class Shuffler(ShufflingPipe):
    """The samples of an indexed pipe in random order, with PyTorch's numbers. It is an iterable pipe.

    Args:
        datapipe: the samples.
        indices: those that it has; 0, 1, ... by default.
    """

    def __init__(self, datapipe: _Samples, *, indices: Sequence[SupportsIndex] | None = None) -> None:
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else list(indices)

    def __iter__(self) -> Iterator[object]:
        order = self.indices
        if self._enabled:
            # PyTorch takes the drawn indices from the end.
            order = self._generator().sample(self.indices, len(self.indices))[::-1]
        for index in order:
            yield self.datapipe[index]

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", Shuffler)

# PyTorch's classes have longer names, which a program sees where a pipe is printed.
for _short in set(__all__) - {"MapDataPipe"}:
    _pipe = globals()[_short]
    _pipe.__name__ = _pipe.__qualname__ = f"{_short}{'Iter' if _short == 'Shuffler' else 'Map'}DataPipe"
    _pipe.__module__, globals()[_pipe.__name__] = __name__, _pipe  # where pickles look for them
