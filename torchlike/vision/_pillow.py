"""The adapter to Pillow, which is imported only when an image is needed."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage

__all__ = ["PillowImage", "image_from_array", "is_image", "pillow"]


def is_image(value: object) -> TypeGuard[PillowImage]:
    """Whether this is a PIL image. It cannot be one if nobody has imported Pillow."""
    pillow = sys.modules.get("PIL.Image")
    return pillow is not None and isinstance(value, pillow.Image)


def image_from_array(array: np.ndarray) -> PillowImage:
    """The PIL image of a uint8 array of shape ``(H, W)`` or ``(H, W, 3)``, or of a 2-D int32 or float32 one."""
    return pillow("Image").fromarray(array)


def pillow(name: str) -> ModuleType:
    """A module of Pillow, such as ``ImageOps``.

    Raises:
        ImportError: Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(
            "a PIL image was asked for, and Pillow is not installed (pip install pillow); "
            "with transform=ToTensor() images are read without it"
        ) from None
    return Image if name == "Image" else importlib.import_module(f"PIL.{name}")
