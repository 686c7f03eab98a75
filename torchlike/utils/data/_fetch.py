"""Fetchers: from an index, or a list of indices, to one batch."""

from collections.abc import Callable, Iterator
from typing import Any

from .collate import collates_by_default
from .dataset import Dataset


class MapFetcher:
    """Reads a dataset by number."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[..., object], drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn

    def fetch(self, index: Any) -> Any:
        """The batch for a list of indices; without automatic batching, the converted sample for one index."""
        if not self.auto_collation:
            return self.collate_fn(self.dataset[index])
        if isinstance(self.dataset, Dataset) and collates_by_default(self.collate_fn):
            # Looked up on the type, since a wrapper may forward unknown attributes to its inner dataset.
            batch = type(self.dataset)._collated(self.dataset, index)
            if batch is not None:
                return batch
        if get_items := getattr(self.dataset, "__getitems__", None):
            return self.collate_fn(get_items(index))
        return self.collate_fn([self.dataset[number] for number in index])


class IterableFetcher:
    """Reads a dataset one sample after the other. The indices only say how many samples to read."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[..., object], drop_last: bool) -> None:
        self.samples: Iterator[Any] = iter(dataset)
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, index: Any) -> Any:
        """The next batch; StopIteration after the last."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.samples))
        batch = []
        for _ in index:
            try:
                batch.append(next(self.samples))
            except StopIteration:
                self.ended = True
                break
        if not batch or (self.drop_last and self.ended):
            raise StopIteration
        return self.collate_fn(batch)
