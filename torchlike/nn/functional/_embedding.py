"""Rows of a table looked up by number."""

from __future__ import annotations

import warnings

from ..._core import dtypes
from ..._core.tensor import Tensor
from ...dispatch.arguments import check_flags, check_value
from ...ops.nn.embedding import embedding as _embedding
from ...ops.nn.embedding_bag import MAX, MEAN, SUM, bag_of
from ...ops.reduction.reduce import vector_norm

__all__ = ["embedding", "embedding_bag"]


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
        sparse: make the gradient of ``weight`` a sparse tensor, of the rows that were named.

    >>> F.embedding(torch.tensor([1, 0]), torch.tensor([[1.0], [2.0]]))
    tensor([[2.],
            [1.]])

    Raises:
        IndexError: there is no such row.
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


def _shorten_rows(weight: Tensor, rows: Tensor, max_norm: float, norm_type: float) -> None:
    from ...autograd.grad_mode import no_grad

    with no_grad():
        numbers = rows.reshape(-1).unique()
        vectors = weight[numbers]
        norms = vector_norm(vectors, norm_type, 1, True)
        scale = (max_norm / (norms + 1e-7)).clamp_max(1.0)
        weight[numbers] = vectors * scale


_BAG_MODES = {"sum": SUM, "mean": MEAN, "max": MAX}


def _check_bags(input: Tensor, weight: Tensor, offsets: Tensor | None, per_sample_weights: Tensor | None) -> None:
    """Raises a ValueError unless the shapes of ``embedding_bag``'s arguments go together."""
    if per_sample_weights is not None and tuple(input.shape) != tuple(per_sample_weights.shape):
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same shape as the "
            f"input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. However, "
                f"found offsets of type {type(offsets)}"
            )
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of each bag of rows of ``weight``: shape (bags, embedding_dim).

    Args:
        input: the numbers of the rows: shape (bags, length), or (n) with ``offsets``.
        offsets: the position in ``input`` at which each bag begins: shape (bags).
        mode: "sum", "mean" or "max".
        per_sample_weights: factors for the rows, of ``input``'s shape; for "sum" only.
        include_last_offset: the last offset is the end of the last bag.
        padding_idx: a row that is left out of all bags.
        max_norm, norm_type, scale_grad_by_freq, sparse: as in ``embedding``.

    >>> F.embedding_bag(torch.tensor([[0, 1]]), torch.tensor([[1.0], [2.0]]))
    tensor([[1.5000]])

    Raises:
        RuntimeError: there is no such row.
    """
    if weight.dtype.category <= dtypes.INTEGER and input.dtype.category > dtypes.INTEGER:
        warnings.warn(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, and "
            "should now be `embedding_bag(input, weight, ...)`.",
            stacklevel=2,
        )
        weight, input = input, weight
    _check_bags(input, weight, offsets, per_sample_weights)
    if mode not in _BAG_MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    name = "embedding_bag"
    check_flags(name, scale_grad_by_freq=(4, scale_grad_by_freq), sparse=(6, sparse))
    check_flags(name, include_last_offset=(8, include_last_offset))
    check_value(name, "padding_idx", 9, "int | None", padding_idx)
    if max_norm is not None:
        check_value("embedding_renorm_", "max_norm", 3, "float", max_norm)
        _shorten_rows(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    return bag_of(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        _BAG_MODES[mode],
        per_sample_weights,
        include_last_offset and input.dim() == 1,  # the rows of a 2D input are the bags: there are no offsets
        padding_idx,
        sparse,
    )[0]
