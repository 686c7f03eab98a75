"""Calls of `ops` and `utils` and their gradients, the same with torchvision and with torchlike."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np


def boxes(torch: ModuleType, count: int, seed: int, size: float = 20.0) -> Any:
    """Returns boxes ``(count, 4)`` within a square, as x1, y1, x2, y2."""
    numbers = np.random.default_rng(seed).random((count, 2, 2)) * size
    numbers.sort(1)
    numbers[:, 1] += 0.5
    return torch.tensor(numbers.reshape(count, 4).astype(np.float32))


def floats(torch: ModuleType, *shape: int, seed: int = 0) -> Any:
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def scores(torch: ModuleType, count: int) -> Any:
    return torch.tensor(np.random.default_rng(5).random(count).astype(np.float32).round(1))


def regions(torch: ModuleType) -> Any:
    return torch.cat([torch.tensor([[0.0], [1], [1], [0], [1]]), boxes(torch, 5, 3, 16.0)], 1)


def with_gradients(function: Callable[..., Any], *inputs: Any) -> list[Any]:
    """Returns the result, and the gradients of a weighted sum of it."""
    for each in inputs:
        each.requires_grad_()
    result = function(*inputs)
    weights = (result.detach() * 0 + 1).cumsum(0).cumsum(-1)
    (result * weights).sum().backward()
    return [result.detach(), *(each.grad for each in inputs)]


def deformed(V: ModuleType, torch: ModuleType, groups: int, masked: bool) -> list[Any]:
    inputs = [
        floats(torch, 2, 4, 6, 7), floats(torch, 2, groups * 2 * 6, 3, 4, seed=1) * 2,
        floats(torch, 6, 2, 3, 2, seed=2), floats(torch, 6, seed=3),
    ]  # fmt: skip
    options = {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 2)}
    if not masked:
        return with_gradients(lambda x, offset, w, b: V.deform_conv2d(x, offset, w, b, **options), *inputs)
    mask = floats(torch, 2, groups * 6, 3, 4, seed=4).sigmoid().detach()
    return with_gradients(lambda x, offset, w, b, m: V.deform_conv2d(x, offset, w, b, mask=m, **options), *inputs, mask)


def seeded(torch: ModuleType, function: Callable[[], Any]) -> list[Any]:
    torch.manual_seed(3)
    return [function(), torch.rand(1)]


def weights_of(torch: ModuleType, make: Callable[[], Any], *inputs: Any) -> list[Any]:
    """Returns the parameters of a module made after a seed, and its results."""
    torch.manual_seed(0)
    module = make()
    return [*(each.detach() for each in module.parameters()), module(*inputs).detach()]


def pyramid(V: ModuleType, torch: ModuleType, extra: bool) -> list[Any]:
    from importlib import import_module

    torch.manual_seed(0)
    blocks = import_module(f"{V.__name__}.feature_pyramid_network")
    module = V.FeaturePyramidNetwork([2, 3, 4], 3, blocks.LastLevelP6P7(3, 3) if extra else blocks.LastLevelMaxPool())
    maps = {f"m{level}": floats(torch, 1, 2 + level, 8 >> level, 12 >> level, seed=level) for level in range(3)}
    return [each.detach() for each in module(maps).values()]


def pooled_levels(V: ModuleType, torch: ModuleType) -> list[Any]:
    pool = V.MultiScaleRoIAlign(["a", "b"], (3, 2), 2, canonical_scale=40, canonical_level=3)
    maps = {"a": floats(torch, 1, 2, 16, 16), "b": floats(torch, 1, 2, 8, 8, seed=1), "c": floats(torch, 1, 2, 4, 4)}
    return [pool(maps, [boxes(torch, 7, 2, 60.0)], [(64, 60)])]


Case = Callable[[ModuleType, ModuleType], Any]
CASES: dict[str, Case] = {
    "nms": lambda V, torch: V.nms(boxes(torch, 40, 0), scores(torch, 40), 0.3),
    "nms 0.05": lambda V, torch: V.nms(boxes(torch, 40, 1), scores(torch, 40), 0.05),
    "batched_nms": lambda V, torch: V.batched_nms(boxes(torch, 40, 0), scores(torch, 40), torch.arange(40) % 3, 0.3),
    "batched_nms many": lambda V, torch: V.batched_nms(
        boxes(torch, 1100, 0, 90.0), floats(torch, 1100), torch.arange(1100) % 7, 0.2
    )[:90],
    "box_area": lambda V, torch: V.box_area(boxes(torch, 6, 0)),
    "box_iou": lambda V, torch: with_gradients(V.box_iou, boxes(torch, 6, 0), boxes(torch, 5, 1)),
    "box_iou cxcywh": lambda V, torch: V.box_iou(boxes(torch, 6, 0), boxes(torch, 5, 1), fmt="cxcywh"),
    "box_iou integers": lambda V, torch: V.box_iou(boxes(torch, 6, 0).int(), boxes(torch, 5, 1).int(), fmt="xywh"),
    "generalized_box_iou": lambda V, torch: with_gradients(V.generalized_box_iou, boxes(torch, 6, 0), boxes(torch, 5, 1)),
    "distance_box_iou": lambda V, torch: with_gradients(V.distance_box_iou, boxes(torch, 6, 0), boxes(torch, 5, 1)),
    "complete_box_iou": lambda V, torch: with_gradients(V.complete_box_iou, boxes(torch, 6, 0), boxes(torch, 5, 1)),
    "clip_boxes_to_image": lambda V, torch: V.clip_boxes_to_image(boxes(torch, 6, 0) - 4, (9, 12)),
    "remove_small_boxes": lambda V, torch: V.remove_small_boxes(boxes(torch, 12, 0), 5.0),
    "masks_to_boxes": lambda V, torch: V.masks_to_boxes(floats(torch, 3, 9, 11) > 1.3),
    "generalized_box_iou_loss": lambda V, torch: with_gradients(
        V.generalized_box_iou_loss, boxes(torch, 6, 0), boxes(torch, 6, 1)
    ),
    "distance_box_iou_loss": lambda V, torch: with_gradients(
        V.distance_box_iou_loss, boxes(torch, 6, 0), boxes(torch, 6, 1)
    ),
    "complete_box_iou_loss": lambda V, torch: with_gradients(
        V.complete_box_iou_loss, boxes(torch, 6, 0), boxes(torch, 6, 1)
    ),
    "complete_box_iou_loss mean": lambda V, torch: V.complete_box_iou_loss(boxes(torch, 6, 0), boxes(torch, 6, 1), "mean"),
    "sigmoid_focal_loss": lambda V, torch: with_gradients(
        lambda x: V.sigmoid_focal_loss(x, (floats(torch, 4, 3, seed=1) > 0).float()), floats(torch, 4, 3)
    ),
    "sigmoid_focal_loss mean": lambda V, torch: V.sigmoid_focal_loss(
        floats(torch, 4, 3), (floats(torch, 4, 3, seed=1) > 0).float(), -1, 1.5, "mean"
    ),
    "roi_align": lambda V, torch: with_gradients(
        lambda x: V.roi_align(x, regions(torch), (3, 2), 0.7, 2), floats(torch, 2, 3, 10, 11)
    ),
    "roi_align aligned": lambda V, torch: with_gradients(
        lambda x: V.roi_align(x, regions(torch) - torch.tensor([0.0, 1, 1, 1, 1]), 4, aligned=True), floats(torch, 2, 3, 10, 11)
    ),
    "roi_align list": lambda V, torch: V.roi_align(
        floats(torch, 2, 3, 10, 11), [boxes(torch, 2, 0, 9.0), boxes(torch, 3, 1, 9.0)], 2
    ),
    "roi_pool": lambda V, torch: with_gradients(
        lambda x: V.roi_pool(x, regions(torch), (3, 2), 0.7), floats(torch, 2, 3, 10, 11)
    ),
    "ps_roi_align": lambda V, torch: with_gradients(
        lambda x: V.ps_roi_align(x, regions(torch), (3, 2), 0.7, 2), floats(torch, 2, 12, 10, 11)
    ),
    "ps_roi_align free": lambda V, torch: V.ps_roi_align(floats(torch, 2, 12, 10, 11), regions(torch), 2),
    "ps_roi_pool": lambda V, torch: with_gradients(
        lambda x: V.ps_roi_pool(x, regions(torch), (3, 2), 0.5), floats(torch, 2, 12, 10, 11)
    ),
    "deform_conv2d": lambda V, torch: deformed(V, torch, 1, False),
    "deform_conv2d masked": lambda V, torch: deformed(V, torch, 2, True),
    "stochastic_depth": lambda V, torch: seeded(torch, lambda: V.stochastic_depth(floats(torch, 6, 2), 0.4, "row")),
    "stochastic_depth batch": lambda V, torch: seeded(torch, lambda: V.stochastic_depth(floats(torch, 6, 2), 0.4, "batch")),
    "drop_block2d": lambda V, torch: seeded(torch, lambda: V.drop_block2d(floats(torch, 2, 2, 7, 8), 0.2, 3)),
    "drop_block3d": lambda V, torch: seeded(torch, lambda: V.drop_block3d(floats(torch, 1, 2, 5, 6, 7), 0.2, 3)),
    "MLP": lambda V, torch: weights_of(torch, lambda: V.MLP(4, [5, 3], norm_layer=torch.nn.LayerNorm), floats(torch, 2, 4)),
    "Conv2dNormActivation": lambda V, torch: weights_of(
        torch, lambda: V.Conv2dNormActivation(2, 3, (3, 5), dilation=2), floats(torch, 2, 2, 7, 9)
    ),
    "Conv3dNormActivation": lambda V, torch: weights_of(
        torch, lambda: V.Conv3dNormActivation(2, 3, norm_layer=None), floats(torch, 1, 2, 3, 4, 5)
    ),
    "SqueezeExcitation": lambda V, torch: weights_of(torch, lambda: V.SqueezeExcitation(4, 2), floats(torch, 2, 4, 3, 3)),
    "DeformConv2d": lambda V, torch: weights_of(
        torch, lambda: V.DeformConv2d(2, 3, 3, padding=1), floats(torch, 1, 2, 5, 5), floats(torch, 1, 18, 5, 5)
    ),
    "FrozenBatchNorm2d": lambda V, torch: V.FrozenBatchNorm2d(3)(floats(torch, 2, 3, 2, 2)),
    "Permute": lambda V, torch: V.Permute([2, 0, 1])(floats(torch, 2, 3, 4)),
    "FeaturePyramidNetwork": lambda V, torch: pyramid(V, torch, False),
    "FeaturePyramidNetwork more": lambda V, torch: pyramid(V, torch, True),
    "MultiScaleRoIAlign": pooled_levels,
} | {
    f"box_convert {a} {b}": lambda V, torch, a=a, b=b: V.box_convert(boxes(torch, 4, 0), a, b)
    for a in ("xyxy", "xywh", "cxcywh")
    for b in ("xyxy", "xywh", "cxcywh")
}  # fmt: skip


def picture(torch: ModuleType) -> Any:
    y, x = np.mgrid[:30, :40]
    return torch.tensor(np.stack([x * 6, y * 8, (x + y) * 3]).astype(np.uint8))


def drawn_points(U: ModuleType, torch: ModuleType) -> Any:
    points = torch.tensor([[[5.0, 6], [20, 9], [30, 25]], [[10, 20], [12, 3], [35, 5]]])
    seen = torch.tensor([[True, True, False], [True, True, True]])
    return U.draw_keypoints(picture(torch), points, [(0, 1), (1, 2)], "red", 2, 2, seen)


UTILS: dict[str, Case] = {
    "make_grid": lambda U, torch: U.make_grid(floats(torch, 5, 3, 4, 6), nrow=2, pad_value=0.5),
    "make_grid normalize": lambda U, torch: U.make_grid(floats(torch, 5, 1, 4, 6), normalize=True, padding=1),
    "make_grid each": lambda U, torch: U.make_grid(list(floats(torch, 4, 3, 4, 6)), normalize=True, scale_each=True),
    "make_grid range": lambda U, torch: U.make_grid(floats(torch, 4, 6), normalize=True, value_range=(-1, 1)),
    "draw_bounding_boxes": lambda U, torch: U.draw_bounding_boxes(picture(torch), boxes(torch, 3, 0, 28.0), width=2),
    "draw_bounding_boxes fill": lambda U, torch: U.draw_bounding_boxes(
        picture(torch), boxes(torch, 2, 0, 28.0), colors=["red", (0, 40, 90)], fill=True
    ),
    "draw_bounding_boxes grey": lambda U, torch: U.draw_bounding_boxes(
        picture(torch)[:1].float() / 255, boxes(torch, 2, 0, 28.0), colors="#10F0A0"
    ),
    "draw_segmentation_masks": lambda U, torch: U.draw_segmentation_masks(
        picture(torch), floats(torch, 2, 30, 40) > 0.5, 0.6
    ),
    "draw_segmentation_masks floats": lambda U, torch: U.draw_segmentation_masks(
        picture(torch).float() / 255, floats(torch, 30, 40) > 0.5, colors=["blue"]
    ),
    "draw_keypoints": drawn_points,
    "flow_to_image": lambda U, torch: U.flow_to_image(floats(torch, 2, 9, 11)),
    "flow_to_image batch": lambda U, torch: U.flow_to_image(floats(torch, 2, 2, 5, 6)),
}


def arrays(result: Any) -> list[np.ndarray]:
    results = result if isinstance(result, list) else [result]
    return [each.detach().numpy().copy() for each in results]


def arrays_of(ops: ModuleType, utils: ModuleType, torch: ModuleType) -> dict[str, np.ndarray]:
    """Returns everything that is recorded, by name."""
    found = {}
    for prefix, cases, module in (("O", CASES, ops), ("U", UTILS, utils)):
        for name, case in cases.items():
            found |= {f"{prefix}.{name}/{number}": each for number, each in enumerate(arrays(case(module, torch)))}
    return found
