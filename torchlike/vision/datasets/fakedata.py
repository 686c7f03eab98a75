"""Pictures of noise, to try programs without files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import ops
from ...random import get_rng_state, manual_seed, set_rng_state
from ..transforms.functional import to_pil_image
from .vision import VisionDataset

__all__ = ["FakeData"]


class FakeData(VisionDataset):
    """PIL images of noise with random labels; the same number gives the same image. The generator of the program is left alone.

    Args:
        size: how many.
        image_size: channels, height and width.
        num_classes: labels are below this.
        transform, target_transform: called with each image and each label, which is a tensor there.
        random_offset: is added to the number, which is the seed of the image.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.datasets.FakeData.html
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: Sequence[int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable[..., object] | None = None,
        target_transform: Callable[..., object] | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.size = size
        self.num_classes = num_classes
        self.image_size = image_size
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if index >= len(self):
            raise IndexError(f"{type(self).__name__} index out of range")
        state = get_rng_state()
        manual_seed(index + self.random_offset)
        image = to_pil_image(ops.randn(*self.image_size))
        target: Any = ops.randint(0, self.num_classes, (1,))[0]
        set_rng_state(state)
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return image, target.item()

    def __len__(self) -> int:
        return self.size
