"""Causal masks for queries and keys of different number."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ..._core.tensor import Tensor, alias
from ...ops.creation.filled import ones

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """At which corner the diagonal begins up to which queries may look."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask of booleans, (queries, keys), that knows which one it is.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.bias.CausalBias.html
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int


def _mask(variant: CausalVariant, size: tuple[Any, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{variant.name.lower()} only supports 2D tensors, got {len(size)}D")
    queries, keys = size
    offset = keys - queries if variant is CausalVariant.LOWER_RIGHT else 0
    made: Any = alias(ones(queries, keys).tril(offset).bool(), CausalBias)  # pyright: ignore[reportAttributeAccessIssue]
    made.variant, made.seq_len_q, made.seq_len_kv = variant, queries, keys
    return made


def causal_upper_left(*size: int) -> CausalBias:
    """The mask with which the first query looks at the first key, and each further one at one more.

    >>> torch.nn.attention.bias.causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.bias.causal_upper_left.html
    """
    return _mask(CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """The mask with which the last query looks at all keys, and each before it at one less.

    >>> torch.nn.attention.bias.causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.bias.causal_lower_right.html
    """
    return _mask(CausalVariant.LOWER_RIGHT, size)
