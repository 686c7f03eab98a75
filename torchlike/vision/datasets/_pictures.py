"""Datasets whose pictures are one array in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._pillow import image_from_array
from ..transforms.transforms import takes_arrays
from .vision import VisionDataset

__all__ = ["MISSING", "PictureDataset"]

MISSING = "Dataset not found or corrupted. You can use download=True to download it"


class PictureDataset(VisionDataset):
    """Gives PIL images, or what ``transform`` makes of them, and labels. ``ToTensor`` takes the array itself, without Pillow."""

    data: np.ndarray

    def _picture(self, index: int) -> np.ndarray:
        """The picture ``(H, W, C)`` of this number."""
        raise NotImplementedError

    def _label(self, index: int) -> int:
        raise NotImplementedError

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = np.ascontiguousarray(self._picture(index))
        target = self._label(index)
        if not takes_arrays(self.transform):
            image = image_from_array(image)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def __len__(self) -> int:
        return len(self.data)
