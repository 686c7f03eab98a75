"""Rows of a table looked up by number."""

from __future__ import annotations

from typing import Any

from ..._core.tensor import Tensor
from ...ops.embedding import embedding as _embedding, one_hot as one_hot
from ...ops.reduce import vector_norm

__all__ = ["embedding", "one_hot"]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight`` that ``input`` names.

    Args:
        padding_idx: a row that gets no gradient.
        max_norm: rows that are longer are shortened to this norm, in place.
        scale_grad_by_freq: divide each row's gradient by how often it is named.

    >>> F.embedding(torch.tensor([1, 0]), torch.tensor([[1.0], [2.0]]))
    tensor([[2.],
            [1.]])

    Raises:
        IndexError: there is no such row. NotImplementedError: ``sparse=True``.
    """
    if padding_idx is not None:
        count = weight.shape[0]
        if padding_idx > 0:
            assert padding_idx < count, "Padding_idx must be within num_embeddings"
        elif padding_idx < 0:
            assert padding_idx >= -count, "Padding_idx must be within num_embeddings"
            padding_idx += count
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    return _embedding(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq, sparse)


def _shorten_rows(weight: Any, rows: Any, max_norm: float, norm_type: float) -> None:
    from ...autograd.grad_mode import no_grad

    with no_grad():
        used = rows.reshape(-1).unique()
        chosen = weight[used]
        norms = vector_norm(chosen, norm_type, 1, True)
        scale = (max_norm / (norms + 1e-7)).clamp_max(1.0)
        weight[used] = chosen * scale
