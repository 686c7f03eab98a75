"""Small helpers of layers, under the names that programs take from PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._core.annotations import IntOrInts
from ..._core.tensor import Tensor
from .padding import ntuple

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that makes a tuple of ``n`` equal numbers from one number, and a tuple from several."""

    def parse(x: Tensor) -> tuple[object, ...]:
        return ntuple(x, n)

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[object], n: int) -> tuple[object, ...]:
    """A tuple with each element ``n`` times, in reverse order."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: IntOrInts, defaults: Sequence[int]) -> Any:
    """The sizes, with the last of ``defaults`` in place of None."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [
        default if size is None else size for size, default in zip(out_size, defaults[-len(out_size) :], strict=False)
    ]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, object], prefix: str) -> None:
    """Removes a prefix from the names of a ``state_dict``, in place; for example "module.", which ``DataParallel`` adds.

    >>> state = {"module.weight": 1}
    >>> torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'weight': 1}
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata):
        if key in (
            "",
            prefix.removesuffix("."),
            prefix,
        ):  # the entry of the module itself, under the prefix without its dot
            if key:
                metadata[""] = metadata.pop(key)
        elif key.startswith(prefix):
            metadata[key[len(prefix) :]] = metadata.pop(key)
