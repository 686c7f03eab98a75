"""Datasets: access to samples by number or one after the other, and combinations of datasets."""

import bisect
import itertools
import math
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from ..._core.tensor import Tensor, from_host
from ...random_streams.rng import Generator, default_generator
from . import _draw
from ._host import host_array, rows

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Dataset(Generic[T_co]):
    """Samples with numbers: a subclass defines ``__getitem__`` and, for most samplers, ``__len__``.

    It may give ``__getitems__(indices)`` too, which returns the list of samples of one batch.

    Raises:
        NotImplementedError: if a sample is read and the subclass has no ``__getitem__``.

    Example:
        >>> class Squares(torch.utils.data.Dataset):
        ...     def __len__(self):
        ...         return 4
        ...     def __getitem__(self, index):
        ...         return index**2
        >>> list(torch.utils.data.DataLoader(Squares(), batch_size=2))
        [tensor([0, 1]), tensor([4, 9])]

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.Dataset
    """

    def __getitem__(self, index: object) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: "Dataset[T_co]") -> "ConcatDataset[T_co]":
        return ConcatDataset([self, other])

    def _collated(self, indices: Sequence[int]) -> Any:
        """The batch that ``default_collate`` would make of these samples, or None if it has to be called.

        The DataLoader calls this first. A subclass whose samples are rows of one array returns a batch, unless another class overrides how
        samples are made.
        """
        return None


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples one after the other: a subclass defines ``__iter__``.

    With several workers each iterates over a copy of its own; ``get_worker_info()`` tells them apart.

    Example:
        >>> class Count(torch.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> list(torch.utils.data.DataLoader(Count(), batch_size=2))
        [tensor([0, 1]), tensor([2])]

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset
    """

    @abstractmethod
    def __iter__(self) -> Iterator[T_co]: ...

    def __add__(self, other: Dataset[T_co]) -> "ChainDataset":  # pyright: ignore[reportIncompatibleMethodOverride]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Sample ``i`` is the tuple of the ``i``-th rows of some tensors of equal first dimension.

    Args:
        tensors: each of shape ``(N, ...)``, any dtype.

    Raises:
        AssertionError: where first dimensions differ.

    Example:
        >>> data = torch.utils.data.TensorDataset(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([0, 1]))
        >>> data[1]
        (tensor([3., 4.]), tensor(1))

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.TensorDataset
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: object) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)

    def _collated(self, indices: Sequence[int]) -> list[Tensor] | None:
        if type(self).__getitem__ is not TensorDataset.__getitem__:
            return None
        batch = []
        for tensor in self.tensors:
            array = host_array(tensor)
            picked = None if array is None else rows(array, indices)
            if picked is None:
                return None
            batch.append(from_host(picked))
        return batch


class StackDataset(Dataset[Any]):
    """Sample ``i`` holds the ``i``-th samples of several datasets, as a tuple or, for keywords, as a dict.

    Raises:
        ValueError: where lengths differ, where both forms are mixed, or where nothing is given.

    Example:
        >>> data = torch.utils.data.StackDataset(image=["a", "b"], label=[0, 1])
        >>> data[1]
        {'image': 'b', 'label': 1}

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.StackDataset
    """

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, "
                "but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        members = list(args or kwargs.values())
        self._length = len(members[0])
        if any(len(member) != self._length for member in members):
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index: object) -> Any:
        if isinstance(self.datasets, dict):
            return {name: member[index] for name, member in self.datasets.items()}
        return tuple(member[index] for member in self.datasets)

    def __getitems__(self, indices: list[int]) -> list[object]:
        if isinstance(self.datasets, dict):
            columns = [_samples(member, indices) for member in self.datasets.values()]
            return [dict(zip(self.datasets, row, strict=True)) for row in zip(*columns, strict=True)]
        return list(zip(*(_samples(member, indices) for member in self.datasets), strict=True))

    def __len__(self) -> int:
        return self._length


def _samples(dataset: Any, indices: list[int]) -> list[object]:
    """The samples of a member of a StackDataset, from its ``__getitems__`` if it has one."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    samples = dataset.__getitems__(indices)
    if len(samples) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(samples)}")
    return samples


class ConcatDataset(Dataset[T_co]):
    """Several datasets, one after the other.

    Raises:
        AssertionError: for no dataset, or for an IterableDataset among them.

    Example:
        >>> data = torch.utils.data.ConcatDataset([[1, 2], [3]])
        >>> len(data), data[2], data[-1]
        (3, 3, 3)

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.ConcatDataset
    """

    datasets: list[Dataset[T_co]]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The running sum of the lengths."""
        return list(itertools.accumulate(len(dataset) for dataset in sequence))

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        number = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[number][idx - self.cumulative_sizes[number - 1] if number else idx]

    @property
    def cummulative_sizes(self) -> list[int]:
        """An older spelling of ``cumulative_sizes``."""
        warnings.warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Several iterable datasets one after the other.

    Raises:
        AssertionError: during iteration, if a member is no IterableDataset.

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.ChainDataset
    """

    def __init__(self, datasets: Iterable[Dataset[object]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for member in self.datasets:
            yield from self._require_iterable(member)

    def __len__(self) -> int:
        return sum(len(self._require_iterable(member)) for member in self.datasets)

    @staticmethod
    def _require_iterable(member: object) -> Any:
        if not isinstance(member, IterableDataset):
            raise AssertionError("ChainDataset only supports IterableDataset")
        return member


class Subset(Dataset[T_co]):
    """The samples of a dataset at some indices.

    Example:
        >>> list(torch.utils.data.Subset(["a", "b", "c"], [2, 0]))
        ['c', 'a']

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.Subset
    """

    dataset: Dataset[T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> Any:
        # A list means several samples, which are read from the inner dataset together.
        return self.dataset[[self.indices[i] for i in idx] if isinstance(idx, list) else self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        below = [self.indices[index] for index in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(below)  # pyright: ignore[reportAttributeAccessIssue]
        return [self.dataset[index] for index in below]

    def __len__(self) -> int:
        return len(self.indices)

    def _collated(self, indices: Sequence[int]) -> list[Tensor] | None:
        is_unchanged = type(self).__getitem__ is Subset.__getitem__ and type(self).__getitems__ is Subset.__getitems__
        below = getattr(type(self.dataset), "_collated", None)
        if not is_unchanged or below is None:
            return None
        return below(self.dataset, [self.indices[index] for index in indices])


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset[Any]]:
    """Splits a dataset at random into parts that do not overlap.

    Args:
        lengths: either numbers of samples, or fractions that add up to 1. Each part then has ``floor(n * fraction)``
            samples, and the first parts get one of the remaining samples each.
        generator: the generator of the permutation (default: the default generator).

    Raises:
        ValueError: where lengths do not add up to the whole, or a fraction is not between 0 and 1.

    Example:
        >>> parts = torch.utils.data.random_split(range(10), [0.75, 0.25], generator=torch.Generator().manual_seed(0))
        >>> [len(part) for part in parts]
        [8, 2]

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.random_split
    """
    total = sum(lengths)
    if math.isclose(total, 1) and total <= 1:
        lengths = _shares(len(dataset), lengths)
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    counts = [int(length) for length in lengths]
    order = _draw.permutation(generator, sum(counts))
    ends = itertools.accumulate(counts)
    return [Subset(dataset, order[end - count : end]) for count, end in zip(counts, ends, strict=True)]


def _shares(size: int, fractions: Sequence[float]) -> list[int]:
    """The number of samples that each fraction of ``size`` gets."""
    for index, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {index} is not between 0 and 1")
    counts = [math.floor(size * fraction) for fraction in fractions]
    for index in range(size - sum(counts)):
        counts[index % len(counts)] += 1
    for index, count in enumerate(counts):
        if count == 0:
            warnings.warn(f"Length of split at index {index} is 0. This might result in an empty dataset.")
    return counts
