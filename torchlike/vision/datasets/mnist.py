"""MNIST, FashionMNIST and KMNIST: 28 x 28 grey images in ten classes."""

import operator
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..._core.tensor import Tensor, from_host
from ...utils.data._host import host_array, rows
from .._pillow import image_from_array
from ..transforms.transforms import batched, takes_arrays
from . import catalog
from .idx import find_idx, read_idx
from .vision import VisionDataset

__all__ = ["KMNIST", "MNIST", "FashionMNIST"]

SAMPLE = Path(__file__).parent / "sample"


class MNIST(VisionDataset):
    """Handwritten digits: 60,000 for training, 10,000 for testing.

    A sample is ``(image, label)``: a PIL image, or what ``transform`` makes of it, and an int. If the (first)
    transform is ``ToTensor``, no PIL image is made, so Pillow is not needed.

    Args:
        root: the folder in which ``MNIST/raw`` holds the four ``*-ubyte`` files, gzipped or not.
        train: the training set or the test set.
        transform: called with each image.
        target_transform: called with each label.
        download: fetches the files that are not there, checked by size and SHA-256; needs tensorflow-datasets.

    Raises:
        RuntimeError: where files are missing or damaged, or cannot be downloaded; the text names the file.

    Source: https://pytorch.org/vision/stable/generated/torchvision.datasets.MNIST.html
    """

    row = catalog.MNIST
    classes: list[str] = list(row.classes)

    data: Tensor  # (N, 28, 28), uint8
    targets: Tensor  # (N,), int64

    def __init__(
        self,
        root: str | Path,
        train: bool = True,
        transform: Callable[..., object] | None = None,
        target_transform: Callable[..., object] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        images, labels = self._load()
        self.data = from_host(images)
        self.targets = from_host(labels.astype(np.int64))

    @property
    def raw_folder(self) -> str:
        """The folder of the files."""
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def class_to_idx(self) -> dict[str, int]:
        """From the name of a class to its number."""
        return {name: number for number, name in enumerate(self.classes)}

    def download(self) -> None:
        """Downloads those of the four files that are not in ``raw_folder``."""
        missing_files = [
            file for file in self.row.files if not find_idx(self.raw_folder, file.name.removesuffix(".gz"))
        ]
        if missing_files:
            from ._tfds import fetch  # imports tensorflow-datasets

            fetch(self.row, missing_files, Path(self.raw_folder))

    def _names(self) -> tuple[str, str]:
        """The files of the images and of the labels."""
        return catalog.TRAIN if self.train else catalog.TEST

    def _load(self) -> tuple[np.ndarray, np.ndarray]:
        """Images ``(N, 28, 28)`` and labels ``(N,)``, both uint8, checked against each other."""
        names = self._names()
        paths = [find_idx(self.raw_folder, name) for name in names]
        for name, path in zip(names, paths, strict=True):
            if path is None:
                raise RuntimeError(
                    "Dataset not found. You can use download=True to download it\n"
                    f"Wanted: {os.path.join(self.raw_folder, name)} (or {name}.gz)"
                )
        images, labels = (read_idx(path) for path in paths if path is not None)
        if images.dtype != np.uint8 or images.ndim != 3:
            raise RuntimeError(f"{paths[0]}: wanted uint8 images of 3 dimensions, got {images.ndim} of {images.dtype}")
        if labels.dtype != np.uint8 or labels.shape != images.shape[:1]:
            raise RuntimeError(
                f"{paths[1]}: wanted {len(images)} uint8 labels, one for each image, "
                f"got shape {labels.shape} of {labels.dtype}"
            )
        if labels.size and labels.max() >= len(self.classes):
            raise RuntimeError(f"{paths[1]}: wanted labels below {len(self.classes)}, got {labels.max()}")
        return images, labels

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        number, size = operator.index(index), len(self)
        if not -size <= number < size:
            raise IndexError(f"index {number} is out of bounds for dimension 0 with size {size}")
        image = _array(self.data)[number]
        target = int(_array(self.targets)[number])
        if not takes_arrays(self.transform):
            image = image_from_array(image)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target

    def _collated(self, indices: Sequence[int]) -> list[Tensor] | None:
        """Images and labels of a whole batch, indexed from the arrays at once."""
        as_one = batched(self.transform)
        is_unchanged = type(self).__getitem__ is MNIST.__getitem__ and not hasattr(self, "__getitems__")
        if as_one is None or self.target_transform is not None or not is_unchanged:
            return None
        images, labels = _array(self.data), _array(self.targets)
        if images.dtype != np.uint8 or images.ndim != 3 or labels.dtype != np.int64 or len(labels) != len(images):
            return None
        pictures, targets = rows(images, indices), rows(labels, indices)
        return None if pictures is None or targets is None else [from_host(as_one(pictures)), from_host(targets)]

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


def _array(tensor: Tensor) -> np.ndarray:
    """The array of a tensor, without a copy if it is on the host. Programs replace the tensors by arrays, too."""
    if not isinstance(tensor, Tensor):
        return np.asarray(tensor)
    array = host_array(tensor)
    return tensor._array() if array is None else array


class FashionMNIST(MNIST):
    """Pictures of clothes: 60,000 for training, 10,000 for testing. Arguments, errors and samples are ``MNIST``'s.

    Example:
        >>> from torchlike.vision.datasets import FashionMNIST
        >>> data = FashionMNIST(FashionMNIST.sample_root(), train=False)
        >>> data.data.shape, data.classes[data.targets[0]]
        (torch.Size([240, 28, 28]), 'Ankle boot')

    Source: https://pytorch.org/vision/stable/generated/torchvision.datasets.FashionMNIST.html, and Han Xiao, Kashif
    Rasul, Roland Vollgraf, "Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning Algorithms" (2017).
    """

    row = catalog.FASHION_MNIST
    classes = list(row.classes)

    @staticmethod
    def sample_root() -> str:
        """The root of the sample that comes with this package: 1,500 training and 240 test images, balanced."""
        return str(SAMPLE)


class KMNIST(MNIST):
    """Cursive Japanese characters: 60,000 for training, 10,000 for testing. Arguments and errors are ``MNIST``'s.

    Source: https://pytorch.org/vision/stable/generated/torchvision.datasets.KMNIST.html
    """

    row = catalog.KMNIST
    classes = list(row.classes)
