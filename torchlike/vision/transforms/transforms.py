"""Transforms: objects that are called with an image, and combined with ``Compose``."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._core import dtypes
from ..._core.tensor import Tensor
from ...nn import Module
from ...utils.data import _draw
from . import _colour_transforms, _combined, _warps, functional as F
from ._checks import height_and_width
from ._colour_transforms import *
from ._combined import *
from ._warps import *
from .functional import InterpolationMode

__all__ = [
    "CenterCrop",
    "Compose",
    "ConvertImageDtype",
    "InterpolationMode",
    "Lambda",
    "Normalize",
    "PILToTensor",
    "RandomCrop",
    "RandomHorizontalFlip",
    "Resize",
    "ToPILImage",
    "ToTensor",
    *_colour_transforms.__all__,
    *_combined.__all__,
    *_warps.__all__,
]


class Compose:
    """Several transforms one after the other.

    Example:
        >>> from torchlike.vision.transforms import Compose, Normalize, ToTensor
        >>> Compose([ToTensor(), Normalize((0.5,), (0.5,))])
        Compose(
            ToTensor()
            Normalize(mean=(0.5,), std=(0.5,))
        )

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.Compose.html
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: object) -> Any:
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}(", *(f"    {part}" for part in self.transforms), ")"])


class ToTensor:
    """A PIL image or an array ``(H, W, C)`` as a tensor ``(C, H, W)``; bytes become numbers from 0 to 1.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.ToTensor.html
    """

    def __call__(self, pic: object) -> Tensor:
        return F.to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class PILToTensor:
    """A PIL image as a tensor ``(C, H, W)`` of its own type.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.PILToTensor.html
    """

    def __call__(self, pic: object) -> Tensor:
        return F.pil_to_tensor(pic)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ConvertImageDtype(Module):
    """A picture in another dtype, whose range its values fill.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.ConvertImageDtype.html
    """

    def __init__(self, dtype: dtypes.dtype) -> None:
        super().__init__()
        if not isinstance(dtype, dtypes.dtype):
            raise TypeError("Argument dtype should be of type torch.dtype")
        self.dtype = dtype

    def forward(self, image: Tensor) -> Tensor:
        return F.convert_image_dtype(image, self.dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ToPILImage:
    """A tensor ``(C, H, W)`` or an array ``(H, W, C)`` as a PIL image. Arguments and errors are ``functional.to_pil_image``'s.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.ToPILImage.html
    """

    def __init__(self, mode: str | None = None) -> None:
        self.mode = mode

    def __call__(self, pic: object) -> Any:
        return F.to_pil_image(pic, self.mode)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.mode is None else f'mode={self.mode}'})"


class Normalize(Module):
    """``(tensor - mean) / std``, channel by channel. Arguments and errors are ``functional.normalize``'s.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.Normalize.html
    """

    def __init__(self, mean: float | Sequence[float], std: float | Sequence[float], inplace: bool = False) -> None:
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, tensor: Tensor) -> Tensor:
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mean={self.mean}, std={self.std})"


class Lambda:
    """Any function as a transform.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.Lambda.html
    """

    def __init__(self, lambd: Callable[..., object]) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Tensor) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Resize(Module):
    """An image of another size. Arguments and errors are ``functional.resize``'s.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.Resize.html
    """

    def __init__(
        self,
        size: int | Sequence[int],
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if not isinstance(size, int | Sequence):
            raise TypeError(f"Size should be int or sequence. Got {type(size)}")
        if isinstance(size, Sequence) and len(size) not in (1, 2):
            raise ValueError("If size is a sequence, it should have 1 or 2 values")
        self.size = size
        self.interpolation = F.mode_of(interpolation)
        self.max_size = max_size
        self.antialias = antialias

    def forward(self, img: Tensor) -> Tensor:
        return F.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(size={self.size}, interpolation={self.interpolation.value}, "
            f"max_size={self.max_size}, antialias={self.antialias})"
        )


class CenterCrop(Module):
    """The middle of an image.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.CenterCrop.html
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = height_and_width(size)

    def forward(self, img: Tensor) -> Tensor:
        return F.center_crop(img, self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class RandomCrop(Module):
    """A part of an image at random, drawn by two ``torch.randint``, or none if the part is the whole image.

    Args:
        size: height and width of the part.
        padding: borders to add first, as for ``functional.pad``.
        pad_if_needed: whether a smaller image gets borders.
        fill, padding_mode: the contents of the borders.

    Raises:
        ValueError: where the image is smaller than the part.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.RandomCrop.html
    """

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = height_and_width(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img: Tensor, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Top, left, height and width of a part at random."""
        _, height, width = F.get_dimensions(img)
        if height < output_size[0] or width < output_size[1]:
            raise ValueError(f"Required crop size {output_size} is larger than input image size {(height, width)}")
        if (height, width) == tuple(output_size):
            return 0, 0, height, width
        (top,) = _draw.randint(None, height - output_size[0] + 1, 1)
        (left,) = _draw.randint(None, width - output_size[1] + 1, 1)
        return top, left, *output_size

    def forward(self, img: Tensor) -> Tensor:
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        if self.pad_if_needed:
            _, height, width = F.get_dimensions(img)
            if width < self.size[1]:
                img = F.pad(img, [self.size[1] - width, 0], self.fill, self.padding_mode)
            if height < self.size[0]:
                img = F.pad(img, [0, self.size[0] - height], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, padding={self.padding})"


class RandomHorizontalFlip(Module):
    """Left becomes right with probability ``p``, drawn as one ``torch.rand(1)``.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.RandomHorizontalFlip.html
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, img: Tensor) -> Tensor:
        return F.hflip(img) if _draw.uniform(None) < self.p else img

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


for _name in (*_colour_transforms.__all__, *_combined.__all__, *_warps.__all__):
    globals()[_name].__module__ = __name__


# ---- the fast path from the arrays of a dataset, for transforms that nobody has changed


def takes_arrays(transform: object) -> bool:
    """Whether the first transform is ToTensor, whose result for an array is the same as for a PIL image."""
    if type(transform) is Compose:
        return len(transform.transforms) > 0 and takes_arrays(transform.transforms[0])
    return type(transform) is ToTensor


def batched(transform: Any) -> Callable[[np.ndarray], np.ndarray] | None:
    """A function from bytes ``(N, H, W)`` to the results of ``transform`` for each image, stacked to ``(N, 1, H, W)``.

    None if it has to be called for each image.
    """
    steps = transform.transforms if type(transform) is Compose else [transform]
    if not steps or type(steps[0]) is not ToTensor or not all(_normalizes(step) for step in steps[1:]):
        return None

    def apply(images: np.ndarray) -> np.ndarray:
        result = F.unit_range(images)[:, None]
        for step in steps[1:]:
            mean, std = (F.per_channel(values, result.dtype) for values in (step.mean, step.std))
            result = F.normalized(result, mean, std)
        return result

    return apply


def _normalizes(step: object) -> bool:
    """Whether this is a plain Normalize of one channel that will not refuse its input."""
    if type(step) is not Normalize:
        return False
    mean, std = (F.per_channel(values, dtypes.get_default_dtype().numpy) for values in (step.mean, step.std))
    return mean.size == std.size == 1 and bool(std.all())
