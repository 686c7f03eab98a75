"""Splits batches between devices, and puts them together again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..._core.devices import device as device_
from ..._core.tensor import Tensor
from ...ops.shape.joining import cat

__all__ = ["gather", "scatter", "scatter_kwargs"]


def _device(target: Any) -> device_:
    return device_(target)


def scatter(inputs: object, target_gpus: Sequence[object], dim: int = 0) -> Any:
    """Splits each tensor in ``inputs`` along a dimension into a part for each device. Other objects go to all devices.

    >>> torch.nn.parallel.scatter(torch.arange(4), ["cpu", "cpu"])
    (tensor([0, 1]), tensor([2, 3]))
    """
    count = len(target_gpus)

    def spread(obj: object) -> list[Any]:
        if isinstance(obj, Tensor):
            parts = obj.chunk(count, dim)  # pyright: ignore[reportAttributeAccessIssue]
            return [share.to(_device(target)) for share, target in zip(parts, target_gpus, strict=False)]
        if isinstance(obj, tuple) and obj:
            parts = zip(*map(spread, obj), strict=False)
            return [type(obj)(*share) if hasattr(obj, "_fields") else tuple(share) for share in parts]
        if isinstance(obj, list) and obj:
            return [list(share) for share in zip(*map(spread, obj), strict=False)]
        if isinstance(obj, dict) and obj:
            return [type(obj)(share) for share in zip(*map(spread, obj.items()), strict=False)]
        return [obj for _ in target_gpus]

    shares = spread(inputs)
    return tuple(shares) if isinstance(inputs, Tensor) else shares


def scatter_kwargs(
    inputs: tuple[object, ...], kwargs: Mapping[str, object] | None, target_gpus: Sequence[object], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Splits positional and keyword arguments like ``scatter``. The shorter result is padded with empty arguments."""
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    keywords = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(positional), len(keywords))
    positional = [*positional, *[() for _ in range(count - len(positional))]]
    keywords = [*keywords, *[{} for _ in range(count - len(keywords))]]
    return tuple(positional), tuple(keywords)


def gather(outputs: object, target_device: object, dim: int = 0) -> Any:
    """Puts tensors of several devices together along a dimension, on one device."""
    where = device_("cpu") if target_device == -1 else _device(target_device)

    def joined(outs: Any) -> Any:
        first = outs[0]
        if isinstance(first, Tensor):
            parts = [out.to(where) for out in outs]
            return cat([piece.reshape(1) if piece.dim() == 0 else piece for piece in parts], dim)
        if first is None:
            return None
        if isinstance(first, dict):
            if any(len(out) != len(first) for out in outs):
                raise ValueError("All dicts must have the same number of keys")
            return type(first)((key, joined([out[key] for out in outs])) for key in first)
        if hasattr(first, "_fields"):
            return type(first)(*map(joined, zip(*outs, strict=True)))
        return type(first)(map(joined, zip(*outs, strict=True)))

    return joined(outputs)
