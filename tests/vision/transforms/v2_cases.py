"""Transforms of the second version, called with a picture, its boxes and its masks."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from tests.vision.transforms.transform_cases import HEIGHT, WIDTH, pixels

Make = Callable[[Any], Any]

# Transforms that draw random numbers or move pixels, called with boxes and masks.
WITH_BOXES: dict[str, Make] = {
    "RandomHorizontalFlip": lambda T: T.RandomHorizontalFlip(),
    "RandomVerticalFlip": lambda T: T.RandomVerticalFlip(0.8),
    "Resize": lambda T: T.Resize((9, 12)),
    "Resize short": lambda T: T.Resize(12, max_size=13),
    "CenterCrop": lambda T: T.CenterCrop((9, 22)),
    "RandomResizedCrop": lambda T: T.RandomResizedCrop(9),
    "Pad": lambda T: T.Pad([1, 2, 3, 4], fill=3),
    "RandomZoomOut": lambda T: T.RandomZoomOut(side_range=(1.0, 2.0), p=0.8),
    "RandomRotation": lambda T: T.RandomRotation(45),
    "RandomRotation expand": lambda T: T.RandomRotation((20, 70), expand=True),
    "RandomAffine": lambda T: T.RandomAffine(30, translate=(0.1, 0.3), scale=(0.7, 1.3), shear=(-9, 9, -5, 5), fill=2),
    "RandomCrop": lambda T: T.RandomCrop(8, padding=2),
    "RandomCrop pad_if_needed": lambda T: T.RandomCrop((20, 12), pad_if_needed=True),
    "RandomPerspective": lambda T: T.RandomPerspective(0.6, p=0.8),
    "ElasticTransform": lambda T: T.ElasticTransform(40.0, 2.0),
    "RandomIoUCrop": lambda T: T.RandomIoUCrop(sampler_options=[0.1, 0.3]),
    "ScaleJitter": lambda T: T.ScaleJitter((14, 18), (0.5, 1.5)),
    "RandomShortestSize": lambda T: T.RandomShortestSize([8, 12, 20], 22),
    "RandomResize": lambda T: T.RandomResize(8, 20),
    "ColorJitter": lambda T: T.ColorJitter(0.4, 0.3, 0.5, 0.2),
    "RandomPhotometricDistort": lambda T: T.RandomPhotometricDistort(p=0.6),
    "RandomGrayscale": lambda T: T.RandomGrayscale(0.5),
    "Grayscale": lambda T: T.Grayscale(),
    "RandomChannelPermutation": lambda T: T.RandomChannelPermutation(),
    "RandomInvert": lambda T: T.RandomInvert(),
    "RandomPosterize": lambda T: T.RandomPosterize(3),
    "RandomSolarize": lambda T: T.RandomSolarize(120),
    "RandomAutocontrast": lambda T: T.RandomAutocontrast(),
    "RandomEqualize": lambda T: T.RandomEqualize(),
    "RandomAdjustSharpness": lambda T: T.RandomAdjustSharpness(2.0),
    "GaussianBlur": lambda T: T.GaussianBlur(5),
    "GaussianNoise": lambda T: T.GaussianNoise(),
    "RandomErasing": lambda T: T.RandomErasing(0.8),
    "Compose": lambda T: T.Compose([T.RandomCrop(14), T.RandomHorizontalFlip(), T.Resize(8)]),
    "RandomApply": lambda T: T.RandomApply([T.RandomCrop(7)], p=0.6),
    "RandomChoice": lambda T: T.RandomChoice([T.CenterCrop(5), T.RandomCrop(7), T.Pad(1)], p=[0.2, 0.5, 0.3]),
    "RandomOrder": lambda T: T.RandomOrder([T.CenterCrop(12), T.RandomRotation(30), T.Pad(1)]),
    "SanitizeBoundingBoxes": lambda T: T.SanitizeBoundingBoxes(min_size=4),
    "ConvertBoundingBoxFormat": lambda T: T.ConvertBoundingBoxFormat("CXCYWH"),
    "ClampBoundingBoxes": lambda T: T.ClampBoundingBoxes(),
}
# The sample has only a picture.
PICTURES: dict[str, Make] = {
    "AutoAugment": lambda T: T.AutoAugment(),
    "AutoAugment CIFAR10": lambda T: T.AutoAugment(T.AutoAugmentPolicy.CIFAR10),
    "RandAugment": lambda T: T.RandAugment(3),
    "TrivialAugmentWide": lambda T: T.TrivialAugmentWide(),
}
SEEDS = 3
FORMATS = ("XYXY", "XYWH", "CXCYWH")


def sample(torch: ModuleType, tv_tensors: ModuleType, seed: int) -> dict[str, Any]:
    """Returns a picture with three boxes, whose format depends on the seed, their labels, and two masks."""
    picture = torch.tensor(pixels().transpose(2, 0, 1).copy())
    boxes = torch.tensor([[1.0, 2, 9, 12], [5, 3, 7, 6], [10, 8, 18, 15]])
    form = FORMATS[seed % 3]
    if form != "XYXY":
        boxes[:, 2:] -= boxes[:, :2]
    if form == "CXCYWH":
        boxes[:, :2] += boxes[:, 2:] / 2
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    masks = np.stack([(x > 4) & (y > 3), x + y < 15, y > 9]).astype(np.uint8)
    return {
        "image": tv_tensors.Image(picture),
        "boxes": tv_tensors.BoundingBoxes(boxes, format=form, canvas_size=(HEIGHT, WIDTH)),
        "masks": tv_tensors.Mask(torch.tensor(masks)),
        "labels": torch.tensor([4, 5, 6]),
    }


def plain(torch: ModuleType, tensor: Any) -> np.ndarray:
    return tensor.as_subclass(torch.Tensor).numpy().copy()


def run(v2: ModuleType, tv_tensors: ModuleType, torch: ModuleType, name: str) -> dict[str, np.ndarray]:
    """Returns the parts of the results for some seeds, the size of the boxes' picture, and the next random number."""
    make = (WITH_BOXES | PICTURES)[name]
    found = {}
    for seed in range(SEEDS):
        inputs = sample(torch, tv_tensors, seed)
        if name in PICTURES:
            inputs = {"image": inputs["image"], "labels": inputs["labels"]}
        torch.manual_seed(seed)
        outputs = make(v2)(inputs)
        found |= {f"{seed}/{part}": plain(torch, each) for part, each in outputs.items() if part != "labels"}
        found[f"{seed}/labels"] = outputs["labels"].numpy()
        if "boxes" in outputs:
            found[f"{seed}/size"] = np.array(outputs["boxes"].canvas_size)
        found[f"{seed}/next"] = torch.rand(1).numpy().copy()
    return found


def mixed(v2: ModuleType, torch: ModuleType) -> dict[str, np.ndarray]:
    """Returns batches after MixUp and CutMix."""
    found = {}
    for name in ("MixUp", "CutMix"):
        for seed in range(SEEDS):
            torch.manual_seed(seed)
            batch = torch.rand(4, 3, 6, 7)
            pictures, labels = getattr(v2, name)(num_classes=5, alpha=0.7)(batch, torch.tensor([0, 3, 1, 4]))
            found |= {f"{name}/{seed}/pictures": pictures.numpy(), f"{name}/{seed}/labels": labels.numpy()}
    return found


def arrays_of(v2: ModuleType, tv_tensors: ModuleType, torch: ModuleType) -> dict[str, np.ndarray]:
    """Returns everything that is recorded, by name."""
    arrays = {}
    for name in WITH_BOXES | PICTURES:
        arrays |= {f"{name}/{part}": each for part, each in run(v2, tv_tensors, torch, name).items()}
    return arrays | mixed(v2, torch)


def words(v2: ModuleType) -> dict[str, str]:
    """Returns the printed forms of the transforms."""
    return {name: repr(make(v2)) for name, make in (WITH_BOXES | PICTURES).items()}
