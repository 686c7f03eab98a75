"""CIFAR-10 and CIFAR-100: colour pictures of 32 x 32 in ten or a hundred classes."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ._pictures import MISSING, PictureDataset
from .utils import check_integrity, download_and_extract_archive

__all__ = ["CIFAR10", "CIFAR100"]


class CIFAR10(PictureDataset):
    """Colour pictures of animals and vehicles: 50,000 for training, 10,000 for testing.

    Args:
        root: the folder that contains ``cifar-10-batches-py``.
        train: the training set or the test set.
        transform: called with each image.
        target_transform: called with each label.
        download: fetches and unpacks the archive, if files are missing or have another MD5.

    Raises:
        RuntimeError: where files are missing or damaged.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.CIFAR10.html
    """

    base_folder = "cifar-10-batches-py"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list = [
        ["data_batch_1", "c99cafc152244af753f735de768cd75f"],
        ["data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"],
        ["data_batch_3", "54ebc095f3ab1f0389bbae665268c751"],
        ["data_batch_4", "634d18415352ddfa80567beed471001a"],
        ["data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"],
    ]
    test_list = [["test_batch", "40351d587109b95175f43aff81a1287e"]]
    meta = {"filename": "batches.meta", "key": "label_names", "md5": "5ff9c542aee3614f3951f8cda6e48888"}

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
        if not self._check_integrity():
            raise RuntimeError(MISSING)
        batches = [self._unpickled(name) for name, _ in (self.train_list if train else self.test_list)]
        self.data = np.vstack([batch["data"] for batch in batches]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self.targets: list[int] = []
        for batch in batches:
            self.targets.extend(batch["labels"] if "labels" in batch else batch["fine_labels"])
        if not check_integrity(os.path.join(self.root, self.base_folder, self.meta["filename"]), self.meta["md5"]):
            raise RuntimeError("Dataset metadata file not found or corrupted. You can use download=True to download it")
        self.classes: list[str] = self._unpickled(self.meta["filename"])[self.meta["key"]]
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}

    def _unpickled(self, name: str) -> dict[str, Any]:
        """The content of one of the authors' pickles. Its MD5 was checked before, as unpickling runs code."""
        with open(os.path.join(self.root, self.base_folder, name), "rb") as file:
            return pickle.load(file, encoding="latin1")

    def _check_integrity(self) -> bool:
        files = self.train_list + self.test_list
        return all(check_integrity(os.path.join(self.root, self.base_folder, name), md5) for name, md5 in files)

    def download(self) -> None:
        """Downloads and unpacks the archive, unless all files are there."""
        if not self._check_integrity():
            download_and_extract_archive(self.url, self.root, filename=self.filename, md5=self.tgz_md5)

    def _picture(self, index: int) -> np.ndarray:
        return self.data[index]

    def _label(self, index: int) -> int:
        return self.targets[index]

    def extra_repr(self) -> str:
        return f"Split: {'Train' if self.train else 'Test'}"


class CIFAR100(CIFAR10):
    """Colour pictures of a hundred kinds: 50,000 for training, 10,000 for testing. Arguments and errors are ``CIFAR10``'s.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.CIFAR100.html
    """

    base_folder = "cifar-100-python"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list = [["train", "16019d7e3df5f24257cddd939b257f8d"]]
    test_list = [["test", "f0ef6b0ae62326f3e7ffdfab6717acfc"]]
    meta = {"filename": "meta", "key": "fine_label_names", "md5": "7973b15100ade9c7d40fb424638fde48"}
