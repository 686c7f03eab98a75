"""Losses with a margin between scores or distances."""

from __future__ import annotations

from typing import Any

from ..._core.tensor import Tensor
from ...dispatch.arguments import check_flags, check_value
from ...dispatch.autocast import under_autocast
from ...dispatch.register import Autocast
from ...ops.elementwise import extrema
from ...ops.nn import distance as _distance, loss as _loss
from ...ops.nn.distance import pairwise_distance

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))`` for targets 1 and -1."""
    return _loss.soft_margin_loss(input, target, _loss.legacy_reduction(size_average, reduce, reduction))


@under_autocast(cpu=Autocast.FLOAT32, cuda=Autocast.FLOAT32)
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``: whether the first of each pair ranks higher (1) or lower (-1).

    >>> F.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([2.0]), torch.tensor([1.0]), margin=0.5)
    tensor(1.5000)
    """
    reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    check_value("margin_ranking_loss", "margin", 4, "float", margin)
    return _distance.reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@under_autocast(cpu=Autocast.FLOAT32, cuda=Autocast.FLOAT32)
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1."""
    reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    check_value("hinge_embedding_loss", "margin", 3, "float", margin)
    far = (float(margin) - input).clamp_min(0)
    return _distance.reduced(far.masked_fill(target == 1, 0) + input.masked_fill(target == -1, 0), reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with the distance of norm ``p``.

    Args:
        swap: take the distance from the positive to the negative where that is smaller.

    >>> F.triplet_margin_loss(torch.zeros(1, 2), torch.tensor([[0.0, 1.0]]), torch.tensor([[0.0, 1.5]]))
    tensor(0.5000)
    """
    reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    check_flags("triplet_margin_loss", swap=(7, swap))
    return _distance.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``triplet_margin_loss`` with any distance."""
    _loss.check_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = distance_function or pairwise_distance
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            f"{anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = extrema.minimum(far, distance(positive, negative))
    return _distance.reduced((near - far + margin).clamp_min(0), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` for pairs with target 1, ``max(0, cos - margin)`` for those with -1.

    >>> F.cosine_embedding_loss(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]), torch.tensor([1.0]))
    tensor(0.2929)
    """
    reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    check_value("cosine_embedding_loss", "margin", 4, "float", margin)
    return _distance.cosine_embedding_loss(input1, input2, target, float(margin), reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Binary cross entropy of each class's logit, averaged over the classes."""
    reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    return _distance.multilabel_soft_margin_loss(input, target, weight, reduction)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, margin - x[target] + x[class]) ** p``, averaged over the other classes."""
    reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return _distance.multi_margin_loss(input, target, weight, p, margin, reduction)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Hinge loss between each labelled class and each other one; a row's labels end before its first -1."""
    reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    return _distance.multilabel_margin_loss(input, target, reduction)
