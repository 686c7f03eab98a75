"""Losses for detection: of overlapping boxes, and for rare classes."""

from __future__ import annotations

from ... import ops
from ..._core import dtypes
from ..._core.tensor import Tensor
from ...autograd import no_grad
from ...nn import functional as F
from .boxes import PI_SQUARED

__all__ = ["complete_box_iou_loss", "distance_box_iou_loss", "generalized_box_iou_loss", "sigmoid_focal_loss"]


def _reduced(loss: Tensor, reduction: str, empty_is_zero: bool = True) -> Tensor:
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    if reduction == "mean":
        return loss.mean() if loss.numel() > 0 or not empty_is_zero else 0.0 * loss.sum()
    raise ValueError(
        f"Invalid Value for arg 'reduction': '{reduction} \n Supported reduction modes: 'none', 'mean', 'sum'"
    )


def _floats(boxes: Tensor) -> Tensor:
    return boxes if boxes.dtype in (dtypes.float32, dtypes.float64) else boxes.float()


def _overlap(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Areas of intersection and union, and the sides ``(..., 2)`` of the box around both, box by box."""
    left_top, right_bottom = (
        ops.maximum(boxes1[..., :2], boxes2[..., :2]),
        ops.minimum(boxes1[..., 2:], boxes2[..., 2:]),
    )
    sides = right_bottom - left_top
    is_inside = (sides > 0).all(-1)
    common = ops.where(is_inside, sides[..., 0] * sides[..., 1], 0.0)
    areas = [(boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1]) for boxes in (boxes1, boxes2)]
    around = ops.maximum(boxes1[..., 2:], boxes2[..., 2:]) - ops.minimum(boxes1[..., :2], boxes2[..., :2])
    return common, areas[0] + areas[1] - common, around


def generalized_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """1 less the generalized IoU of boxes ``(N, 4)``, as x1, y1, x2, y2, with others, one by one.

    Args:
        reduction: "none", "mean" or "sum".
        eps: is added to divisors.

    Raises:
        ValueError: another reduction.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.generalized_box_iou_loss.html
    """
    common, union, around = _overlap(_floats(boxes1), _floats(boxes2))
    area = around[..., 0] * around[..., 1]
    return _reduced(1 - (common / (union + eps) - (area - union) / (area + eps)), reduction)


def _distance_loss(boxes1: Tensor, boxes2: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    common, union, around = _overlap(boxes1, boxes2)
    iou = common / (union + eps)
    middles = [(boxes[..., :2] + boxes[..., 2:]) / 2 for boxes in (boxes1, boxes2)]
    distance = ((middles[0] - middles[1]) ** 2).sum(-1)
    return 1 - iou + distance / ((around**2).sum(-1) + eps), iou


def distance_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """1 less the distance IoU of boxes, one by one. Arguments and errors are ``generalized_box_iou_loss``'s.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.distance_box_iou_loss.html
    """
    return _reduced(_distance_loss(_floats(boxes1), _floats(boxes2), eps)[0], reduction)


def complete_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """1 less the complete IoU of boxes, one by one. Arguments and errors are ``generalized_box_iou_loss``'s.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.complete_box_iou_loss.html
    """
    boxes1, boxes2 = _floats(boxes1), _floats(boxes2)
    loss, iou = _distance_loss(boxes1, boxes2, 1e-7)
    angles = [
        ((corners[..., 2] - corners[..., 0]) / (corners[..., 3] - corners[..., 1])).atan()
        for corners in (boxes1, boxes2)
    ]
    shape = 4 / PI_SQUARED * (angles[1] - angles[0]) ** 2
    with no_grad():
        weight = shape / (1 - iou + shape + eps)
    return _reduced(loss + weight * shape, reduction)


def sigmoid_focal_loss(
    inputs: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2, reduction: str = "none"
) -> Tensor:
    """Binary cross entropy in which what is classified well counts less: by ``(1 - p) ** gamma``.

    Args:
        inputs: logits.
        targets: 0 or 1 for each.
        alpha: the weight of ones, 1 - alpha that of zeros; -1: no weights.
        reduction: "none", "mean" or "sum".

    Raises:
        ValueError: another reduction, or a weight that is not from 0 to 1.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.sigmoid_focal_loss.html, and Lin et al.,
    "Focal Loss for Dense Object Detection", https://arxiv.org/abs/1708.02002
    """
    if not (0 <= alpha <= 1) and alpha != -1:
        raise ValueError(f"Invalid alpha value: {alpha}. alpha must be in the range [0,1] or -1 for ignore.")
    p = inputs.sigmoid()
    entropy = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    right = p * targets + (1 - p) * (1 - targets)
    loss = entropy * (1 - right) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return _reduced(loss, reduction, empty_is_zero=False)
