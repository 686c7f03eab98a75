"""Pictures turned, moved, sheared and bent: functions on PIL images and on tensors ``(..., C, H, W)``."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

import numpy as np

from ... import ops
from ..._core import dtypes
from ..._core.tensor import Tensor, from_host
from ...nn import functional as nnf
from .._pillow import is_image, pillow
from ._colours import require_picture
from ._images import (
    PILLOW_FILTERS,
    InterpolationMode,
    center_crop,
    crop,
    get_dimensions,
    hflip,
    mode_of,
    pil_to_tensor,
    pillow_fill,
    resize,
    to_pil_image,
)

if TYPE_CHECKING:
    from .._pillow import PillowImage

__all__ = [
    "affine",
    "elastic_transform",
    "erase",
    "five_crop",
    "get_image_num_channels",
    "get_image_size",
    "perspective",
    "resized_crop",
    "rotate",
    "ten_crop",
    "vflip",
]

Picture = TypeVar("Picture", bound="Tensor | PillowImage")  # a PIL image or a tensor: the result is of the same kind
Fill: TypeAlias = "float | Sequence[float] | None"


def get_image_size(img: object) -> list[int]:
    """Width and height.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.get_image_size.html
    """
    _, height, width = get_dimensions(img)
    return [width, height]


def get_image_num_channels(img: object) -> int:
    """The number of channels of a picture.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.get_image_num_channels.html
    """
    return get_dimensions(img)[0]


def vflip(img: Picture) -> Picture:
    """Top becomes bottom.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.vflip.html
    """
    get_dimensions(img)
    return cast("Picture", img.flip(-2) if isinstance(img, Tensor) else img.transpose(1))  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue]


def resized_crop(
    img: Picture,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Picture:
    """A part of a picture, resized. Arguments are those of ``crop`` and of ``resize``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.resized_crop.html
    """
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def five_crop(img: Picture, size: int | Sequence[int]) -> tuple[Picture, Picture, Picture, Picture, Picture]:
    """The four corners and the middle of a picture: top left, top right, bottom left, bottom right, middle.

    Raises:
        ValueError: the picture is smaller than that.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.five_crop.html
    """
    height, width = _two(size)
    _, full_height, full_width = get_dimensions(img)
    if width > full_width or height > full_height:
        raise ValueError(f"Requested crop size {[height, width]} is bigger than input size {(full_height, full_width)}")
    down, right = full_height - height, full_width - width
    corners = (crop(img, top, left, height, width) for top in (0, down) for left in (0, right))
    return (*corners, center_crop(img, [height, width]))  # pyright: ignore[reportReturnType]


def ten_crop(img: Picture, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Picture, ...]:
    """The corners and the middle of a picture, and of its mirror image.

    Args:
        vertical_flip: whether the mirror image has top and bottom exchanged, instead of left and right.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.ten_crop.html
    """
    return five_crop(img, size) + five_crop(vflip(img) if vertical_flip else hflip(img), size)


def _two(size: int | Sequence[int]) -> list[int]:
    sides = [size] if isinstance(size, numbers.Number) else list(size)  # pyright: ignore[reportArgumentType]
    if len(sides) == 1:
        sides *= 2
    if len(sides) != 2:
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return [int(side) for side in sides]  # pyright: ignore[reportArgumentType]


def erase(img: Tensor, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Tensor:
    """A picture in which the part from row ``i`` and column ``j``, of ``h`` rows and ``w`` columns, has the values ``v``.

    Raises:
        TypeError: it is no tensor.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.erase.html
    """
    if not isinstance(img, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}")
    result = img if inplace else img.clone()
    result[..., i : i + h, j : j + w] = v
    return result


# ---- matrices


def inverse_affine_matrix(
    center: Sequence[float], angle: float, translate: Sequence[float], scale: float, shear: Sequence[float]
) -> list[float]:
    """The matrix from pixels of the result to pixels of the input: the first two rows of a 3 x 3 matrix.

    The picture is sheared, scaled, turned about ``center`` and moved; this is the inverse of these together.
    """
    turn, shear_x, shear_y = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(turn - shear_y) / math.cos(shear_y)
    b = -math.cos(turn - shear_y) * math.tan(shear_x) / math.cos(shear_y) - math.sin(turn)
    c = math.sin(turn - shear_y) / math.cos(shear_y)
    d = -math.sin(turn - shear_y) * math.tan(shear_x) / math.cos(shear_y) + math.cos(turn)
    # The determinant of [[a, b], [c, d]] is 1.
    rows = [[d / scale, -b / scale], [-c / scale, a / scale]]
    away = [-center[0] - translate[0], -center[1] - translate[1]]
    matrix = []
    for row, middle in zip(rows, center, strict=True):
        # In torchvision's order of additions, so that the last bits agree.
        matrix += [*row, (0.0 + (row[0] * away[0] + row[1] * away[1])) + middle]
    return matrix


def perspective_coefficients(
    startpoints: Sequence[Sequence[float]], endpoints: Sequence[Sequence[float]]
) -> list[float]:
    """The eight numbers of the projection that takes four end points back to their start points."""
    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError(
            f"Please provide exactly four corners, got {len(startpoints)} startpoints and {len(endpoints)} endpoints."
        )
    rows, right = [], []
    for (x, y), (u, v) in zip(endpoints, startpoints, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    # As torchvision does, solve in float64 and keep the coefficients in float32.
    solution = np.linalg.lstsq(np.array(rows, np.float64), np.array(right, np.float64), rcond=None)[0]
    return solution.astype(np.float32).tolist()


# ---- grids of places for tensors


def affine_grid(matrix: Sequence[float], size: tuple[int, int], result: tuple[int, int], dtype: dtypes.dtype) -> Tensor:
    """The places ``(1, H, W, 2)``, from -1 to 1, of the pixels of a result in a picture; both sizes are (height, width)."""
    (height, width), (rows, columns) = size, result
    theta = ops.tensor(list(matrix), dtype=dtype).reshape(1, 2, 3)
    scaled = theta.transpose(1, 2) / ops.tensor([0.5 * width, 0.5 * height], dtype=dtype)
    places = _places(-columns * 0.5 + 0.5, columns * 0.5 - 0.5, columns, -rows * 0.5 + 0.5, rows * 0.5 - 0.5, rows)
    return from_host(places.astype(dtype.numpy)).bmm(scaled).reshape(1, rows, columns, 2)


def perspective_grid(coefficients: Sequence[float], size: tuple[int, int], dtype: dtypes.dtype) -> Tensor:
    """The places ``(1, H, W, 2)``, from -1 to 1, of the pixels of a result in a picture of the same size."""
    height, width = size
    a, b, c, d, e, f, g, h = coefficients
    above = ops.tensor([[[a, b, c], [d, e, f]]], dtype=dtype).transpose(1, 2)
    below = ops.tensor([[[g, h, 1.0], [g, h, 1.0]]], dtype=dtype).transpose(1, 2)
    points = from_host(_places(0.5, width - 0.5, width, 0.5, height - 0.5, height).astype(dtype.numpy))
    scaled = above / ops.tensor([0.5 * width, 0.5 * height], dtype=dtype)
    return (points.bmm(scaled) / points.bmm(below) - 1.0).reshape(1, height, width, 2)


def _places(left: float, right: float, columns: int, top: float, bottom: float, rows: int) -> np.ndarray:
    """``(1, rows * columns, 3)``: x, y and 1 for each pixel."""
    grid = np.ones((rows, columns, 3))
    grid[..., 0] = np.linspace(left, right, columns)
    grid[..., 1] = np.linspace(top, bottom, rows)[:, None]
    return grid.reshape(1, rows * columns, 3)


def sampled_at(img: Tensor, grid: Tensor, mode: str, fill: Fill) -> Tensor:
    """The values of pictures ``(..., C, H, W)`` at places of a grid; outside of the picture they are ``fill``."""
    channels = get_dimensions(img)[0]
    if isinstance(fill, (tuple, list)) and len(fill) > 1 and len(fill) != channels:
        raise ValueError(
            "The number of elements in 'fill' cannot broadcast to match the number of channels of the image "
            f"({len(fill)} != {channels})"
        )
    if mode not in ("nearest", "bilinear"):
        raise ValueError(f"Interpolation mode '{mode}' is unsupported with Tensor input")
    x = img.reshape(math.prod(img.shape[:-3]), *img.shape[-3:]).to(grid.dtype)
    grid = grid.to(img.device).expand(len(x), *grid.shape[1:])
    if fill is not None:  # another channel tells what lies within the picture
        x = ops.cat([x, ops.ones_like(x[:, :1])], 1)
    x = nnf.grid_sample(x, grid, mode=mode, padding_mode="zeros", align_corners=False)
    if fill is not None:
        x, inside = x[:, :-1], x[:, -1:]
        values = [float(fill)] if isinstance(fill, (int, float)) else [float(number) for number in fill]
        colour = ops.tensor(values, dtype=x.dtype, device=x.device).reshape(1, -1, 1, 1)
        x = ops.where(inside < 0.5, colour, x) if mode == "nearest" else x * inside + (1.0 - inside) * colour
    if img.dtype.category < dtypes.FLOAT:
        x = x.round()
    return x.to(img.dtype).reshape(*img.shape[:-2], *x.shape[-2:])


def _grid_dtype(img: Tensor) -> dtypes.dtype:
    return img.dtype if img.is_floating_point() else dtypes.float32


# ---- the transforms


def rotate(
    img: Picture,
    angle: float,
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: Fill = None,
) -> Picture:
    """A picture turned by an angle in degrees, against the clock.

    Args:
        expand: whether the result is as large as the turned picture.
        center: x and y of the point that stays; default: the middle.
        fill: the colour of what lies outside of the picture, or one number a channel; default black.

    Raises:
        TypeError: an argument of another type. ValueError: a fill of another length, or an interpolation that is not there.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.rotate.html
    """
    interpolation = mode_of(interpolation)
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError("Argument center should be a sequence")
    if not isinstance(img, Tensor):
        require_picture(img)
        colour = pillow_fill(fill, img)
        return img.rotate(angle, PILLOW_FILTERS[interpolation.value], expand, center, fillcolor=colour)  # pyright: ignore[reportArgumentType, reportAttributeAccessIssue]
    _, height, width = get_dimensions(img)
    middle = [0.0, 0.0] if center is None else [center[0] - width * 0.5, center[1] - height * 0.5]
    # The angle counts against the clock, and the vertical axis of a picture points down.
    matrix = inverse_affine_matrix(middle, -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    size = size_after_turning(matrix, height, width) if expand else (height, width)
    grid = affine_grid(matrix, (height, width), size, _grid_dtype(img))
    return sampled_at(img, grid, interpolation.value, fill)  # pyright: ignore[reportReturnType]


def size_after_turning(matrix: Sequence[float], height: int, width: int) -> tuple[int, int]:
    """Height and width of the box around a picture after the transform of this matrix about its middle."""
    x, y = np.float32(0.5 * width), np.float32(0.5 * height)
    corners = np.array([[-x, -y, 1], [-x, y, 1], [x, y, 1], [x, -y, 1]], np.float32)
    mapped = corners @ np.array(matrix, np.float32).reshape(2, 3).T
    least, most = mapped.min(0) + np.array([x, y]), mapped.max(0) + np.array([x, y])
    tolerance = np.float32(1e-4)  # so that rounding errors do not add a row
    sizes = np.ceil(np.trunc(most / tolerance) * tolerance) - np.floor(np.trunc(least / tolerance) * tolerance)
    return int(sizes[1]), int(sizes[0])


def affine(
    img: Picture,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: float | Sequence[float],
    interpolation: InterpolationMode = InterpolationMode.NEAREST,
    fill: Fill = None,
    center: Sequence[float] | None = None,
) -> Picture:
    """A picture sheared, scaled, turned clockwise and moved.

    Args:
        angle: degrees from -180 to 180.
        translate: to the right and downwards, in pixels.
        shear: degrees along x and along y, or one number for x.
        fill: the colour of what lies outside of the picture, or one number a channel; default black.
        center: x and y of the point that stays; default: the middle.

    Raises:
        TypeError, ValueError: an argument of another kind.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.affine.html
    """
    interpolation = mode_of(interpolation)
    shears = _checked_affine(angle, translate, scale, shear, center)
    _, height, width = get_dimensions(img)
    if not isinstance(img, Tensor):
        # Pillow counts from the corner of the picture; a tensor's grid from its middle.
        middle = [width * 0.5, height * 0.5] if center is None else center
        matrix = inverse_affine_matrix(middle, angle, translate, scale, shears)
        colour, method = pillow_fill(fill, img), pillow("Image").Transform.AFFINE
        return img.transform(img.size, method, matrix, PILLOW_FILTERS[interpolation.value], fillcolor=colour)  # pyright: ignore[reportAttributeAccessIssue]
    middle = [0.0, 0.0] if center is None else [center[0] - width * 0.5, center[1] - height * 0.5]
    matrix = inverse_affine_matrix(middle, angle, [1.0 * step for step in translate], scale, shears)
    grid = affine_grid(matrix, (height, width), (height, width), _grid_dtype(img))
    return sampled_at(img, grid, interpolation.value, fill)  # pyright: ignore[reportReturnType]


def _checked_affine(
    angle: float, translate: Sequence[float], scale: float, shear: float | Sequence[float], center: object
) -> list[float]:
    """Both shears, after a look at the other arguments."""
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    if not isinstance(translate, (list, tuple)):
        raise TypeError("Argument translate should be a sequence")
    if len(translate) != 2:
        raise ValueError("Argument translate should be a sequence of length 2")
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    if not isinstance(shear, (numbers.Number, list, tuple)):
        raise TypeError("Shear should be either a single value or a sequence of two values")
    shears = [shear, 0.0] if isinstance(shear, (int, float)) else list(shear)  # pyright: ignore[reportArgumentType]
    if len(shears) == 1:
        shears *= 2
    if len(shears) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shear}")
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError("Argument center should be a sequence")
    return [float(shear) for shear in shears]


def perspective(
    img: Picture,
    startpoints: Sequence[Sequence[int]],
    endpoints: Sequence[Sequence[int]],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: Fill = None,
) -> Picture:
    """A picture projected so that four points get to four others: top left, top right, bottom right, bottom left.

    Args:
        startpoints, endpoints: x and y of each.
        fill: the colour of what lies outside of the picture, or one number a channel; default black.

    Raises:
        ValueError: not four points.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.perspective.html
    """
    coefficients = perspective_coefficients(startpoints, endpoints)
    interpolation = mode_of(interpolation)
    if not isinstance(img, Tensor):
        require_picture(img)
        colour, method = pillow_fill(fill, img), pillow("Image").Transform.PERSPECTIVE
        return img.transform(img.size, method, coefficients, PILLOW_FILTERS[interpolation.value], fillcolor=colour)  # pyright: ignore[reportAttributeAccessIssue]
    grid = perspective_grid(coefficients, (img.shape[-2], img.shape[-1]), _grid_dtype(img))
    return sampled_at(img, grid, interpolation.value, fill)  # pyright: ignore[reportReturnType]


def elastic_transform(
    img: Picture,
    displacement: Tensor,
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    fill: Fill = None,
) -> Picture:
    """A picture in which each pixel comes from another place.

    Args:
        displacement: ``(1, H, W, 2)``: how far to the right and downwards that place is, in halves of the picture.

    Raises:
        TypeError: it is no tensor. ValueError: it has another shape.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.elastic_transform.html
    """
    interpolation = mode_of(interpolation)
    if not isinstance(displacement, Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    if not isinstance(img, Tensor) and not is_image(img):
        raise TypeError(f"img should be PIL Image or Tensor. Got {type(img)}")
    tensor = img if isinstance(img, Tensor) else pil_to_tensor(img)
    height, width = tensor.shape[-2:]
    shape = (1, height, width, 2)
    if tuple(displacement.shape) != shape:
        raise ValueError(f"Argument displacement shape should be {shape}, but given {displacement.shape}")
    rows, columns = (ops.linspace((1 - size) / size, (size - 1) / size, size) for size in (height, width))
    places = ops.stack([columns.expand(height, width), rows[:, None].expand(height, width)], -1)[None]
    grid = places.to(_grid_dtype(tensor)) + displacement.to(_grid_dtype(tensor))
    result = sampled_at(tensor, grid, interpolation.value, fill)
    return result if isinstance(img, Tensor) else to_pil_image(result, mode=img.mode)  # pyright: ignore[reportReturnType, reportAttributeAccessIssue]
