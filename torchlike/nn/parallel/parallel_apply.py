"""Calls modules on parts of a batch, each on its own device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..modules.module import Module

__all__ = ["parallel_apply"]


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[object],
    kwargs_tup: Sequence[Mapping[str, object]] | None = None,
    devices: Sequence[object] | None = None,
) -> list[Any]:
    """Calls each module with its input, one after the other. The calls only record operations, which run on their devices later."""
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    keywords = kwargs_tup or [{} for _ in modules]
    return [
        module(*(arguments if isinstance(arguments, (list, tuple)) else (arguments,)), **kwargs)
        for module, arguments, kwargs in zip(modules, inputs, keywords, strict=True)
    ]
