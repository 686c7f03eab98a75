"""Transforms that contain transforms, and transforms that draw nothing: corners, borders, a linear map."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from ..._core.tensor import Tensor
from ...nn import Module
from ...utils.data import _draw
from . import functional as F
from ._checks import height_and_width

__all__ = ["FiveCrop", "LinearTransformation", "Pad", "RandomApply", "RandomChoice", "RandomOrder", "TenCrop"]


class RandomTransforms:
    """The base class of transforms that apply a list of transforms.

    Raises:
        TypeError: it is no sequence.
    """

    def __init__(self, transforms: Sequence[Callable[..., object]]) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError("Argument transforms should be a sequence")
        self.transforms = transforms

    def __call__(self, *args: object, **kwargs: object) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}(", *(f"    {part}" for part in self.transforms), ")"])


class RandomApply(Module):
    """Several transforms one after the other, or none of them: a number from ``torch.rand(1)`` decides.

    Args:
        p: the probability that they are applied.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomApply.html
    """

    def __init__(self, transforms: Sequence[Callable[..., object]], p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, img: Any) -> Tensor:
        if self.p < _draw.uniform(None):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self) -> str:
        parts = (f"    {part}" for part in self.transforms)
        return "\n".join([f"{type(self).__name__}(", f"    p={self.p}", *parts, ")"])


class RandomOrder(RandomTransforms):
    """Several transforms in a random order, which Python's ``random`` draws.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomOrder.html
    """

    def __call__(self, img: object) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for number in order:
            img = self.transforms[number](img)
        return img


class RandomChoice(RandomTransforms):
    """One of several transforms, which Python's ``random`` draws.

    Args:
        p: a weight for each; default: equal ones.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomChoice.html
    """

    def __init__(self, transforms: Sequence[Callable[..., object]], p: Sequence[float] | None = None) -> None:
        super().__init__(transforms)
        if p is not None and not isinstance(p, Sequence):
            raise TypeError("Argument p should be a sequence")
        self.p = p

    def __call__(self, *args: object) -> Any:
        return random.choices(self.transforms, weights=self.p)[0](*args)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(p={self.p})"


class Pad(Module):
    """A picture with borders. Arguments and errors are ``functional.pad``'s.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.Pad.html
    """

    def __init__(
        self, padding: int | Sequence[int], fill: float | Sequence[float] = 0, padding_mode: str = "constant"
    ) -> None:
        super().__init__()
        if not isinstance(padding, (int, float, tuple, list)):
            raise TypeError("Got inappropriate padding arg")
        if not isinstance(fill, (int, float, tuple, list)):
            raise TypeError("Got inappropriate fill arg")
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
        if isinstance(padding, Sequence) and len(padding) not in (1, 2, 4):
            raise ValueError(
                f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple"
            )
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img: Tensor) -> Tensor:
        return F.pad(img, self.padding, self.fill, self.padding_mode)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode})"


class FiveCrop(Module):
    """The four corners and the middle of a picture, as a tuple.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.FiveCrop.html
    """

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = height_and_width(size)

    def forward(self, img: Tensor) -> tuple[Tensor, ...]:
        return F.five_crop(img, self.size)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size})"


class TenCrop(Module):
    """The four corners and the middle of a picture and of its mirror image, as a tuple.

    Args:
        vertical_flip: whether the mirror image has top and bottom exchanged, instead of left and right.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.TenCrop.html
    """

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__()
        self.size = height_and_width(size)
        self.vertical_flip = vertical_flip

    def forward(self, img: Tensor) -> tuple[Tensor, ...]:
        return F.ten_crop(img, self.size, self.vertical_flip)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, vertical_flip={self.vertical_flip})"


class LinearTransformation(Module):
    """A picture as a vector, less a mean, times a matrix: whitening, for example.

    Args:
        transformation_matrix: ``(D, D)`` for pictures of ``D = C * H * W`` numbers.
        mean_vector: ``(D,)``.

    Raises:
        ValueError: shapes or dtypes do not fit each other.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.LinearTransformation.html
    """

    def __init__(self, transformation_matrix: Tensor, mean_vector: Tensor) -> None:
        super().__init__()
        shape = tuple(transformation_matrix.shape)
        if shape[0] != shape[1]:
            raise ValueError(f"transformation_matrix should be square. Got {shape} rectangular matrix.")
        if len(mean_vector) != shape[0]:
            raise ValueError(
                f"mean_vector should have the same length {len(mean_vector)}"
                f" as any one of the dimensions of the transformation_matrix [{shape}]"
            )
        if transformation_matrix.dtype != mean_vector.dtype:
            raise ValueError(
                f"Input tensors should have the same dtype. Got {transformation_matrix.dtype} and {mean_vector.dtype}"
            )
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def forward(self, tensor: Tensor) -> Tensor:
        channels, height, width = tensor.shape[-3:]
        count = len(self.transformation_matrix)
        if channels * height * width != count:
            raise ValueError(
                "Input tensor and transformation matrix have incompatible shape."
                f"[{channels} x {height} x {width}] != {count}"
            )
        flat = tensor.reshape(-1, count) - self.mean_vector
        return (flat @ self.transformation_matrix).reshape(tensor.shape)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(transformation_matrix={self.transformation_matrix.tolist()}, "
            f"mean_vector={self.mean_vector.tolist()})"
        )
