"""class VisionDataset, the base class of image datasets: a root folder, transforms, and ``repr``."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...utils.data.dataset import Dataset

__all__ = ["StandardTransform", "VisionDataset"]


class StandardTransform:
    """One transform for the image and one for its target. None means no transform."""

    def __init__(
        self, transform: Callable[..., object] | None = None, target_transform: Callable[..., object] | None = None
    ) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: object, target: object) -> tuple[Any, Any]:
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self) -> str:
        lines = [type(self).__name__]
        if self.transform is not None:
            lines += indented("Transform: ", repr(self.transform))
        if self.target_transform is not None:
            lines += indented("Target transform: ", repr(self.target_transform))
        return "\n".join(lines)


def indented(head: str, text: str) -> list[str]:
    """The lines of ``text``: the first one behind ``head``, the others indented to the same column."""
    first, *other_lines = text.splitlines()
    return [f"{head}{first}", *(" " * len(head) + line for line in other_lines)]


class VisionDataset(Dataset[Any]):
    """The base class of image datasets.

    Args:
        root: the folder that contains the dataset's own folder.
        transforms: called with image and target, instead of the two that follow.
        transform: called with each image.
        target_transform: called with each target.

    Raises:
        ValueError: where ``transforms`` and one of the others are given.

    Source: https://pytorch.org/vision/stable/generated/torchvision.datasets.VisionDataset.html
    """

    def __init__(
        self,
        root: str | Path | None = None,
        transforms: Callable[..., object] | None = None,
        transform: Callable[..., object] | None = None,
        target_transform: Callable[..., object] | None = None,
    ) -> None:
        self.root: Any = os.path.expanduser(root) if isinstance(root, str) else root
        separate = transform is not None or target_transform is not None
        if transforms is not None and separate:
            raise ValueError("Only transforms or transform/target_transform can be passed as argument")
        self.transform = transform
        self.target_transform = target_transform
        self.transforms = StandardTransform(transform, target_transform) if separate else transforms

    def __len__(self) -> int:
        raise NotImplementedError

    def extra_repr(self) -> str:
        """Another line for ``repr``."""
        return ""

    def __repr__(self) -> str:
        body = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if self.transforms is not None:
            body.append(repr(self.transforms))  # torchvision too indents only its first line
        return "\n".join([f"Dataset {type(self).__name__}", *(f"    {line}" for line in body)])
