"""Transforms of shape: objects that turn, bend, cut and erase pictures at random."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ... import ops
from ..._core.tensor import Tensor
from ...nn import Module
from ...utils.data import _draw
from . import functional as F
from ._checks import angles, fill_of, fill_values, height_and_width, require_lengths
from ._colours import blurred_by
from .functional import InterpolationMode

__all__ = [
    "ElasticTransform", "RandomAffine", "RandomErasing", "RandomPerspective", "RandomResizedCrop", "RandomRotation",
]  # fmt: skip

Bounds: TypeAlias = "Sequence[float]"
Box: TypeAlias = "tuple[int, int, int, int]"


def require_bounds(scale: Bounds, ratio: Bounds) -> None:
    if not isinstance(scale, Sequence):
        raise TypeError("Scale should be a sequence")
    if not isinstance(ratio, Sequence):
        raise TypeError("Ratio should be a sequence")
    if scale[0] > scale[1] or ratio[0] > ratio[1]:
        warnings.warn("Scale and ratio should be of kind (min, max)", stacklevel=3)


def drawn_sides(area: int, scale: Bounds, ratio: Bounds) -> tuple[float, float]:
    """Exact height and width of a part: its share of the area and the logarithm of its aspect ratio are drawn."""
    share = _draw.between(None, scale[0], scale[1])
    # torchvision computes with float32 tensors here, and the sides are rounded to whole pixels afterwards.
    low, high = (float(np.log(np.float32(bound))) for bound in ratio[:2])
    logarithm = np.float32(_draw.between(None, low, high))
    aspect = float(np.exp(logarithm))
    return area * share, aspect


class RandomResizedCrop(Module):
    """A random part of a picture, resized.

    It draws a share of the area, an aspect ratio and a place, up to ten times, until the part lies within the picture.

    Args:
        size: height and width of the result, or one number for both.
        scale: bounds of the part's share of the area.
        ratio: bounds of its width divided by its height.

    >>> from torchlike.vision.transforms import RandomResizedCrop
    >>> RandomResizedCrop(224)
    RandomResizedCrop(size=(224, 224), scale=(0.08, 1.0), ratio=(0.75, 1.3333), interpolation=bilinear, antialias=True)

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomResizedCrop.html
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Bounds = (0.08, 1.0),
        ratio: Bounds = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = height_and_width(size)
        require_bounds(scale, ratio)
        self.scale, self.ratio = scale, ratio
        self.interpolation = F.mode_of(interpolation)
        self.antialias = antialias

    @staticmethod
    def get_params(img: object, scale: Bounds, ratio: Bounds) -> Box:
        """Top, left, height and width of the part."""
        _, height, width = F.get_dimensions(img)
        for _ in range(10):
            area, aspect = drawn_sides(height * width, scale, ratio)
            columns, rows = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if 0 < columns <= width and 0 < rows <= height:
                (top,), (left,) = _draw.randint(None, height - rows + 1, 1), _draw.randint(None, width - columns + 1, 1)
                return top, left, rows, columns
        # The middle, with the nearest aspect ratio.
        shape = width / height
        columns, rows = width, height
        if shape < min(ratio):
            rows = round(width / min(ratio))
        elif shape > max(ratio):
            columns = round(height * max(ratio))
        return (height - rows) // 2, (width - columns) // 2, rows, columns

    def forward(self, img: Tensor) -> Tensor:
        part = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *part, self.size, self.interpolation, antialias=self.antialias)

    def __repr__(self) -> str:
        scale, ratio = (tuple(round(bound, 4) for bound in bounds) for bounds in (self.scale, self.ratio))
        return (
            f"{type(self).__name__}(size={self.size}, scale={scale}, ratio={ratio}, "
            f"interpolation={self.interpolation.value}, antialias={self.antialias})"
        )


class RandomRotation(Module):
    """A picture turned by an angle that is drawn between two bounds.

    Args:
        degrees: the bounds, or one number for minus that and that. The other arguments are ``functional.rotate``'s.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomRotation.html
    """

    def __init__(
        self,
        degrees: float | Bounds,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: float | Sequence[float] | None = 0,
    ) -> None:
        super().__init__()
        self.degrees = angles(degrees, "degrees")
        if center is not None:
            require_lengths(center, "center", (2,))
        self.center = center
        self.resample = self.interpolation = F.mode_of(interpolation)
        self.expand = expand
        self.fill = fill_of(fill)

    @staticmethod
    def get_params(degrees: Bounds) -> float:
        """The angle."""
        return _draw.between(None, float(degrees[0]), float(degrees[1]))

    def forward(self, img: Tensor) -> Tensor:
        fill = fill_values(self.fill, F.get_dimensions(img)[0]) if isinstance(img, Tensor) else self.fill
        return F.rotate(img, self.get_params(self.degrees), self.interpolation, self.expand, self.center, fill)

    def __repr__(self) -> str:
        center = "" if self.center is None else f", center={self.center}"
        fill = "" if self.fill is None else f", fill={self.fill}"
        return (
            f"{type(self).__name__}(degrees={self.degrees}, interpolation={self.interpolation.value}, "
            f"expand={self.expand}{center}{fill})"
        )


class RandomAffine(Module):
    """A picture turned, moved, scaled and sheared by numbers that are drawn between bounds.

    Args:
        degrees: bounds of the angle, or one number for minus that and that.
        translate: the largest moves, as parts of width and height.
        scale: bounds of the scale.
        shear: bounds of the shear in degrees, along x or along x and y; one number for minus that and that.
        interpolation, fill, center: as for ``functional.affine``.

    Raises:
        TypeError, ValueError: bounds of another form.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomAffine.html
    """

    def __init__(
        self,
        degrees: float | Bounds,
        translate: Bounds | None = None,
        scale: Bounds | None = None,
        shear: float | Bounds | None = None,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: float | Sequence[float] | None = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.resample = self.interpolation = F.mode_of(interpolation)
        self.degrees = angles(degrees, "degrees")
        if translate is not None:
            require_lengths(translate, "translate", (2,))
            if any(not 0.0 <= number <= 1.0 for number in translate):
                raise ValueError("translation values should be between 0 and 1")
        self.translate = translate
        if scale is not None:
            require_lengths(scale, "scale", (2,))
            if any(number <= 0 for number in scale):
                raise ValueError("scale values should be positive")
        self.scale = scale
        self.shear = None if shear is None else angles(shear, "shear", (2, 4))
        self.fillcolor = self.fill = fill_of(fill)
        if center is not None:
            require_lengths(center, "center", (2,))
        self.center = center

    @staticmethod
    def get_params(
        degrees: Bounds,
        translate: Bounds | None,
        scale_ranges: Bounds | None,
        shears: Bounds | None,
        img_size: Sequence[int],
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """Angle, move, scale and shears, for a picture of this width and height."""
        angle = _draw.between(None, float(degrees[0]), float(degrees[1]))
        move, scale, shear = (0, 0), 1.0, [0.0, 0.0]
        if translate is not None:
            most = [float(part * size) for part, size in zip(translate, img_size, strict=True)]
            move = (round(_draw.between(None, -most[0], most[0])), round(_draw.between(None, -most[1], most[1])))
        if scale_ranges is not None:
            scale = _draw.between(None, scale_ranges[0], scale_ranges[1])
        if shears is not None:
            shear[0] = _draw.between(None, shears[0], shears[1])
            if len(shears) == 4:
                shear[1] = _draw.between(None, shears[2], shears[3])
        return angle, move, scale, (shear[0], shear[1])

    def forward(self, img: Tensor) -> Tensor:
        channels, height, width = F.get_dimensions(img)
        fill = fill_values(self.fill, channels) if isinstance(img, Tensor) else self.fill
        numbers = self.get_params(self.degrees, self.translate, self.scale, self.shear, [width, height])
        return F.affine(img, *numbers, interpolation=self.interpolation, fill=fill, center=self.center)

    def __repr__(self) -> str:
        fields = [f"degrees={self.degrees}"]
        fields += [
            f"{name}={getattr(self, name)}"
            for name in ("translate", "scale", "shear")
            if getattr(self, name) is not None
        ]
        if self.interpolation is not InterpolationMode.NEAREST:
            fields.append(f"interpolation={self.interpolation.value}")
        fields += [f"fill={self.fill}"] if self.fill != 0 else []
        fields += [f"center={self.center}"] if self.center is not None else []
        return f"{type(self).__name__}({', '.join(fields)})"


class RandomPerspective(Module):
    """A picture seen from aside, with probability ``p``: its corners move inwards by random distances.

    Args:
        distortion_scale: the largest distance, in halves of the picture.
        interpolation, fill: as for ``functional.perspective``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomPerspective.html
    """

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        fill: float | Sequence[float] | None = 0,
    ) -> None:
        super().__init__()
        self.p = p
        self.interpolation = F.mode_of(interpolation)
        self.distortion_scale = distortion_scale
        self.fill = fill_of(fill)

    @staticmethod
    def get_params(width: int, height: int, distortion_scale: float) -> tuple[list[list[int]], list[list[int]]]:
        """The corners, and the points where they get."""
        across, down = int(distortion_scale * (width // 2)) + 1, int(distortion_scale * (height // 2)) + 1

        def drawn(length: int, start: int) -> int:
            return start + _draw.randint(None, length, 1)[0]

        # The corners draw in torchvision's order, which decides which random number each of them gets.
        left_top = [drawn(across, 0), drawn(down, 0)]
        right_top = [drawn(across, width - across), drawn(down, 0)]
        right_bottom = [drawn(across, width - across), drawn(down, height - down)]
        left_bottom = [drawn(across, 0), drawn(down, height - down)]
        corners = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        return corners, [left_top, right_top, right_bottom, left_bottom]

    def forward(self, img: Tensor) -> Tensor:
        channels, height, width = F.get_dimensions(img)
        fill = fill_values(self.fill, channels) if isinstance(img, Tensor) else self.fill
        if _draw.uniform(None) >= self.p:
            return img
        return F.perspective(img, *self.get_params(width, height, self.distortion_scale), self.interpolation, fill)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p})"


class RandomErasing(Module):
    """Erases a random part of a tensor with probability ``p``.

    It draws a share of the area, an aspect ratio and a place, up to ten times, until the part is smaller than the picture.

    Args:
        scale, ratio: bounds of the part's share of the area, and of its height divided by its width.
        value: what the part becomes: a number, one a channel, or "random" for normal numbers.
        inplace: change the tensor itself.

    Raises:
        TypeError, ValueError: an argument of another kind.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.RandomErasing.html
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: Bounds = (0.02, 0.33),
        ratio: Bounds = (0.3, 3.3),
        value: float | str | Sequence[float] = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(value, (int, float, str, tuple, list)):
            raise TypeError("Argument value should be either a number or str or a sequence")
        if isinstance(value, str) and value != "random":
            raise ValueError("If value is str, it should be 'random'")
        require_bounds(scale, ratio)
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError("Scale should be between 0 and 1")
        if p < 0 or p > 1:
            raise ValueError("Random erasing probability should be between 0 and 1")
        self.p, self.scale, self.ratio = p, scale, ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(
        img: Tensor, scale: Bounds, ratio: Bounds, value: list[float] | None = None
    ) -> tuple[int, int, int, int, Tensor]:
        """Top, left, height and width of the part, and its new values; the whole picture where no part fits."""
        channels, height, width = img.shape[-3:]
        for _ in range(10):
            area, aspect = drawn_sides(height * width, scale, ratio)
            rows, columns = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if not (rows < height and columns < width):
                continue
            if value is None:
                values = ops.randn(channels, rows, columns)
            else:
                values = ops.tensor(value)[:, None, None]
            (top,), (left,) = _draw.randint(None, height - rows + 1, 1), _draw.randint(None, width - columns + 1, 1)
            return top, left, rows, columns, values
        return 0, 0, height, width, img

    def forward(self, img: Tensor) -> Tensor:
        if _draw.uniform(None) >= self.p:
            return img
        value: list[float] | None = None
        if isinstance(self.value, (int, float)):
            value = [float(self.value)]
        elif not isinstance(self.value, str):
            value = [float(number) for number in self.value]
        if value is not None and len(value) not in (1, img.shape[-3]):
            raise ValueError(
                "If value is a sequence, it should have either a single value or "
                f"{img.shape[-3]} (number of input channels)"
            )
        return F.erase(img, *self.get_params(img, self.scale, self.ratio, value), inplace=self.inplace)

    def __repr__(self) -> str:
        names = ("p", "scale", "ratio", "value", "inplace")
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in names)})"


class ElasticTransform(Module):
    """A picture bent at random: each pixel comes from a place nearby, by a smooth field of displacements.

    Args:
        alpha: how far, in pixels before smoothing; along x and y, or one number for both.
        sigma: how smooth the field is.
        interpolation, fill: as for ``functional.elastic_transform``.

    Raises:
        TypeError, ValueError: an argument of another kind.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.ElasticTransform.html
    """

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        fill: float | Sequence[float] = 0,
    ) -> None:
        super().__init__()
        self.alpha, self.sigma = _two_floats(alpha, "alpha"), _two_floats(sigma, "sigma")
        self.interpolation = F.mode_of(interpolation)
        if isinstance(fill, (int, float)):
            self.fill = [float(fill)]
        elif isinstance(fill, (list, tuple)):
            self.fill = [float(value) for value in fill]
        else:
            raise TypeError(f"fill should be int or float or a list or tuple of them. Got {type(fill)}")

    @staticmethod
    def get_params(alpha: Sequence[float], sigma: Sequence[float], size: Sequence[int]) -> Tensor:
        """The displacements ``(1, H, W, 2)`` for a picture of this height and width."""
        fields = []
        for axis in (0, 1):  # dx and then dy
            field = ops.rand([1, 1, *size]) * 2 - 1
            if sigma[axis] > 0.0:
                width = int(8 * sigma[axis] + 1)
                width += 1 if width % 2 == 0 else 0
                field = blurred_by(field, [width, width], [float(deviation) for deviation in sigma])
            fields.append(field * alpha[axis] / size[1 - axis])
        return ops.cat(fields, 1).permute(0, 2, 3, 1)

    def forward(self, tensor: Tensor) -> Tensor:
        _, height, width = F.get_dimensions(tensor)
        displacement = self.get_params(self.alpha, self.sigma, [height, width])
        return F.elastic_transform(tensor, displacement, self.interpolation, self.fill)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(alpha={self.alpha}, sigma={self.sigma}, "
            f"interpolation={self.interpolation}, fill={self.fill})"
        )


def _two_floats(value: float | Sequence[float], name: str) -> list[float]:
    if not isinstance(value, (float, Sequence)):
        raise TypeError(f"{name} should be float or a sequence of floats. Got {type(value)}")
    if isinstance(value, float):
        return [value, value]
    if len(value) != 2:
        raise ValueError(f"If {name} is a sequence its length should be 2. Got {len(value)}")
    for candidate in value:
        if not isinstance(candidate, float):
            raise TypeError(f"{name} should be a sequence of floats. Got {type(candidate)}")
    return list(value)
