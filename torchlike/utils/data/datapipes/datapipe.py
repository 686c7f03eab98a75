"""IterDataPipe and MapDataPipe: datasets whose methods are the pipes that can follow them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..dataset import Dataset, IterableDataset

__all__ = ["IterDataPipe", "MapDataPipe", "functional_datapipe"]


class _Pipe:
    """What both kinds of pipes share: those with a functional name are methods of every pipe of their kind."""

    functions: dict[str, Callable[..., object]]

    def __getattr__(self, name: str) -> Any:
        if name in type(self).functions:
            return functools.partial(self.functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}")  # PyTorch forgets a quote

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., object]) -> None:
        """Makes a function of a pipe a method of every pipe of this kind."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: type, **options: object) -> None:
        """Makes a class of pipes a method of every pipe of this kind."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register

    def __repr__(self) -> str:
        return type(self).__qualname__


class IterDataPipe(_Pipe, IterableDataset):
    """An iterable dataset from which other pipes take samples. Pipes with a functional name are methods of every pipe.

    Source: https://docs.pytorch.org/data/main/torchdata.datapipes.iter.html
    """

    functions: dict[str, Callable[..., object]] = {}

    def reset(self) -> None:
        """Called before a new iteration of the pipe. A subclass defines it."""


class MapDataPipe(_Pipe, Dataset):
    """A dataset that other pipes index. Pipes with a functional name are methods of every pipe.

    >>> from torchlike.utils.data.datapipes.map import SequenceWrapper
    >>> pipe = SequenceWrapper(range(5)).map(lambda x: x * 2).batch(2)
    >>> pipe[1], len(pipe)
    ([4, 6], 3)

    Source: https://docs.pytorch.org/data/main/torchdata.datapipes.map.html
    """

    functions: dict[str, Callable[..., object]] = {}


class functional_datapipe:
    """Decorates a class of pipes, which becomes a method of this name of every pipe of its kind."""

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: type) -> Any:
        for kind in (IterDataPipe, MapDataPipe):
            if isinstance(cls, type) and issubclass(cls, kind):
                kind.register_datapipe_as_function(self.name, cls)
                return cls
        raise TypeError("`functional_datapipe` can only decorate IterDataPipe or MapDataPipe")
