"""Looks up rows of a table. The table's gradient is a sparse tensor of the rows that were looked up."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .._core.dtypes import int64
from .._core.layouts import sparse_coo
from .._core.sparse import Pattern, sparse_form
from .._core.tensor import Tensor, from_host
from ..autograd.function import Function
from ..ops.nn.embedding import looked_up
from ..ops.nn.embedding_bag import MEAN, bag_of, reaches_end
from ._parts import assembled

__all__: list[str] = []


def _gradient(indices: Tensor, rows: Tensor, shape: tuple[int, ...], padding_idx: int) -> Tensor:
    """The gradient of a table of this shape: for each index its row, but none for ``padding_idx``."""
    flat = indices.reshape(-1).to(int64)  # pyright: ignore[reportAttributeAccessIssue]
    if padding_idx >= 0:
        places = from_host(np.flatnonzero(flat._array() != padding_idx).astype(np.int64)).to(rows.device)
        flat, rows = flat.index_select(0, places), rows.index_select(0, places)  # pyright: ignore[reportAttributeAccessIssue]
    return assembled(Pattern(sparse_coo, (flat.reshape(1, -1),), shape), rows, False)


class _Embedding(Function):
    _node_name = "EmbeddingBackward0"

    @staticmethod
    def forward(ctx: Any, weight: Tensor, indices: Tensor, padding_idx: int, by_frequency: bool) -> Tensor:
        ctx.save_for_backward(indices)
        ctx.shape, ctx.padding_idx, ctx.by_frequency = tuple(weight.shape), padding_idx, by_frequency
        return looked_up(weight, indices, padding_idx, False)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor, None, None, None]:
        if ctx.by_frequency:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        (indices,) = ctx.saved_tensors
        return _gradient(indices, grads[0].reshape(-1, ctx.shape[1]), ctx.shape, ctx.padding_idx), None, None, None


@sparse_form("_sparse_embedding")
def embedding(weight: Tensor, indices: Tensor, padding_idx: int, by_frequency: bool) -> Tensor:
    return _Embedding.apply(weight, indices, padding_idx, bool(by_frequency))


class _EmbeddingBag(Function):
    _node_name = "EmbeddingBagBackward0"

    @staticmethod
    def forward(
        ctx: Any,
        weight: Tensor,
        per_sample_weights: Tensor | None,
        indices: Tensor,
        offsets: Tensor | None,
        by_frequency: bool,
        mode: int,
        include_last: bool,
        padding_idx: int | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        results = bag_of(weight, indices, offsets, False, mode, per_sample_weights, include_last, padding_idx)
        ctx.save_for_backward(weight, per_sample_weights, indices, results[1], results[2])
        ctx.by_frequency, ctx.mode = by_frequency, mode
        ctx.padding_idx = -1 if padding_idx is None else padding_idx % weight.shape[0]
        heeded = include_last and not reaches_end(mode, ctx.padding_idx, weight.element_size())
        ctx.end = offsets[-1] if heeded else None  # pyright: ignore[reportOptionalSubscript]
        ctx.mark_non_differentiable(*results[1:])
        return results

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if ctx.by_frequency:
            raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        weight, per_sample_weights, indices, bag, sizes = ctx.saved_tensors
        rows = grads[0].index_select(0, bag)
        flat, end = indices.reshape(-1), len(rows)
        if ctx.end is not None:  # indices after it are in no bag
            end = int(ctx.end)
            rows = rows * (ops.arange(len(rows), device=rows.device) < end).unsqueeze(1)
        if ctx.mode == MEAN:
            rows = rows / sizes.clamp_min(1).to(rows.dtype).index_select(0, bag).unsqueeze(1)
        of_weights = None
        if per_sample_weights is not None:
            of_weights = (rows * weight.index_select(0, flat)).sum(1)
            of_weights = (of_weights * (flat != ctx.padding_idx)).reshape(per_sample_weights.shape)
            rows = rows * per_sample_weights.reshape(-1, 1)
        gradient = _gradient(flat[:end], rows[:end], tuple(weight.shape), ctx.padding_idx)
        return gradient, of_weights, None, None, None, None, None, None


@sparse_form("_sparse_embedding_bag")
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor | None,
    by_frequency: bool,
    mode: int,
    per_sample_weights: Tensor | None,
    include_last: bool,
    padding_idx: int | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    last = ops.is_tensor(offsets) and include_last
    return _EmbeddingBag.apply(
        weight, per_sample_weights, indices, offsets, bool(by_frequency), mode, bool(last), padding_idx
    )
