"""Transforms and the pictures on which they are called, the same for torchvision and for torchlike."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

HEIGHT, WIDTH = 16, 19
SEEDS = 3

# Names of functions of `transforms.functional`, with their arguments.
FUNCTIONS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "adjust_brightness": ("adjust_brightness", (1.3,), {}),
    "adjust_contrast": ("adjust_contrast", (0.6,), {}),
    "adjust_saturation": ("adjust_saturation", (1.7,), {}),
    "adjust_hue": ("adjust_hue", (0.2,), {}),
    "adjust_hue back": ("adjust_hue", (-0.45,), {}),
    "adjust_gamma": ("adjust_gamma", (1.8, 0.9), {}),
    "adjust_sharpness": ("adjust_sharpness", (2.0,), {}),
    "adjust_sharpness soft": ("adjust_sharpness", (0.3,), {}),
    "autocontrast": ("autocontrast", (), {}),
    "equalize": ("equalize", (), {}),
    "invert": ("invert", (), {}),
    "posterize": ("posterize", (3,), {}),
    "rgb_to_grayscale": ("rgb_to_grayscale", (), {}),
    "rgb_to_grayscale 3": ("rgb_to_grayscale", (3,), {}),
    "gaussian_blur": ("gaussian_blur", ([5, 3],), {}),
    "gaussian_blur sigma": ("gaussian_blur", (5, [1.5, 0.7]), {}),
    "vflip": ("vflip", (), {}),
    "hflip": ("hflip", (), {}),
    "resized_crop": ("resized_crop", (2, 3, 9, 8, [12, 13]), {}),
    "pad": ("pad", ([1, 2, 3, 4],), {"fill": 7}),
    "pad edge": ("pad", ([1, 2],), {"padding_mode": "edge"}),
    "pad reflect": ("pad", (2,), {"padding_mode": "reflect"}),
    "rotate": ("rotate", (31.0,), {}),
    "rotate expand": ("rotate", (31.0,), {"expand": True, "fill": [9.0]}),
    "rotate center": ("rotate", (-70.0,), {"center": [3, 4]}),
    "affine": ("affine", (25.0, [2, -1], 1.2, [10.0, 5.0]), {}),
    "affine center": ("affine", (-25.0, [0, 3], 0.7, 12.0), {"center": [2, 2], "fill": [5.0]}),
    "perspective": ("perspective", ([[0, 0], [18, 0], [18, 15], [0, 15]], [[2, 1], [17, 3], [15, 14], [1, 12]]), {}),
    "perspective fill": (
        "perspective", ([[0, 0], [18, 0], [18, 15], [0, 15]], [[2, 1], [17, 3], [15, 14], [1, 12]]), {"fill": [3.0]},
    ),
    "five_crop": ("five_crop", ([5, 7],), {}),
    "ten_crop": ("ten_crop", (6,), {"vertical_flip": True}),
}  # fmt: skip

# Transforms that draw numbers.
Make = Callable[[Any, Any], Any]
TRANSFORMS: dict[str, Make] = {
    "RandomResizedCrop": lambda T, torch: T.RandomResizedCrop(9),
    "RandomResizedCrop wide": lambda T, torch: T.RandomResizedCrop((6, 9), scale=(0.9, 1.0), ratio=(3.0, 4.0)),
    "RandomRotation": lambda T, torch: T.RandomRotation(45),
    "RandomRotation expand": lambda T, torch: T.RandomRotation((10, 80), expand=True, fill=3),
    "RandomAffine": lambda T, torch: T.RandomAffine(30, translate=(0.1, 0.3), scale=(0.7, 1.3), shear=15),
    "RandomAffine shear": lambda T, torch: T.RandomAffine(0, shear=(-10, 10, -20, 20), fill=(1, 2, 3)),
    "RandomPerspective": lambda T, torch: T.RandomPerspective(0.6, p=0.8),
    "ColorJitter": lambda T, torch: T.ColorJitter(0.4, 0.3, 0.5, 0.2),
    "ColorJitter hue": lambda T, torch: T.ColorJitter(hue=(-0.1, 0.4)),
    "RandomGrayscale": lambda T, torch: T.RandomGrayscale(0.5),
    "RandomVerticalFlip": lambda T, torch: T.RandomVerticalFlip(),
    "RandomHorizontalFlip": lambda T, torch: T.RandomHorizontalFlip(),
    "RandomCrop": lambda T, torch: T.RandomCrop(8, padding=2),
    "RandomCrop reflect": lambda T, torch: T.RandomCrop((17, 12), pad_if_needed=True, padding_mode="reflect"),
    "GaussianBlur": lambda T, torch: T.GaussianBlur(5),
    "RandomInvert": lambda T, torch: T.RandomInvert(),
    "RandomPosterize": lambda T, torch: T.RandomPosterize(2),
    "RandomSolarize": lambda T, torch: T.RandomSolarize(0.4),
    "RandomAdjustSharpness": lambda T, torch: T.RandomAdjustSharpness(2.5),
    "RandomAutocontrast": lambda T, torch: T.RandomAutocontrast(),
    "RandomEqualize": lambda T, torch: T.RandomEqualize(),
    "AutoAugment": lambda T, torch: T.AutoAugment(),
    "AutoAugment CIFAR10": lambda T, torch: T.AutoAugment(T.AutoAugmentPolicy.CIFAR10),
    "AutoAugment SVHN": lambda T, torch: T.AutoAugment(T.AutoAugmentPolicy.SVHN, fill=9),
    "RandAugment": lambda T, torch: T.RandAugment(3),
    "TrivialAugmentWide": lambda T, torch: T.TrivialAugmentWide(),
    "AugMix": lambda T, torch: T.AugMix(),
    "AugMix few": lambda T, torch: T.AugMix(5, 2, 2, 0.5, all_ops=False),
    "ElasticTransform": lambda T, torch: T.ElasticTransform(40.0, 2.0),
    "RandomApply": lambda T, torch: T.RandomApply([T.RandomCrop(7), T.RandomRotation(20)], p=0.6),
    "RandomChoice": lambda T, torch: T.RandomChoice([T.CenterCrop(5), T.RandomCrop(7), T.Pad(1)]),
    "RandomChoice weights": lambda T, torch: T.RandomChoice([T.CenterCrop(5), T.Pad(1)], p=[0.2, 0.8]),
    "RandomOrder": lambda T, torch: T.RandomOrder([T.CenterCrop(12), T.RandomRotation(30), T.Pad(1)]),
    "Pad": lambda T, torch: T.Pad((1, 2), fill=5),
    "Grayscale": lambda T, torch: T.Grayscale(3),
    "FiveCrop": lambda T, torch: T.FiveCrop(6),
    "TenCrop": lambda T, torch: T.TenCrop((5, 6)),
}
# These accept tensors only.
ON_TENSORS: dict[str, Make] = {
    "RandomErasing": lambda T, torch: T.RandomErasing(0.8),
    "RandomErasing colour": lambda T, torch: T.RandomErasing(1.0, scale=(0.1, 0.5), value=(0.1, 0.2, 0.3)),
    "RandomErasing random": lambda T, torch: T.RandomErasing(1.0, value="random"),
    "ElasticTransform nearest": lambda T, torch: T.ElasticTransform(
        [40.0, 80.0], [2.0, 1.0], interpolation=T.InterpolationMode.NEAREST, fill=0.5
    ),
    "RandomAffine bilinear": lambda T, torch: T.RandomAffine(
        30, scale=(0.7, 1.3), interpolation=T.InterpolationMode.BILINEAR, fill=0.5
    ),
    "LinearTransformation": lambda T, torch: T.LinearTransformation(
        torch.arange(float((3 * HEIGHT * WIDTH) ** 2)).sin().reshape(3 * HEIGHT * WIDTH, -1) / 30,
        torch.arange(float(3 * HEIGHT * WIDTH)) / 1000,
    ),
}
ONLY_BYTES = (
    "equalize",
    "posterize",
    "RandomEqualize",
    "RandomPosterize",
    "AutoAugment",
    "RandAugment",
    "Trivial",
    "AugMix",
)


def pixels() -> np.ndarray:
    """Returns a picture ``(H, W, 3)`` of bytes that is smooth in parts."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    red, green = 128 + 100 * np.sin(x / 3 + y / 5), 255 * x * y / (HEIGHT * WIDTH)
    blue = np.where((x - 9) ** 2 + (y - 7) ** 2 < 30, 220, 30 + 5 * y)
    return np.stack([red, green, blue], -1).astype(np.uint8)


def pictures(torch: ModuleType, name: str) -> dict[str, Any]:
    """Returns the pictures on which a case is called: tensors of bytes and floats, and a PIL image."""
    from PIL import Image

    array = pixels()
    planes = torch.tensor(array.transpose(2, 0, 1).copy())
    kinds = {"bytes": planes, "floats": planes.float() / 255, "image": Image.fromarray(array)}
    if name.startswith(ONLY_BYTES):
        del kinds["floats"]
    if name in ON_TENSORS:
        kinds = {"floats": kinds["floats"]}
    return kinds


def shown(result: Any) -> np.ndarray:
    """Converts a picture to an array, and several pictures to one row."""
    if isinstance(result, tuple):
        return np.concatenate([shown(each).reshape(-1) for each in result])
    return np.array(result) if hasattr(result, "getbands") else result.numpy()


def run_function(functional: ModuleType, torch: ModuleType, name: str) -> dict[str, np.ndarray]:
    function, args, options = FUNCTIONS[name]
    return {
        kind: shown(getattr(functional, function)(picture, *args, **options))
        for kind, picture in pictures(torch, name).items()
    }


def run_transform(transforms: ModuleType, torch: ModuleType, name: str) -> dict[str, np.ndarray]:
    """Returns the results for some seeds, and the next random number, which shows how many were drawn."""
    make = (TRANSFORMS | ON_TENSORS)[name]
    results = {}
    for kind, picture in pictures(torch, name).items():
        for seed in range(
            1 if (kind == "floats" and name not in ON_TENSORS) or name == "LinearTransformation" else SEEDS
        ):
            torch.manual_seed(seed)
            random.seed(seed)
            results[f"{kind}/{seed}"] = shown(make(transforms, torch)(picture))
            results[f"{kind}/{seed}/next"] = torch.rand(1).numpy().copy()
    return results


def arrays_of(transforms: ModuleType, functional: ModuleType, torch: ModuleType) -> dict[str, np.ndarray]:
    """Returns everything that is recorded, by name."""
    arrays = {}
    for name in FUNCTIONS:
        arrays |= {f"F.{name}/{kind}": array for kind, array in run_function(functional, torch, name).items()}
    for name in TRANSFORMS | ON_TENSORS:
        arrays |= {f"T.{name}/{kind}": array for kind, array in run_transform(transforms, torch, name).items()}
    return arrays


def words(transforms: ModuleType, torch: ModuleType) -> dict[str, str]:
    """Returns the printed forms of the transforms."""
    return {
        name: repr(make(transforms, torch))
        for name, make in (TRANSFORMS | ON_TENSORS).items()
        if name != "LinearTransformation"
    }
