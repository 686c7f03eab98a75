"""Samplers: the order of a dataset's samples, with PyTorch's random streams."""

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Generic, TypeVar

import numpy as np

from ..._core.tensor import Tensor, from_host
from ...random_streams.rng import Generator
from . import _draw

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """The base class of samplers: a subclass defines ``__iter__``, over indices or lists of indices, and perhaps ``__len__``.

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.Sampler
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """0, 1, 2, ...

    Example:
        >>> list(torch.utils.data.SequentialSampler("abc"))
        [0, 1, 2]

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.SequentialSampler
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices at random, each once; with ``replacement``, drawn one independently of the other.

    Without ``generator``, each epoch draws one seed from the default generator and shuffles with that.

    Args:
        data_source: the dataset; only its length is used.
        replacement: whether an index may come again.
        num_samples: the number of indices in an epoch (default: the length of ``data_source``).

    Example:
        >>> sorted(torch.utils.data.RandomSampler("abcd"))
        [0, 1, 2, 3]

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.RandomSampler
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        # A dataset may grow between epochs.
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = Generator().manual_seed(_draw.seed(None))
        # PyTorch draws the last part even if none of it is used, which changes the generator's state: so do both branches.
        if self.replacement:
            for _ in range(self.num_samples // 32):
                yield from _draw.randint(generator, size, 32)
            yield from _draw.randint(generator, size, self.num_samples % 32)
        else:
            for _ in range(self.num_samples // size):
                yield from _draw.permutation(generator, size)
            yield from _draw.permutation(generator, size)[: self.num_samples % size]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Some indices, in random order.

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.SubsetRandomSampler
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for position in _draw.permutation(self.generator, len(self.indices)):
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with their own probabilities.

    Args:
        weights: one number for each index; they need not add up to 1.
        num_samples: the number of indices to draw.
        replacement: whether an index may come again.

    Raises:
        RuntimeError: on iteration, for negative weights, weights that are all zero, or more samples than weights
            without replacement.

    Example:
        >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0], 3))
        [1, 1, 1]

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.WeightedRandomSampler
    """

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        numbers = np.array(weights._array() if isinstance(weights, Tensor) else weights, np.float64)
        if numbers.ndim != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {numbers.shape}")
        self.weights = from_host(numbers)
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        yield from _draw.weighted(self.generator, self.weights._array(), self.num_samples, self.replacement)

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Groups the indices of another sampler into lists.

    Args:
        sampler: yields the indices one by one.
        batch_size: the number of indices in a batch.
        drop_last: whether a last, smaller batch is left out.

    Example:
        >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.BatchSampler
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        size = len(self.sampler)  # pyright: ignore[reportArgumentType]
        return size // self.batch_size if self.drop_last else -(-size // self.batch_size)
