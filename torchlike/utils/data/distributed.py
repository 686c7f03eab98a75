"""class DistributedSampler: a part of a dataset for each of several processes."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from ...random_streams.rng import Generator
from . import _draw
from .sampler import Sampler

__all__ = ["DistributedSampler"]


class World:
    """The process group's size and rank for samplers. ``torchlike.distributed`` sets the functions that return them."""

    size: Callable[[], int]
    rank: Callable[[], int]
    joined: Callable[[], bool] = staticmethod(lambda: False)
    agreed: Callable[[int], int] = staticmethod(lambda number: number)  # the first process's number, for all of them

    def place(self) -> tuple[int, int]:
        """The size and the rank, where there is a process group; otherwise (1, 0)."""
        return (self.size(), self.rank()) if self.joined() else (1, 0)


world = World()


class DistributedSampler(Sampler[int]):
    """Every ``num_replicas``-th index, beginning with ``rank``; shuffled alike in all processes.

    Args:
        dataset: the dataset; only its length is used.
        num_replicas: the number of processes that share the dataset (default: the size of the process group).
        rank: the number of this process (default: its rank in the process group).
        shuffle: whether each epoch has an order of its own; call ``set_epoch`` before each.
        seed: the same in all processes.
        drop_last: whether the remaining samples are left out; otherwise the first samples are repeated to fill up.

    Raises:
        ValueError: the rank is out of range, or an argument is left out and there is no process group.

    Example:
        >>> list(torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
        [1, 3, 0]

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = world.size()
        if rank is None:
            rank = world.rank()
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        size = len(dataset)
        self.num_samples = size // num_replicas if drop_last else math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        if self.shuffle:
            order = _draw.permutation(Generator().manual_seed(self.seed + self.epoch), size)
        else:
            order = list(range(size))
        # Repeated as often as needed and then cut: both missing and surplus samples are handled.
        order = (order * max(1, math.ceil(self.total_size / max(1, size))))[: self.total_size]
        return iter(order[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Sets the number of the next epoch, so that each epoch has another order."""
        self.epoch = epoch
