"""Any dataset of tensorflow-datasets, without TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .._pillow import image_from_array
from ..transforms.transforms import takes_arrays
from ._tfds import data_source
from .vision import VisionDataset

__all__ = ["TensorflowDataset"]


class TensorflowDataset(VisionDataset):
    """A dataset of tensorflow-datasets by its name; torchvision has no such class.

    A sample is ``(image, label)`` where the dataset has both; else, a dictionary of arrays.

    Args:
        name: "cifar10", "oxford_flowers102:2.1.1", ...
        split: "train", "test", "train[:10%]", ...
        root: the folder of tensorflow-datasets' files; default: its own.
        transform: called with each image, a PIL image unless it begins with ``ToTensor``; or with the dictionary.
        target_transform: called with each label.
        download: fetches and prepares the dataset, if it is not there.

    Raises:
        ImportError: tensorflow-datasets is not installed.

    Source: https://www.tensorflow.org/datasets/api_docs/python/tfds/data_source
    """

    def __init__(
        self,
        name: str,
        split: str = "train",
        root: str | Path | None = None,
        transform: Callable[..., object] | None = None,
        target_transform: Callable[..., object] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.name, self.split = name, split
        self.source = data_source(name, split, root, download)

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, index: int) -> Any:
        sample: Any = self.source[index]
        if not {"image", "label"} <= set(sample):
            return sample if self.transform is None else self.transform(sample)
        image, target = np.asarray(sample["image"]), int(sample["label"])
        if not takes_arrays(self.transform):
            image = image_from_array(image[:, :, 0] if image.shape[-1] == 1 else image)
        image = image if self.transform is None else self.transform(image)
        return image, target if self.target_transform is None else self.target_transform(target)

    def extra_repr(self) -> str:
        return f"Name: {self.name}\nSplit: {self.split}"
