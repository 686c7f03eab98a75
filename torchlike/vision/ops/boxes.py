"""Boxes in pictures: their forms, areas, overlaps, and which of them to keep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import ops
from ..._core import dtypes
from ..._core.tensor import Tensor, from_host
from ...autograd import no_grad

__all__ = [
    "batched_nms", "box_area", "box_convert", "box_iou", "clip_boxes_to_image", "complete_box_iou", "distance_box_iou",
    "generalized_box_iou", "masks_to_boxes", "nms", "remove_small_boxes",
]  # fmt: skip

FORMATS = ("xyxy", "xywh", "cxcywh")
ROTATED = ("xywhr", "cxcywhr", "xyxyxyxy")
PI_SQUARED = 9.869604401089358


def upcast(boxes: Tensor) -> Tensor:
    """Numbers of a type in which products do not overflow."""
    if boxes.is_floating_point():
        return boxes if boxes.dtype in (dtypes.float32, dtypes.float64) else boxes.float()
    return boxes if boxes.dtype in (dtypes.int32, dtypes.int64) else boxes.int()


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Non-maximum suppression: of boxes that overlap, those with the highest scores.

    Args:
        boxes: ``(N, 4)``, as x1, y1, x2, y2.
        scores: ``(N,)``.
        iou_threshold: boxes whose intersection is a larger part of their union than this are not both kept.

    Returns:
        The numbers of the boxes that are kept, by falling score.

    Raises:
        RuntimeError: other shapes, or two dtypes.

    >>> import torchlike as torch
    >>> from torchlike.vision import ops
    >>> boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30]])
    >>> ops.nms(boxes, torch.tensor([0.8, 0.9, 0.5]), 0.5)
    tensor([1, 2])

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.nms.html
    """
    if boxes.ndim != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {boxes.ndim}D")
    if boxes.shape[1] != 4:
        raise RuntimeError(f"boxes should have 4 elements in dimension 1, got {boxes.shape[1]}")
    if scores.ndim != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.ndim}D")
    if len(boxes) != len(scores):
        raise RuntimeError(
            f"boxes and scores should have same number of elements in dimension 0, got {len(boxes)} and {len(scores)}"
        )
    if boxes.dtype is not scores.dtype:
        raise RuntimeError("dets should have the same type as scores")
    numbers = _boxes_to_keep(boxes.detach().cpu().numpy(), scores.detach().cpu().numpy(), np.float64(iou_threshold))
    return from_host(numbers).to(boxes.device)


def _boxes_to_keep(boxes: np.ndarray, scores: np.ndarray, threshold: np.float64) -> np.ndarray:
    x1, y1, x2, y2 = boxes.T
    areas = (x2 - x1) * (y2 - y1)
    order = np.argsort(-scores, kind="stable")
    suppressed, kept_boxes = np.zeros(len(boxes), bool), []
    for place, box in enumerate(order):
        if suppressed[box]:
            continue
        kept_boxes.append(box)
        others = order[place + 1 :]
        width = np.minimum(x2[box], x2[others]) - np.maximum(x1[box], x1[others])
        height = np.minimum(y2[box], y2[others]) - np.maximum(y1[box], y1[others])
        common = np.maximum(width, 0) * np.maximum(height, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            suppressed[others] |= common / (areas[box] + areas[others] - common) > threshold
    return np.array(kept_boxes, np.int64)


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """Non-maximum suppression in each category by itself.

    Args:
        idxs: the category of each box. The other arguments are those of ``nms``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.batched_nms.html
    """
    # torchvision's limit on the CPU, above which it goes through the categories one by one.
    if boxes.numel() > 4000:
        keeps = ops.zeros_like(scores, dtype=dtypes.bool_)
        for category in ops.unique(idxs).tolist():
            places = ops.where(idxs == category)[0]
            keeps[places[nms(boxes[places], scores[places], iou_threshold)]] = True
        places = ops.where(keeps)[0]
        return places[scores[places].sort(descending=True)[1]]
    if boxes.numel() == 0:
        return ops.empty((0,), dtype=dtypes.int64, device=boxes.device)
    # Boxes of different categories are moved so far apart that they cannot overlap.
    away = idxs.to(boxes.dtype) * (boxes.max() + 1)
    return nms(boxes + away[:, None], scores, iou_threshold)


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """The numbers of the boxes ``(N, 4)``, as x1, y1, x2, y2, both sides of which are at least ``min_size``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.remove_small_boxes.html
    """
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return ops.where((width >= min_size) & (height >= min_size))[0]


def clip_boxes_to_image(boxes: Tensor, size: Sequence[int]) -> Tensor:
    """The parts of boxes ``(..., 4)``, as x1, y1, x2, y2, within a picture of this height and width.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.clip_boxes_to_image.html
    """
    height, width = size
    x, y = boxes[..., 0::2].clamp(0, width), boxes[..., 1::2].clamp(0, height)
    return ops.stack((x, y), -1).reshape(boxes.shape)


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Boxes ``(..., 4)`` in another form: "xyxy" (two corners), "xywh" (corner, size), or "cxcywh" (middle, size).

    Raises:
        ValueError: another form. NotImplementedError: a form of rotated boxes.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.box_convert.html
    """
    for name in (in_fmt, out_fmt):
        if name in ROTATED:
            raise NotImplementedError(f"box_convert: rotated boxes ({name!r}) are not supported by torchlike")
        if name not in FORMATS:
            raise ValueError(f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}")
    if in_fmt == out_fmt:
        return boxes.clone()
    corners = corners_of(boxes, in_fmt)
    if out_fmt == "xyxy":
        return corners
    x1, y1, x2, y2 = corners.unbind(-1)
    if out_fmt == "xywh":
        return ops.stack((x1, y1, x2 - x1, y2 - y1), -1)
    return ops.stack(((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1), -1)


def corners_of(boxes: Tensor, fmt: str) -> Tensor:
    """Boxes as x1, y1, x2, y2."""
    if fmt == "xyxy":
        return boxes
    x, y, width, height = boxes.unbind(-1)
    if fmt == "cxcywh":
        return ops.stack((x - 0.5 * width, y - 0.5 * height, x + 0.5 * width, y + 0.5 * height), -1)
    return ops.stack((x, y, x + width, y + height), -1)


def box_area(boxes: Tensor, fmt: str = "xyxy") -> Tensor:
    """The areas of boxes ``(..., 4)``.

    Raises:
        ValueError: a form that is not one of "xyxy", "xywh", "cxcywh".

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.box_area.html
    """
    if fmt not in FORMATS:
        raise ValueError(f"Unsupported Bounding Box area for given format {fmt}")
    boxes = upcast(boxes)
    if fmt != "xyxy":
        return boxes[..., 2] * boxes[..., 3]
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def _overlaps(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> tuple[Tensor, Tensor]:
    """Areas of the intersections and of the unions ``(..., N, M)``."""
    first, second = corners_of(boxes1, fmt)[..., :, None, :], corners_of(boxes2, fmt)[..., None, :, :]
    left_top = ops.maximum(first[..., :2], second[..., :2])
    right_bottom = ops.minimum(first[..., 2:], second[..., 2:])
    sides = upcast(right_bottom - left_top).clamp(min=0)
    common = sides[..., 0] * sides[..., 1]
    areas = box_area(boxes1, fmt)[..., :, None] + box_area(boxes2, fmt)[..., None, :]
    return common, areas - common


def _around(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Width and height ``(..., N, M, 2)`` of the smallest boxes around both."""
    first, second = boxes1[..., :, None, :], boxes2[..., None, :, :]
    span = ops.maximum(first[..., 2:], second[..., 2:]) - ops.minimum(first[..., :2], second[..., :2])
    return upcast(span).clamp(min=0)


def box_iou(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> Tensor:
    """Intersection over union of each box of ``(..., N, 4)`` with each of ``(..., M, 4)``: ``(..., N, M)``.

    Raises:
        ValueError: another form. NotImplementedError: a form of rotated boxes.

    >>> import torchlike as torch
    >>> from torchlike.vision import ops
    >>> ops.box_iou(torch.tensor([[0.0, 0, 2, 2]]), torch.tensor([[1.0, 0, 3, 2], [0, 0, 2, 2]]))
    tensor([[0.3333, 1.0000]])

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.box_iou.html
    """
    if fmt in ROTATED:
        raise NotImplementedError(f"box_iou: rotated boxes ({fmt!r}) are not supported by torchlike")
    if fmt not in FORMATS:
        raise ValueError(
            f"Unsupported format '{fmt}'. Supported axis-aligned formats: {FORMATS}. "
            f"Supported rotated formats: {ROTATED}."
        )
    common, union = _overlaps(boxes1, boxes2, fmt)
    return common / union


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Intersection over union, less the part of the smallest box around both that neither covers: ``(..., N, M)``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.generalized_box_iou.html, and Rezatofighi
    et al., "Generalized Intersection over Union", https://arxiv.org/abs/1902.09630
    """
    common, union = _overlaps(boxes1, boxes2)
    sides = _around(boxes1, boxes2)
    area = sides[..., 0] * sides[..., 1]
    return common / union - (area - union) / area


def _distance_iou(boxes1: Tensor, boxes2: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """The distance IoU, and the IoU itself."""
    iou = box_iou(boxes1, boxes2)
    diagonal = (_around(boxes1, boxes2) ** 2).sum(-1) + eps
    first, second = ((boxes[..., :2] + boxes[..., 2:]) / 2 for boxes in (boxes1, boxes2))
    distance = (upcast(first[..., :, None, :] - second[..., None, :, :]) ** 2).sum(-1)
    return iou - distance / diagonal, iou


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """Intersection over union, less the squared distance of the middles in diagonals of the box around both.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.distance_box_iou.html, and Zheng et al.,
    "Distance-IoU Loss", https://arxiv.org/abs/1911.08287
    """
    return _distance_iou(upcast(boxes1), upcast(boxes2), eps)[0]


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """The distance IoU, less a term for different aspect ratios.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.complete_box_iou.html, and Zheng et al.,
    "Distance-IoU Loss", https://arxiv.org/abs/1911.08287
    """
    boxes1, boxes2 = upcast(boxes1), upcast(boxes2)
    distance, iou = _distance_iou(boxes1, boxes2, eps)
    angles = [
        ((corners[..., 2] - corners[..., 0]) / (corners[..., 3] - corners[..., 1])).atan()
        for corners in (boxes1, boxes2)
    ]
    shape = 4 / PI_SQUARED * (angles[0][..., :, None] - angles[1][..., None, :]) ** 2
    with no_grad():
        weight = shape / (1 - iou + shape + eps)
    return distance - weight * shape


def masks_to_boxes(masks: Tensor) -> Tensor:
    """The smallest boxes ``(N, 4)``, as x1, y1, x2, y2 of pixels, around masks ``(N, H, W)``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.masks_to_boxes.html
    """
    if masks.numel() == 0:
        return ops.zeros((0, 4), dtype=dtypes.float32, device=masks.device)
    boxes = []
    for mask in masks.cpu().numpy():
        rows, columns = np.nonzero(mask)
        boxes.append([columns.min(), rows.min(), columns.max(), rows.max()])
    return from_host(np.array(boxes, np.float32)).to(masks.device)
