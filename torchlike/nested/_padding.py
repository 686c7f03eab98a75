"""From parts that lie one after the other to one padded tensor, and back: PyTorch's two operators."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from .. import ops
from .._core.tensor import Tensor, from_host
from ._jagged import Arrangement, NestedTensor, jagged_of

__all__ = ["jagged_of_padded", "nested_from_padded", "padded_of_jagged"]


def _bounds(name: str, offsets: Sequence[Tensor]) -> list[int]:
    if len(offsets) != 1:
        raise RuntimeError(f"{name}(): only a single jagged dim is supported for now")
    if offsets[0].dim() != 1:
        raise RuntimeError(f"{name}(): expected 1D offsets, but got offsets.dim() == {offsets[0].dim()}")
    return offsets[0].tolist()


def padded_of_jagged(
    values: Tensor, offsets: Sequence[Tensor], max_lengths: Sequence[int], padding_value: float = 0.0
) -> Tensor:
    """The rows of each part, cut at the greatest length, and ``padding_value`` after them.

    Args:
        values: shape (rows, ...): all parts.
        offsets: one tensor, which says where each part begins, and where the last one ends.
        max_lengths: one length, that of each part in the result.
    """
    bounds, (longest,) = _bounds("_jagged_to_padded_dense_forward", offsets), max_lengths
    parts = len(bounds) - 1
    places = np.arange(longest)[None] + np.asarray(bounds[:-1], np.int64)[:, None]
    inside = places < np.asarray(bounds[1:], np.int64)[:, None]
    shape = (parts, longest, *values.shape[1:])
    if not inside.any():
        return values.new_full(shape, padding_value)
    rows = values.index_select(0, _on(np.where(inside, places, bounds[-1] - 1).reshape(-1), values)).reshape(shape)
    mask = _on(inside, values).reshape(parts, longest, *(1,) * (values.dim() - 1))
    return ops.where(mask, rows, rows.new_full((), padding_value))


def jagged_of_padded(dense: Tensor, offsets: Sequence[Tensor], total_L: int | None = None) -> Tensor:
    """The first rows of each matrix, as many as its part has, one part after the other.

    Args:
        dense: shape (parts, rows, ...).
        total_L: how many rows all parts have together.
    """
    name = "_padded_dense_to_jagged_forward"
    bounds = _bounds(name, offsets)
    lengths = [end - start for start, end in itertools.pairwise(bounds)]
    if dense.dim() < 2:
        raise RuntimeError(f"{name}(): expected padded dim >= 2, but padded.dim() == {dense.dim()}")
    if total_L is not None and bounds[-1] != total_L:
        raise RuntimeError(f"{name}(): final offset should match total_L value")
    if len(lengths) != dense.shape[0]:
        raise RuntimeError(
            f"{name}(): expected offsets.size(0) == padded.size(0) + 1, but got offsets.size(0) == {len(bounds)} and "
            f"padded.size(0) == {dense.shape[0]}"
        )
    if max(lengths, default=0) > dense.shape[1]:
        raise RuntimeError(
            f"{name}(): found batch item of length {max(lengths)} when max length specified by padded input is {dense.shape[1]}"
        )
    where = [number * dense.shape[1] + np.arange(length) for number, length in enumerate(lengths)]
    index = np.concatenate(where) if where else np.zeros(0, np.int64)
    return dense.flatten(0, 1).index_select(0, _on(index, dense))


def _on(array: np.ndarray, like: Tensor) -> Tensor:
    return from_host(np.ascontiguousarray(array)).to(like.device)


def nested_from_padded(
    padded: Tensor,
    offsets: Tensor,
    ragged_idx: int = 1,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
    sum_S: int | None = None,
) -> NestedTensor:
    """The jagged nested tensor of which a padded tensor has the parts.

    Args:
        offsets: where each part begins, and where the last one ends.
        ragged_idx: the dimension along which the parts differ.
        sum_S: the sum of their lengths, where it is known.
    """
    if ragged_idx != 1:
        padded = padded.transpose(ragged_idx, 1)
    values = jagged_of_padded(padded, [offsets], sum_S)
    if ragged_idx != 1:
        values = values.transpose(ragged_idx - 1, 0)
    given = {"min_seqlen": min_seqlen, "max_seqlen": max_seqlen}
    known = tuple(name for name, length in given.items() if length is not None)
    return jagged_of([values], Arrangement(offsets, ragged_idx, known))
