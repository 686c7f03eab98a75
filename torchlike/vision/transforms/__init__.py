"""Transforms of images, under torchvision's names."""

from . import functional as functional
from .transforms import (
    CenterCrop as CenterCrop,
    Compose as Compose,
    ConvertImageDtype as ConvertImageDtype,
    InterpolationMode as InterpolationMode,
    Lambda as Lambda,
    Normalize as Normalize,
    PILToTensor as PILToTensor,
    RandomCrop as RandomCrop,
    RandomHorizontalFlip as RandomHorizontalFlip,
    Resize as Resize,
    ToPILImage as ToPILImage,
    ToTensor as ToTensor,
)
