"""Causal masks for different numbers of queries and keys."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ..._core.tensor import Tensor, alias
from ..._core.torch_function import disabled_torch_function_impl
from ...ops.creation.filled import ones

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """The corner of the mask at which its diagonal begins."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A causal mask of booleans, (queries, keys), that knows its variant.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.bias.CausalBias.html
    """

    __torch_function__ = disabled_torch_function_impl
    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return self._shown(plain=True)


def _mask(variant: CausalVariant, size: tuple[Any, ...]) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{variant.name.lower()} only supports 2D tensors, got {len(size)}D")
    queries, keys = size
    offset = keys - queries if variant is CausalVariant.LOWER_RIGHT else 0
    mask: Any = alias(ones(queries, keys).tril(offset).bool(), CausalBias)  # pyright: ignore[reportAttributeAccessIssue]
    mask.variant, mask.seq_len_q, mask.seq_len_kv = variant, queries, keys
    return mask


def causal_upper_left(*size: int) -> CausalBias:
    """The mask in which the first query sees the first key, and each later query one key more.

    >>> torch.nn.attention.bias.causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.bias.causal_upper_left.html
    """
    return _mask(CausalVariant.UPPER_LEFT, size)


def causal_lower_right(*size: int) -> CausalBias:
    """The mask in which the last query sees all keys, and each earlier query one key less.

    >>> torch.nn.attention.bias.causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.bias.causal_lower_right.html
    """
    return _mask(CausalVariant.LOWER_RIGHT, size)
