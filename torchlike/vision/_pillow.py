"""The adapter to Pillow, which is imported only when an image is needed."""

import sys
from typing import Any

import numpy as np

__all__ = ["image_from_array", "is_image"]


def is_image(value: object) -> bool:
    """Whether this is a PIL image. It cannot be one if nobody has imported Pillow."""
    pillow = sys.modules.get("PIL.Image")
    return pillow is not None and isinstance(value, pillow.Image)


def image_from_array(array: np.ndarray) -> Any:
    """The PIL image of a uint8 array of shape ``(H, W)`` or ``(H, W, 3)``, or of a 2-D int32 or float32 one."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(
            "a PIL image was asked for, and Pillow is not installed (pip install pillow); "
            "with transform=ToTensor() images are read without it"
        ) from None
    return Image.fromarray(array)
