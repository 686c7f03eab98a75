"""SVHN and STL10: house numbers of 32 x 32, and pictures of 96 x 96 of which most have no label."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ._pictures import MISSING, PictureDataset
from .utils import check_integrity, download_and_extract_archive, download_url, verify_str_arg

__all__ = ["STL10", "SVHN"]


class SVHN(PictureDataset):
    """Digits of house numbers: 73,257 for training, 26,032 for testing, 531,131 extra.

    Args:
        root: the folder of ``train_32x32.mat`` and the like.
        split: "train", "test" or "extra".
        transform, target_transform: called with each image and each label. The label of 0 is 0.
        download: fetches the file, if it is missing or has another MD5.

    Raises:
        RuntimeError: where the file is missing or damaged. ValueError: another split.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.SVHN.html
    """

    split_list = {
        "train": [
            "http://ufldl.stanford.edu/housenumbers/train_32x32.mat",
            "train_32x32.mat",
            "e26dedcc434d2e4c54c9b2d4a06d8373",
        ],
        "test": [
            "http://ufldl.stanford.edu/housenumbers/test_32x32.mat",
            "test_32x32.mat",
            "eb5a983be6a315427106f1b164d9cef3",
        ],
        "extra": [
            "http://ufldl.stanford.edu/housenumbers/extra_32x32.mat",
            "extra_32x32.mat",
            "a93ce644f1a588dc4d68dda5feec44a7",
        ],
    }

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transform: Callable[..., object] | None = None,
        target_transform: Callable[..., object] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", tuple(self.split_list))
        self.url, self.filename, self.file_md5 = self.split_list[split]
        if download:
            self.download()
        path = os.path.join(self.root, self.filename)
        if not check_integrity(path, self.file_md5):
            raise RuntimeError(MISSING)
        from scipy.io import loadmat  # takes a while, and nothing else needs it

        contents = loadmat(path)
        self.data = contents["X"].transpose(3, 2, 0, 1)
        self.labels = contents["y"].astype(np.int64).squeeze()
        self.labels[self.labels == 10] = 0  # the file counts the digit 0 as the tenth

    def download(self) -> None:
        """Downloads the file, unless it is there."""
        download_url(self.url, self.root, self.filename, self.file_md5)

    def _picture(self, index: int) -> np.ndarray:
        return self.data[index].transpose(1, 2, 0)

    def _label(self, index: int) -> int:
        return int(self.labels[index])

    def extra_repr(self) -> str:
        return f"Split: {self.split}"


class STL10(PictureDataset):
    """Pictures of ten kinds: 5,000 for training, 8,000 for testing, and 100,000 without labels, whose label is -1.

    Args:
        root: the folder that contains ``stl10_binary``.
        split: "train", "test", "unlabeled" or "train+unlabeled".
        folds: one of the ten parts of 1,000 that belong to the training set; default: all of it.
        transform, target_transform: called with each image and each label.
        download: fetches and unpacks the archive, if files are missing or have another MD5.

    Raises:
        RuntimeError: where files are missing or damaged. ValueError: another split, or no part.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.STL10.html
    """

    base_folder = "stl10_binary"
    url = "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz"
    filename = "stl10_binary.tar.gz"
    tgz_md5 = "91f7769df0f17e558f3565bffb0c7dfb"
    class_names_file = "class_names.txt"
    folds_list_file = "fold_indices.txt"
    train_list = [
        ["train_X.bin", "918c2871b30a85fa023e0c44e0bee87f"],
        ["train_y.bin", "5a34089d4802c674881badbb80307741"],
        ["unlabeled_X.bin", "5242ba1fed5e4be9e1e742405eb56ca4"],
    ]
    test_list = [["test_X.bin", "7f263ba9f9e0b06b93213547f721ac82"], ["test_y.bin", "36f9794fa4beb8a2c72628de14fa638e"]]
    splits = ("train", "train+unlabeled", "unlabeled", "test")

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        folds: int | None = None,
        transform: Callable[..., object] | None = None,
        target_transform: Callable[..., object] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", self.splits)
        if folds is not None and not isinstance(folds, int):
            raise ValueError(f"Expected type None or int for argument folds, but got type {type(folds)}.")
        if folds is not None and folds not in range(10):
            raise ValueError(f"Value for argument folds should be in the range [0, 10), but got {folds}.")
        self.folds = folds
        if download:
            self.download()
        if not self._check_integrity():
            raise RuntimeError(MISSING)
        parts = [self._labelled("test" if split == "test" else "train", folds)] if split != "unlabeled" else []
        if "unlabeled" in split:
            pictures = self._pictures("unlabeled_X.bin")
            parts.append((pictures, np.full(len(pictures), -1)))
        self.data, self.labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        names = self._path(self.class_names_file)
        if os.path.isfile(names):
            self.classes = Path(names).read_text(encoding="utf-8").splitlines()

    def _path(self, name: str) -> str:
        return os.path.join(self.root, self.base_folder, name)

    def _pictures(self, name: str) -> np.ndarray:
        """``(N, 3, 96, 96)``; the file goes through columns first."""
        return np.fromfile(self._path(name), np.uint8).reshape(-1, 3, 96, 96).transpose(0, 1, 3, 2)

    def _labelled(self, name: str, fold: int | None) -> tuple[np.ndarray, np.ndarray]:
        pictures, labels = self._pictures(f"{name}_X.bin"), np.fromfile(self._path(f"{name}_y.bin"), np.uint8) - 1
        if name == "train" and fold is not None:
            lines = Path(self._path(self.folds_list_file)).read_text(encoding="utf-8").splitlines()
            places = np.array(lines[fold].split(), np.int64)
            pictures, labels = pictures[places], labels[places]
        return pictures, labels

    def _check_integrity(self) -> bool:
        return all(check_integrity(self._path(name), md5) for name, md5 in self.train_list + self.test_list)

    def download(self) -> None:
        """Downloads and unpacks the archive, unless all files are there."""
        if not self._check_integrity():
            download_and_extract_archive(self.url, self.root, filename=self.filename, md5=self.tgz_md5)

    def _picture(self, index: int) -> np.ndarray:
        return self.data[index].transpose(1, 2, 0)

    def _label(self, index: int) -> int:
        return int(self.labels[index])

    def extra_repr(self) -> str:
        return f"Split: {self.split}"
