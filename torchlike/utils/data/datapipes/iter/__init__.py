"""Basic pipes: from an iterable, from files, and pipes that map, filter, batch and shuffle."""

from __future__ import annotations

import copy
import fnmatch
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...collate import default_collate
from ..datapipe import IterDataPipe, functional_datapipe
from ._order import (
    Grouper as Grouper,
    Sampler as Sampler,
    ShardingFilter as ShardingFilter,
    Shuffler as Shuffler,
    UnBatcher as UnBatcher,
)
from ._several import (
    Concater as Concater,
    Demultiplexer as Demultiplexer,
    Forker as Forker,
    Multiplexer as Multiplexer,
)

__all__ = [
    "Batcher",
    "Collator",
    "Concater",
    "Demultiplexer",
    "FileLister",
    "FileOpener",
    "Filter",
    "Forker",
    "Grouper",
    "IterDataPipe",
    "IterableWrapper",
    "Mapper",
    "Multiplexer",
    "Sampler",
    "ShardingFilter",
    "Shuffler",
    "UnBatcher",
    "Zipper",
]


class IterableWrapper(IterDataPipe):
    """A pipe of the elements of an iterable. It is copied first, so that each iteration yields the same elements.

    >>> from torchlike.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(3)).map(lambda x: x + 1))
    [1, 2, 3]
    """

    def __init__(self, iterable: Iterable[object], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:
                import warnings

                warnings.warn(
                    "The input iterable can not be deepcopied, please be aware of in-place modification would affect source data.",
                    stacklevel=2,
                )
        yield from source

    def __len__(self) -> int:
        return len(self.iterable)  # pyright: ignore[reportArgumentType]


@functional_datapipe("list_files")
class FileLister(IterDataPipe):
    """The paths of files in folders.

    Args:
        root: a folder, several, or a pipe of them.
        masks: patterns, of which a name must match one; "" matches all.
        recursive: whether to go into folders within.
        abspath: whether paths begin at the root of the file system.
        non_deterministic: whether files come as the file system lists them, and not sorted.
    """

    def __init__(
        self,
        root: str | Iterable[str] = ".",
        masks: str | list[str] = "",
        *,
        recursive: bool = False,
        abspath: bool = False,
        non_deterministic: bool = False,
        length: int = -1,
    ) -> None:
        self.folders = IterableWrapper([root]) if isinstance(root, str) else root
        self.masks = [masks] if isinstance(masks, str) else masks
        self.recursive, self.abspath, self.sorted, self.length = recursive, abspath, not non_deterministic, length

    def __iter__(self) -> Iterator[str]:
        for folder in self.folders:
            for path, folders, files in os.walk(os.path.abspath(folder) if self.abspath else folder):
                if self.sorted:
                    folders.sort()
                    files.sort()
                for name in files:
                    if any(not mask or fnmatch.fnmatch(name, mask) for mask in self.masks):
                        yield os.path.join(path, name)
                if not self.recursive:
                    break

    def __len__(self) -> int:
        if self.length < 0:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length


@functional_datapipe("open_files")
class FileOpener(IterDataPipe):
    """Pairs of a path and the open file.

    Args:
        datapipe: paths.
        mode: "r", "b" or "t", or a mode of ``open``.
    """

    def __init__(self, datapipe: Iterable[str], mode: str = "r", encoding: str | None = None, length: int = -1) -> None:
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        if "b" in mode and encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        self.datapipe, self.mode, self.encoding, self.length = datapipe, mode, encoding, length

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        mode = self.mode if "r" in self.mode else f"r{self.mode}"
        for path in self.datapipe:
            yield path, open(path, mode, encoding=self.encoding)  # noqa: SIM115  # who gets it closes it

    def __len__(self) -> int:
        if self.length < 0:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length


def _columns(sample: Any, columns: object) -> tuple[object, ...]:
    """The columns of a sample that a function gets."""
    if columns is None:
        return (sample,)
    return tuple(sample[each] for each in columns) if isinstance(columns, (list, tuple)) else (sample[columns],)


@functional_datapipe("map")
class Mapper(IterDataPipe):
    """Applies a function to each sample, or to columns of it.

    Args:
        datapipe: the samples.
        fn: the function.
        input_col: the index or key of the column that it gets, or several; None: it gets the sample.
        output_col: the column that its result becomes; -1: a new last one. Without it, the first of ``input_col``.
    """

    def __init__(
        self, datapipe: Iterable[object], fn: Callable[..., object], input_col: Any = None, output_col: Any = None
    ) -> None:
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]  # pyright: ignore[reportGeneralTypeIssues]
        self.datapipe, self.fn, self.input_col, self.output_col = datapipe, fn, input_col, output_col

    def _applied(self, sample: Any) -> object:
        result = self.fn(*_columns(sample, self.input_col))
        if self.input_col is None:
            return result
        changed = list(sample) if isinstance(sample, tuple) else copy.copy(sample)
        first = self.input_col[0] if isinstance(self.input_col, (list, tuple)) else self.input_col
        if self.output_col == -1:
            changed.append(result)
        elif self.output_col is not None:
            changed[self.output_col] = result
        else:
            changed[first] = result
            if isinstance(self.input_col, (list, tuple)):
                for each in sorted(self.input_col[1:], reverse=True):
                    del changed[each]
        return tuple(changed) if isinstance(sample, tuple) else changed

    def __iter__(self) -> Iterator[object]:
        return map(self._applied, self.datapipe)

    def __len__(self) -> int:
        return len(self.datapipe)  # pyright: ignore[reportArgumentType]


@functional_datapipe("collate")
class Collator(Mapper):
    """Batches made of lists of samples."""

    def __init__(self, datapipe: Iterable[object], collate_fn: Callable[..., object] = default_collate) -> None:
        super().__init__(datapipe, collate_fn)


@functional_datapipe("filter")
class Filter(IterDataPipe):
    """The samples that a function takes, which gets the sample or columns of it."""

    def __init__(self, datapipe: Iterable[object], filter_fn: Callable[..., bool], input_col: Any = None) -> None:
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self) -> Iterator[Any]:
        return (sample for sample in self.datapipe if self.filter_fn(*_columns(sample, self.input_col)))


@functional_datapipe("batch")
class Batcher(IterDataPipe):
    """Lists of ``batch_size`` samples. The last may be shorter, or is dropped."""

    def __init__(self, datapipe: Iterable[object], batch_size: int, drop_last: bool = False) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last = datapipe, batch_size, drop_last

    def __iter__(self) -> Iterator[list[Any]]:
        batch: list[object] = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch


@functional_datapipe("zip")
class Zipper(IterDataPipe):
    """Tuples of a sample from each pipe, as long as all have one."""

    def __init__(self, *datapipes: Iterable[object]) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return zip(*self.datapipes, strict=False)


# PyTorch's classes have longer names, which a program sees where a pipe is printed.
for _short in set(__all__) - {"IterDataPipe"}:
    _pipe = globals()[_short]
    _pipe.__name__ = _pipe.__qualname__ = f"{_short}IterDataPipe"
    _pipe.__module__, globals()[_pipe.__name__] = __name__, _pipe  # where pickles look for them
