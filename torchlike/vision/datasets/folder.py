"""Folders of files as datasets: each folder is a class."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .._pillow import pillow
from .vision import VisionDataset

__all__ = [
    "IMG_EXTENSIONS",
    "DatasetFolder",
    "ImageFolder",
    "default_loader",
    "find_classes",
    "is_image_file",
    "make_dataset",
]

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


def has_file_allowed_extension(filename: str, extensions: str | tuple[str, ...]) -> bool:
    """Whether a name ends in one of these, in small or capital letters."""
    return filename.lower().endswith(extensions if isinstance(extensions, str) else tuple(extensions))


def is_image_file(filename: str) -> bool:
    """Whether a name ends as those of pictures do."""
    return has_file_allowed_extension(filename, IMG_EXTENSIONS)


def find_classes(directory: str | Path) -> tuple[list[str], dict[str, int]]:
    """The names of a folder's folders in order, and the number of each.

    Raises:
        FileNotFoundError: there are none.
    """
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(f"Couldn't find any class folder in {directory}.")
    return classes, {name: number for number, name in enumerate(classes)}


def make_dataset(
    directory: str | Path,
    class_to_idx: dict[str, int] | None = None,
    extensions: str | tuple[str, ...] | None = None,
    is_valid_file: Callable[[str], bool] | None = None,
    allow_empty: bool = False,
) -> list[tuple[str, int]]:
    """The files of each class in order, with its number. Arguments and errors are ``DatasetFolder``'s."""
    directory = os.path.expanduser(directory)
    if class_to_idx is None:
        _, class_to_idx = find_classes(directory)
    elif not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to collect any samples.")
    if (extensions is None) == (is_valid_file is None):
        raise ValueError("Both extensions and is_valid_file cannot be None or not None at the same time")

    def counts(path: str) -> bool:
        return is_valid_file(path) if is_valid_file is not None else has_file_allowed_extension(path, extensions or ())

    samples: list[tuple[str, int]] = []
    for name in sorted(class_to_idx):
        for folder, _, files in sorted(os.walk(os.path.join(directory, name), followlinks=True)):
            paths = [os.path.join(folder, file) for file in sorted(files)]
            samples += [(path, class_to_idx[name]) for path in paths if counts(path)]
    class_numbers = {number for _, number in samples}
    empty = sorted(name for name, number in class_to_idx.items() if number not in class_numbers)
    if empty and not allow_empty:
        message = f"Found no valid file for the classes {', '.join(empty)}. "
        if extensions is not None:
            extension_list = extensions if isinstance(extensions, str) else ", ".join(extensions)
            message += f"Supported extensions are: {extension_list}"
        raise FileNotFoundError(message)
    return samples


class DatasetFolder(VisionDataset):
    """The files in the folders of a folder; each of these is a class.

    Args:
        root: the folder.
        loader: called with the path of a file, returns the sample.
        extensions: the ends of the names of files that count.
        is_valid_file: says of a path whether the file counts; instead of ``extensions``.
        transform, target_transform: called with each sample and each class's number.
        allow_empty: whether a folder may have no such files.

    Raises:
        FileNotFoundError: no folders, or no files in one. ValueError: both or none of ``extensions`` and ``is_valid_file``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.DatasetFolder.html
    """

    def __init__(
        self,
        root: str | Path,
        loader: Callable[[str], Any],
        extensions: tuple[str, ...] | None = None,
        transform: Callable[..., object] | None = None,
        target_transform: Callable[..., object] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(
            self.root, self.class_to_idx, extensions, is_valid_file=is_valid_file, allow_empty=allow_empty
        )
        self.loader = loader
        self.extensions = extensions
        self.targets = [number for _, number in self.samples]

    @staticmethod
    def make_dataset(
        directory: str | Path,
        class_to_idx: dict[str, int],
        extensions: tuple[str, ...] | None = None,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> list[tuple[str, int]]:
        """The files with their classes' numbers. A subclass may have others."""
        if class_to_idx is None:
            raise ValueError("The class_to_idx parameter cannot be None.")
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def find_classes(self, directory: str | Path) -> tuple[list[str], dict[str, int]]:
        """The names of the classes, and the number of each. A subclass may have others."""
        return find_classes(directory)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        path, target = self.samples[index]
        sample = self.loader(path)
        if self.transform is not None:
            sample = self.transform(sample)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return sample, target

    def __len__(self) -> int:
        return len(self.samples)


def default_loader(path: str | Path) -> object:
    """The PIL image of a file, in colours."""
    with open(path, "rb") as file:
        return pillow("Image").open(file).convert("RGB")


class ImageFolder(DatasetFolder):
    """Pictures in folders such as ``root/cat/123.png``: each folder is a class. Arguments and errors are ``DatasetFolder``'s.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.ImageFolder.html
    """

    def __init__(
        self,
        root: str | Path,
        transform: Callable[..., object] | None = None,
        target_transform: Callable[..., object] | None = None,
        loader: Callable[[str], Any] = default_loader,
        is_valid_file: Callable[[str], bool] | None = None,
        allow_empty: bool = False,
    ) -> None:
        extensions = IMG_EXTENSIONS if is_valid_file is None else None
        super().__init__(root, loader, extensions, transform, target_transform, is_valid_file, allow_empty)
        self.imgs = self.samples
