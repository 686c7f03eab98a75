"""The adapter to Pillow, which is imported only when an image is needed."""

import importlib
import sys
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["image_from_array", "is_image", "pillow"]


def is_image(value: object) -> bool:
    """Whether this is a PIL image. It cannot be one if nobody has imported Pillow."""
    pillow = sys.modules.get("PIL.Image")
    return pillow is not None and isinstance(value, pillow.Image)


def image_from_array(array: np.ndarray) -> Any:
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
