"""Transforms of shape, for pictures together with their masks and boxes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from .... import ops
from ...._core.tensor import Tensor
from ....utils.data import _draw
from ...ops.boxes import box_iou
from ...tv_tensors import BoundingBoxes, BoundingBoxFormat, Mask, wrap
from .. import transforms as v1
from .._checks import angles, height_and_width, require_lengths
from . import functional as F
from ._transform import (
    Drawn,
    Params,
    Part,
    RandomApplied,
    Transform,
    boxes_of,
    fill_for,
    fill_table,
    is_picture,
    query_size,
    two_numbers,
)
from .functional import InterpolationMode

__all__ = [
    "CenterCrop", "ElasticTransform", "FiveCrop", "Pad", "RandomAffine", "RandomCrop", "RandomHorizontalFlip",
    "RandomIoUCrop", "RandomPerspective", "RandomResize", "RandomResizedCrop", "RandomRotation", "RandomShortestSize",
    "RandomVerticalFlip", "RandomZoomOut", "Resize", "ScaleJitter", "TenCrop",
]  # fmt: skip

Mode: TypeAlias = "InterpolationMode | str | int"
# One colour, or a dictionary from types to colours.
Colour: TypeAlias = "float | Sequence[float] | Mapping[object, object] | None"


def mode_of(interpolation: Mode) -> InterpolationMode:
    """The mode, by itself, by its name or by Pillow's number."""
    if isinstance(interpolation, str):
        return InterpolationMode(interpolation)
    return v1.F.mode_of(interpolation)


class RandomHorizontalFlip(RandomApplied):
    """Left becomes right with probability ``p``."""

    def transform(self, inpt: Part, params: Params) -> object:
        return F.horizontal_flip(inpt)


class RandomVerticalFlip(RandomApplied):
    """Top becomes bottom with probability ``p``."""

    def transform(self, inpt: Part, params: Params) -> object:
        return F.vertical_flip(inpt)


class Resize(Transform):
    """Another size: ``(H, W)``, one number for the shorter side, or None and ``max_size`` for the longer one."""

    def __init__(
        self,
        size: int | Sequence[int] | None,
        interpolation: Mode = InterpolationMode.BILINEAR,
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if size is None and not isinstance(max_size, int):
            raise ValueError(f"max_size must be an integer when size is None, but got {max_size} instead.")
        if isinstance(size, int):
            size = [size]
        elif isinstance(size, Sequence) and len(size) in (1, 2):
            size = list(size)
        elif size is not None:
            raise ValueError(
                f"size can be an integer, a sequence of one or two integers, or None, but got {size} instead."
            )
        self.size = size
        self.interpolation = mode_of(interpolation)
        self.max_size = max_size
        self.antialias = antialias

    def transform(self, inpt: Part, params: Params) -> object:
        return F.resize(inpt, self.size, self.interpolation, self.max_size, self.antialias)


class CenterCrop(Transform):
    """The middle, with black borders where a picture is too small."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = height_and_width(size)

    def transform(self, inpt: Part, params: Params) -> object:
        return F.center_crop(inpt, self.size)


class RandomResizedCrop(Transform):
    """A random part, resized. Arguments are those of the first version."""

    get_params = staticmethod(v1.RandomResizedCrop.get_params)

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: Mode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        parameters = v1.RandomResizedCrop(size, scale, ratio, mode_of(interpolation), antialias)
        self.size, self.scale, self.ratio = parameters.size, parameters.scale, parameters.ratio
        self.interpolation, self.antialias = parameters.interpolation, antialias

    def make_params(self, flat_inputs: list[object]) -> Params:
        height, width = query_size(flat_inputs)
        part = v1.RandomResizedCrop.get_params(ops.empty(1, height, width), self.scale, self.ratio)
        return dict(zip(("top", "left", "height", "width"), part, strict=True))

    def transform(self, inpt: Part, params: Drawn) -> object:
        return F.resized_crop(
            inpt, **params, size=self.size, interpolation=self.interpolation, antialias=self.antialias
        )


class FiveCrop(Transform):
    """The four corners and the middle of a picture, as a tuple."""

    def __init__(self, size: int | Sequence[int]) -> None:
        super().__init__()
        self.size = height_and_width(size)

    def check_inputs(self, flat_inputs: list[object]) -> None:
        if any(isinstance(part, (BoundingBoxes, Mask)) for part in flat_inputs):
            raise TypeError(f"BoundingBoxes'es, Mask's and KeyPoints are not supported by {type(self).__name__}()")

    def transform(self, inpt: Part, params: Params) -> object:
        return F.five_crop(inpt, self.size)


class TenCrop(FiveCrop):
    """The four corners and the middle of a picture and of its mirror image, as a tuple."""

    def __init__(self, size: int | Sequence[int], vertical_flip: bool = False) -> None:
        super().__init__(size)
        self.vertical_flip = vertical_flip

    def transform(self, inpt: Part, params: Params) -> object:
        return F.ten_crop(inpt, self.size, self.vertical_flip)


class Pad(Transform):
    """Borders: one number for all sides, two for left-right and top-bottom, or left, top, right, bottom."""

    def __init__(self, padding: int | Sequence[int], fill: object = 0, padding_mode: str = "constant") -> None:
        super().__init__()
        sides = [padding] if isinstance(padding, int) else list(padding)
        if len(sides) not in (1, 2, 4) or not all(isinstance(side, int) for side in sides):
            raise ValueError(f"Padding must be an int or a 1, 2, or 4 element of tuple or list, got {padding}.")
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
        self.padding = padding
        self.fill = fill
        self._fill = fill_table(fill)
        self.padding_mode = padding_mode

    def transform(self, inpt: Part, params: Params) -> object:
        return F.pad(inpt, self.padding, fill_for(self._fill, inpt), self.padding_mode)


class RandomZoomOut(RandomApplied):
    """A picture on a larger canvas, at a random place, with probability ``p``.

    Args:
        fill: the canvas's colour.
        side_range: bounds of how many times larger its sides are.
    """

    def __init__(self, fill: object = 0, side_range: Sequence[float] = (1.0, 4.0), p: float = 0.5) -> None:
        super().__init__(p)
        self.fill = fill
        self._fill = fill_table(fill)
        require_lengths(side_range, "side_range", (2,))
        self.side_range = side_range
        if side_range[0] < 1.0 or side_range[0] > side_range[1]:
            raise ValueError(f"Invalid side range provided {side_range}.")

    def make_params(self, flat_inputs: list[object]) -> Params:
        height, width = query_size(flat_inputs)
        share = ops.rand(1) * (self.side_range[1] - self.side_range[0]) + self.side_range[0]
        canvas = int(width * share), int(height * share)
        place = ops.rand(2)
        left, top = int((canvas[0] - width) * place[0]), int((canvas[1] - height) * place[1])
        return {"padding": [left, top, canvas[0] - left - width, canvas[1] - top - height]}

    def transform(self, inpt: Part, params: Drawn) -> object:
        return F.pad(inpt, params["padding"], fill_for(self._fill, inpt))


class RandomRotation(Transform):
    """Turned by an angle that is drawn between two bounds. Arguments are those of the first version."""

    get_params = staticmethod(v1.RandomRotation.get_params)

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: Mode = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: object = 0,
    ) -> None:
        super().__init__()
        self.degrees = angles(degrees, "degrees")
        self.interpolation = mode_of(interpolation)
        self.expand = expand
        self.fill = fill
        self._fill = fill_table(fill)
        if center is not None:
            require_lengths(center, "center", (2,))
        self.center = center

    def make_params(self, flat_inputs: list[object]) -> Params:
        return {"angle": _draw.between(None, *self.degrees)}

    def transform(self, inpt: Part, params: Drawn) -> object:
        fill = fill_for(self._fill, inpt)
        return F.rotate(inpt, params["angle"], self.interpolation, self.expand, self.center, fill)


class RandomAffine(Transform):
    """Turned, moved, scaled and sheared by drawn numbers. Arguments are those of the first version."""

    get_params = staticmethod(v1.RandomAffine.get_params)

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: Mode = InterpolationMode.NEAREST,
        fill: object = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        parameters = v1.RandomAffine(degrees, translate, scale, shear, center=center)
        self.degrees, self.translate, self.scale = parameters.degrees, translate, scale
        self.shear = parameters.shear
        self.interpolation = mode_of(interpolation)
        self.fill = fill
        self._fill = fill_table(fill)
        self.center = center

    def make_params(self, flat_inputs: list[object]) -> Params:
        height, width = query_size(flat_inputs)
        numbers = v1.RandomAffine.get_params(self.degrees, self.translate, self.scale, self.shear, [width, height])
        return dict(zip(("angle", "translate", "scale", "shear"), numbers, strict=True))

    def transform(self, inpt: Part, params: Drawn) -> object:
        fill = fill_for(self._fill, inpt)
        return F.affine(inpt, **params, interpolation=self.interpolation, fill=fill, center=self.center)


class RandomCrop(Transform):
    """A random part. Arguments are those of the first version; with ``pad_if_needed`` both sides get the border.

    Raises:
        ValueError: the sample is smaller than the part.
    """

    get_params = staticmethod(v1.RandomCrop.get_params)

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: object = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = height_and_width(size)
        sides = [padding] if isinstance(padding, int) else list(padding or [0])
        left, top, right, bottom = (sides * 4)[:4]
        self.padding = [left, right, top, bottom] if padding else None
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self._fill = fill_table(fill)
        self.padding_mode = padding_mode

    def make_params(self, flat_inputs: list[object]) -> Params:
        left, right, top, bottom = self.padding or [0, 0, 0, 0]
        height, width = query_size(flat_inputs)
        height, width = height + top + bottom, width + left + right
        rows, columns = self.size
        if self.pad_if_needed:
            more_rows, more_columns = max(rows - height, 0), max(columns - width, 0)
            top, bottom, height = top + more_rows, bottom + more_rows, height + 2 * more_rows
            left, right, width = left + more_columns, right + more_columns, width + 2 * more_columns
        if height < rows or width < columns:
            raise ValueError(
                f"Required crop size {(rows, columns)} is larger than "
                f"{'padded ' if self.padding is not None else ''}input image size {(height, width)}."
            )
        start_row = _draw.randint(None, height - rows + 1, 1)[0] if height > rows else 0
        start_column = _draw.randint(None, width - columns + 1, 1)[0] if width > columns else 0
        crops = height > rows or width > columns
        return {
            "padding": [left, top, right, bottom],
            "part": (start_row, start_column, rows, columns) if crops else None,
        }

    def transform(self, inpt: Part, params: Drawn) -> object:
        if any(params["padding"]):
            inpt = F.pad(inpt, params["padding"], fill_for(self._fill, inpt), self.padding_mode)
        return inpt if params["part"] is None else F.crop(inpt, *params["part"])


class RandomPerspective(RandomApplied):
    """Seen from aside with probability ``p``. Arguments are those of the first version.

    Raises:
        ValueError: the distortion is not from 0 to 1.
    """

    get_params = staticmethod(v1.RandomPerspective.get_params)

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Mode = InterpolationMode.BILINEAR,
        fill: object = 0,
    ) -> None:
        super().__init__(p)
        if not (0 <= distortion_scale <= 1):
            raise ValueError("Argument distortion_scale value should be between 0 and 1")
        self.distortion_scale = distortion_scale
        self.interpolation = mode_of(interpolation)
        self.fill = fill
        self._fill = fill_table(fill)

    def make_params(self, flat_inputs: list[object]) -> Params:
        height, width = query_size(flat_inputs)
        return {"points": v1.RandomPerspective.get_params(width, height, self.distortion_scale)}

    def transform(self, inpt: Part, params: Drawn) -> object:
        start, end = params["points"]
        return F.perspective(inpt, start, end, self.interpolation, fill_for(self._fill, inpt))


class ElasticTransform(Transform):
    """Bent at random. Arguments are those of the first version."""

    get_params = staticmethod(v1.ElasticTransform.get_params)

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: Mode = InterpolationMode.BILINEAR,
        fill: object = 0,
    ) -> None:
        super().__init__()
        self.alpha, self.sigma = two_numbers(alpha, "alpha"), two_numbers(sigma, "sigma")
        self.interpolation = mode_of(interpolation)
        self.fill = fill
        self._fill = fill_table(fill)

    def make_params(self, flat_inputs: list[object]) -> Params:
        return {"displacement": v1.ElasticTransform.get_params(self.alpha, self.sigma, query_size(flat_inputs))}

    def transform(self, inpt: Part, params: Drawn) -> object:
        return F.elastic(inpt, params["displacement"], self.interpolation, fill_for(self._fill, inpt))


class RandomIoUCrop(Transform):
    """A random part that overlaps some box as much as an option that is drawn says: for detection, as SSD does it.

    Boxes whose middle is outside become 0; ``SanitizeBoundingBoxes`` removes them.

    Args:
        min_scale, max_scale: bounds of the part's sides, as shares of the picture's.
        min_aspect_ratio, max_aspect_ratio: bounds of its width divided by its height.
        sampler_options: the least overlaps, one of which is drawn; 1 or more: the whole picture.
        trials: how many parts are drawn before another option is.

    Raises:
        TypeError: the sample has no picture or no boxes.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.v2.RandomIoUCrop.html
    """

    def __init__(
        self,
        min_scale: float = 0.3,
        max_scale: float = 1.0,
        min_aspect_ratio: float = 0.5,
        max_aspect_ratio: float = 2.0,
        sampler_options: list[float] | None = None,
        trials: int = 40,
    ) -> None:
        super().__init__()
        self.min_scale, self.max_scale = min_scale, max_scale
        self.min_aspect_ratio, self.max_aspect_ratio = min_aspect_ratio, max_aspect_ratio
        self.options = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0] if sampler_options is None else sampler_options
        self.trials = trials

    def check_inputs(self, flat_inputs: list[object]) -> None:
        has_boxes = any(isinstance(part, BoundingBoxes) for part in flat_inputs)
        if not has_boxes or not any(is_picture(part) for part in flat_inputs):
            raise TypeError(
                f"{type(self).__name__}() requires input sample to contain tensor or PIL images "
                "and bounding boxes. Sample can also contain masks."
            )

    def make_params(self, flat_inputs: list[object]) -> Params:
        height, width = query_size(flat_inputs)
        boxes = boxes_of(flat_inputs)
        corners = F.convert_bounding_box_format(boxes.as_subclass(Tensor), boxes.format, BoundingBoxFormat.XYXY)
        x, y = 0.5 * (corners[:, 0] + corners[:, 2]), 0.5 * (corners[:, 1] + corners[:, 3])
        while True:
            least = self.options[_draw.randint(None, len(self.options), 1)[0]]
            if least >= 1.0:
                return {}
            for _ in range(self.trials):
                share = self.min_scale + (self.max_scale - self.min_scale) * ops.rand(2)
                columns, rows = int(width * share[0]), int(height * share[1])
                if not self.min_aspect_ratio <= columns / rows <= self.max_aspect_ratio:
                    continue
                place = ops.rand(2)
                left, top = int((width - columns) * place[0]), int((height - rows) * place[1])
                right, bottom = left + columns, top + rows
                if left == right or top == bottom:
                    continue
                is_inside = (left < x) & (x < right) & (top < y) & (y < bottom)
                if not bool(is_inside.any()):
                    continue
                part = ops.tensor([[left, top, right, bottom]], dtype=corners.dtype)
                if float(box_iou(corners[is_inside], part).max()) < least:
                    continue
                return {"part": (top, left, rows, columns), "is_inside": is_inside}

    def transform(self, inpt: Part, params: Drawn) -> object:
        if not params:
            return inpt
        output = F.crop(inpt, *params["part"])
        if isinstance(output, BoundingBoxes):
            mask = output.as_subclass(Tensor) * params["is_inside"][:, None].to(output.dtype)
            output = wrap(mask, like=output)
        return output


class _ToDrawnSize(Transform):
    """The base of transforms that resize to a drawn size."""

    interpolation: InterpolationMode
    antialias: bool | None

    def transform(self, inpt: Part, params: Drawn) -> object:
        return F.resize(inpt, params["size"], self.interpolation, antialias=self.antialias)


class ScaleJitter(_ToDrawnSize):
    """Resized by a drawn factor, relative to what would fit ``target_size`` (height and width)."""

    def __init__(
        self,
        target_size: tuple[int, int],
        scale_range: tuple[float, float] = (0.1, 2.0),
        interpolation: Mode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.target_size, self.scale_range = target_size, scale_range
        self.interpolation, self.antialias = mode_of(interpolation), antialias

    def make_params(self, flat_inputs: list[object]) -> Params:
        height, width = query_size(flat_inputs)
        low, high = self.scale_range
        scale = low + ops.rand(1) * (high - low)
        factor = min(self.target_size[1] / height, self.target_size[0] / width) * scale
        return {"size": (int(height * factor), int(width * factor))}


class RandomShortestSize(_ToDrawnSize):
    """The shorter side gets one of several lengths, unless the longer one would be over ``max_size``."""

    def __init__(
        self,
        min_size: int | Sequence[int],
        max_size: int | None = None,
        interpolation: Mode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.min_size = [min_size] if isinstance(min_size, int) else list(min_size)
        self.max_size = max_size
        self.interpolation, self.antialias = mode_of(interpolation), antialias

    def make_params(self, flat_inputs: list[object]) -> Params:
        height, width = query_size(flat_inputs)
        factor = self.min_size[_draw.randint(None, len(self.min_size), 1)[0]] / min(height, width)
        if self.max_size is not None:
            factor = min(factor, self.max_size / max(height, width))
        return {"size": (int(height * factor), int(width * factor))}


class RandomResize(_ToDrawnSize):
    """The shorter side gets a length that is drawn, from ``min_size`` to below ``max_size``."""

    def __init__(
        self,
        min_size: int,
        max_size: int,
        interpolation: Mode = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.min_size, self.max_size = min_size, max_size
        self.interpolation, self.antialias = mode_of(interpolation), antialias

    def make_params(self, flat_inputs: list[object]) -> Params:
        return {"size": [self.min_size + _draw.randint(None, self.max_size - self.min_size, 1)[0]]}
