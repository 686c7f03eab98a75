"""EMNIST: handwritten letters and digits, in six collections."""

from __future__ import annotations

import os
import shutil
import string
from pathlib import Path
from typing import Any

from .idx import find_idx
from .mnist import MNIST
from .utils import download_and_extract_archive, extract_archive, verify_str_arg

__all__ = ["EMNIST"]

# Letters whose small and capital forms look alike are one class there.
MERGED = frozenset("cijklmopsuvwxyz")
EVERY = sorted(string.digits + string.ascii_letters)
DISTINCT = [letter for letter in EVERY if letter not in MERGED]


class EMNIST(MNIST):
    """Handwritten letters and digits of 28 x 28.

    Args:
        root: the folder in which ``EMNIST/raw`` holds the ``emnist-*-ubyte`` files, gzipped or not.
        split: "byclass", "bymerge", "balanced", "letters", "digits" or "mnist".
        kwargs: those of ``MNIST``. A download fetches all six.

    Raises:
        RuntimeError: where files are missing or damaged. ValueError: another split.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.EMNIST.html
    """

    url = "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip"
    md5 = "58c8d27c78d21e728a6bc7b3cc06412e"
    splits = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")
    classes_split_dict = {
        "byclass": EVERY,
        "bymerge": DISTINCT,
        "balanced": DISTINCT,
        "letters": ["N/A", *string.ascii_lowercase],
        "digits": list(string.digits),
        "mnist": list(string.digits),
    }

    def __init__(self, root: str | Path, split: str, **kwargs: Any) -> None:
        self.split = verify_str_arg(split, "split", self.splits)
        self.classes = self.classes_split_dict[split]
        super().__init__(root, **kwargs)

    def _names(self) -> tuple[str, str]:
        part = f"emnist-{self.split}-{'train' if self.train else 'test'}"
        return f"{part}-images-idx3-ubyte", f"{part}-labels-idx1-ubyte"

    def download(self) -> None:
        """Downloads and unpacks the archive, unless the two files are there."""
        if all(find_idx(self.raw_folder, name) for name in self._names()):
            return
        os.makedirs(self.raw_folder, exist_ok=True)
        download_and_extract_archive(self.url, self.raw_folder, md5=self.md5)
        folder = os.path.join(self.raw_folder, "gzip")
        for name in os.listdir(folder):
            if name.endswith(".gz"):
                extract_archive(os.path.join(folder, name), self.raw_folder)
        shutil.rmtree(folder)
