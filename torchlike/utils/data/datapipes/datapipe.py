"""IterDataPipe: an iterable dataset whose methods are the pipes that can follow it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..dataset import IterableDataset

__all__ = ["IterDataPipe", "functional_datapipe"]


class IterDataPipe(IterableDataset):
    """An iterable dataset from which other pipes take samples. Pipes with a functional name are methods of every pipe.

    Source: https://docs.pytorch.org/data/main/torchdata.datapipes.iter.html
    """

    functions: dict[str, Callable[..., object]] = {}

    def __getattr__(self, name: str) -> Any:
        if name in IterDataPipe.functions:
            return functools.partial(IterDataPipe.functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}")

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: type, **options: object) -> None:
        """Makes a class of pipes a method of every pipe."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register

    def __repr__(self) -> str:
        return type(self).__qualname__

    def reset(self) -> None:
        """Called before a new iteration of the pipe. A subclass defines it."""


class functional_datapipe:
    """Decorates a class of pipes, which becomes a method of this name of every pipe."""

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: type) -> Any:
        if not (isinstance(cls, type) and issubclass(cls, IterDataPipe)):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe")
        IterDataPipe.register_datapipe_as_function(self.name, cls)
        return cls
