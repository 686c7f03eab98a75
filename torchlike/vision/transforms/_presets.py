"""The transforms of pictures for trained models, in one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._core.tensor import Tensor
from . import functional as F

if TYPE_CHECKING:
    from .._pillow import PillowImage

__all__ = ["ImageClassification"]


class ImageClassification:
    """Resizes a picture (a PIL image, or a tensor ``(..., C, H, W)``), cuts out its middle, and normalises its channels.

    Args:
        crop_size: sides of the middle.
        resize_size: the shorter side before that.
        mean, std: of each channel, for values from 0 to 1.
        interpolation, antialias: how to resize.

    >>> from torchlike.vision import models
    >>> models.ResNet18_Weights.DEFAULT.transforms()
    ImageClassification(
        crop_size=[224]
        resize_size=[256]
        mean=[0.485, 0.456, 0.406]
        std=[0.229, 0.224, 0.225]
        interpolation=InterpolationMode.BILINEAR
    )

    Source: https://docs.pytorch.org/vision/stable/models.html
    """

    def __init__(
        self,
        *,
        crop_size: int = 224,
        resize_size: int = 256,
        mean: tuple[float, ...] = (0.485, 0.456, 0.406),
        std: tuple[float, ...] = (0.229, 0.224, 0.225),
        interpolation: F.InterpolationMode = F.InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        self.crop_size, self.resize_size = [crop_size], [resize_size]
        self.mean, self.std = list(mean), list(std)
        self.interpolation, self.antialias = interpolation, antialias

    def __call__(self, img: Tensor | PillowImage) -> Tensor:
        img = F.resize(img, self.resize_size, self.interpolation, antialias=self.antialias)
        img = F.center_crop(img, self.crop_size)
        image = img if isinstance(img, Tensor) else F.pil_to_tensor(img)
        return F.normalize(F.convert_image_dtype(image), self.mean, self.std)

    def __repr__(self) -> str:
        fields = ("crop_size", "resize_size", "mean", "std", "interpolation")
        return "\n    ".join([f"{type(self).__name__}(", *(f"{name}={getattr(self, name)}" for name in fields)]) + "\n)"
