"""The functions of ``transforms.v2``. Each changes pictures, videos, masks and boxes in the way that fits their type."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from .... import ops
from ...._core import dtypes
from ...._core.tensor import Tensor
from ..._pillow import is_image, pillow
from ...ops.boxes import box_convert
from ...tv_tensors import BoundingBoxes, BoundingBoxFormat, Image, Mask, TVTensor, wrap
from .. import functional as F
from .._colours import largest
from .._geometry import affine_grid, inverse_affine_matrix, perspective_coefficients, size_after_turning
from .._images import size_after_resizing
from .._resize import resized
from ..functional import InterpolationMode as InterpolationMode

if TYPE_CHECKING:
    from ..._pillow import PillowImage

__all__ = [
    "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation", "adjust_sharpness", "affine",
    "autocontrast", "center_crop", "clamp_bounding_boxes", "convert_bounding_box_format", "crop", "elastic", "equalize",
    "erase", "five_crop", "gaussian_blur", "gaussian_noise", "get_dimensions", "get_num_channels", "get_size",
    "grayscale_to_rgb", "horizontal_flip", "invert", "is_pure_tensor", "jpeg", "normalize", "pad", "permute_channels",
    "perspective", "pil_to_tensor", "posterize", "resize", "resized_crop", "rgb_to_grayscale", "rotate",
    "sanitize_bounding_boxes", "solarize", "ten_crop", "to_dtype", "to_grayscale", "to_image", "to_pil_image",
    "uniform_temporal_subsample", "vertical_flip",
]  # fmt: skip

Sample = TypeVar("Sample", bound="Tensor | PillowImage")  # a tensor or PIL image; the result is of the same kind
Boxes = TypeVar("Boxes", bound=BoundingBoxes)

pil_to_tensor, to_pil_image = F.pil_to_tensor, F.to_pil_image


def is_pure_tensor(inpt: object) -> bool:
    """Whether this is a tensor that does not say what it is."""
    return isinstance(inpt, Tensor) and not isinstance(inpt, TVTensor)


def to_image(inpt: object) -> Image:
    """A tensor, a PIL image or an array ``(H, W, C)`` as a picture.

    Raises:
        TypeError: anything else.
    """
    import numpy as np

    if isinstance(inpt, np.ndarray):
        planes = inpt[:, :, None] if inpt.ndim == 2 else inpt
        return Image(ops.tensor(np.ascontiguousarray(planes.transpose(2, 0, 1))))
    if is_image(inpt) or isinstance(inpt, Tensor):
        return Image(inpt)
    raise TypeError(f"Input can either be a pure Tensor, a numpy array, or a PIL image, but got {type(inpt)} instead.")


# ---- how a function finds what to do


def on_pictures(function: Callable[..., object], inpt: Sample, *args: object, **options: object) -> Sample:
    """A function of colours: masks and boxes stay as they are."""
    if isinstance(inpt, (Mask, BoundingBoxes)):
        return inpt
    if isinstance(inpt, TVTensor):
        return wrap(cast("Tensor", function(inpt.as_subclass(Tensor), *args, **options)), like=inpt)
    if not isinstance(inpt, Tensor) and not is_image(inpt):
        raise TypeError(
            f"Functional F.{function.__name__} supports inputs of type Tensor, TVTensor or PIL image, but got {type(inpt)}"
        )
    return cast("Sample", function(inpt, *args, **options))


def _on_planes(function: Callable[..., object], inpt: Sample, *args: object, **options: object) -> Sample:
    """A function of shapes on pictures, and on masks: their values are labels, so they are not mixed."""
    if isinstance(inpt, Mask):
        mask = inpt.as_subclass(Tensor)
        flat = mask[None] if mask.ndim == 2 else mask
        if "interpolation" in options:
            options["interpolation"] = InterpolationMode.NEAREST
        options.pop("antialias", None)
        result = cast("Tensor", function(flat, *args, **options))
        return wrap(result[0] if mask.ndim == 2 else result, like=inpt)
    return on_pictures(function, inpt, *args, **options)


def _mode(interpolation: InterpolationMode | str | int) -> InterpolationMode:
    return InterpolationMode(interpolation) if isinstance(interpolation, str) else F.mode_of(interpolation)


def _fill(fill: object, inpt: object) -> object:
    """The colour for a picture; tensors want one number a channel."""
    if isinstance(inpt, Tensor) and isinstance(fill, (int, float)):
        return [float(fill)]
    return fill


# ---- sizes


def get_dimensions(inpt: object) -> list[int]:
    """Channels, height and width."""
    return F.get_dimensions(inpt.as_subclass(Tensor) if isinstance(inpt, TVTensor) else inpt)


def get_num_channels(inpt: object) -> int:
    """The number of channels of a picture or video."""
    return get_dimensions(inpt)[0]


def get_size(inpt: object) -> list[int]:
    """Height and width; those of the picture for boxes."""
    return list(inpt.canvas_size) if isinstance(inpt, BoundingBoxes) else get_dimensions(inpt)[1:]


# ---- boxes


def convert_bounding_box_format(
    inpt: Sample,
    old_format: BoundingBoxFormat | str | None = None,
    new_format: BoundingBoxFormat | str | None = None,
) -> Sample:
    """Boxes in another form. A plain tensor needs its old form, too.

    Raises:
        TypeError, ValueError: a form is missing, or is given for boxes that know it.
    """
    if new_format is None:
        raise TypeError("convert_bounding_box_format() missing 1 required argument: 'new_format'")
    new = BoundingBoxFormat[new_format.upper()] if isinstance(new_format, str) else new_format
    if isinstance(inpt, BoundingBoxes):
        if old_format is not None:
            raise ValueError("For bounding box tv_tensor inputs, `old_format` must not be passed.")
        return wrap(_converted(inpt.as_subclass(Tensor), inpt.format, new), like=inpt, format=new)
    if old_format is None:
        raise ValueError("For pure tensor inputs, `old_format` has to be passed.")
    old = BoundingBoxFormat[old_format.upper()] if isinstance(old_format, str) else old_format
    return cast("Sample", _converted(cast("Tensor", inpt), old, new))


def _converted(boxes: Tensor, old: BoundingBoxFormat, new: BoundingBoxFormat) -> Tensor:
    result = box_convert(boxes, old.value.lower(), new.value.lower())
    return result.to(boxes.dtype)


def _corners(boxes: BoundingBoxes) -> Tensor:
    return _converted(boxes.as_subclass(Tensor), boxes.format, BoundingBoxFormat.XYXY)


def _boxes(corners: Tensor, like: Boxes, size: Sequence[int] | None = None, clamp: bool = True) -> Boxes:
    """Boxes in the form of ``like`` from their corners, in a picture of another size."""
    size = tuple(like.canvas_size if size is None else size)
    if clamp and like.clamping_mode is not None:
        corners = _clamped(corners, size)
    tensor = _converted(corners.to(like.dtype), BoundingBoxFormat.XYXY, like.format)
    return wrap(tensor, like=like, canvas_size=size)


def _clamped(corners: Tensor, size: Sequence[int]) -> Tensor:
    x, y = corners[..., 0::2].clamp(0, size[1]), corners[..., 1::2].clamp(0, size[0])
    return ops.stack([x, y], -1).reshape(corners.shape)


def clamp_bounding_boxes(
    inpt: Sample,
    format: BoundingBoxFormat | str | None = None,
    canvas_size: tuple[int, int] | None = None,
    clamping_mode: str | None = "auto",
) -> Sample:
    """The parts of boxes within the picture. A plain tensor needs its form and the picture's size.

    Raises:
        ValueError: these are missing, or are given for boxes that know them.
    """
    if isinstance(inpt, BoundingBoxes):
        if format is not None or canvas_size is not None:
            raise ValueError("For bounding box tv_tensor inputs, `format` and `canvas_size` must not be passed.")
        mode = inpt.clamping_mode if clamping_mode == "auto" else clamping_mode
        return inpt if mode is None else _boxes(_clamped(_corners(inpt), inpt.canvas_size), inpt)
    if format is None or canvas_size is None or clamping_mode == "auto":
        raise ValueError("For pure tensor inputs, `format`, `canvas_size` and `clamping_mode` have to be passed.")
    form = BoundingBoxFormat[format.upper()] if isinstance(format, str) else format
    corners = _clamped(_converted(cast("Tensor", inpt), form, BoundingBoxFormat.XYXY), canvas_size)
    return cast("Sample", _converted(corners, BoundingBoxFormat.XYXY, form))


def sanitize_mask(boxes: BoundingBoxes, min_size: float, min_area: float) -> Tensor:
    """A mask of the boxes that lie within their picture and are large enough."""
    corners = _corners(boxes)
    width, height = corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1]
    valid = (width >= min_size) & (height >= min_size) & (corners >= 0).all(-1) & (width * height >= min_area)
    rows, columns = boxes.canvas_size
    return valid & (corners[:, 0::2] <= columns).all(-1) & (corners[:, 1::2] <= rows).all(-1)


def sanitize_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat | str | None = None,
    canvas_size: tuple[int, int] | None = None,
    min_size: float = 1.0,
    min_area: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """The boxes that lie within their picture and are large enough, and which of all these are."""
    if isinstance(bounding_boxes, BoundingBoxes):
        valid = sanitize_mask(bounding_boxes, min_size, min_area)
        return wrap(bounding_boxes.as_subclass(Tensor)[valid], like=bounding_boxes), valid
    if format is None or canvas_size is None:
        raise ValueError("For pure tensor inputs, `format` and `canvas_size` have to be passed.")
    boxes = BoundingBoxes(bounding_boxes, format=format, canvas_size=canvas_size)
    valid = sanitize_mask(boxes, min_size, min_area)
    return bounding_boxes[valid], valid


def _move_boxes(boxes: Boxes, place: Callable[[Tensor], Tensor], size: Sequence[int] | None = None) -> Boxes:
    """The boxes around the four corners ``(N, 4, 2)`` of others after a map of places."""
    corners = _corners(boxes)
    points = (corners if corners.is_floating_point() else corners.float())[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(
        -1, 4, 2
    )
    moved = place(points)
    around = ops.cat([moved.amin(1), moved.amax(1)], -1)
    return _boxes(around if boxes.is_floating_point() else around.round(), boxes, size)


# ---- shapes


def horizontal_flip(inpt: Sample) -> Sample:
    """Left becomes right."""
    if isinstance(inpt, BoundingBoxes):
        x1, y1, x2, y2 = _corners(inpt).unbind(-1)
        width = inpt.canvas_size[1]
        return _boxes(ops.stack([width - x2, y1, width - x1, y2], -1), inpt)
    return _on_planes(F.hflip, inpt)


def vertical_flip(inpt: Sample) -> Sample:
    """Top becomes bottom."""
    if isinstance(inpt, BoundingBoxes):
        x1, y1, x2, y2 = _corners(inpt).unbind(-1)
        height = inpt.canvas_size[0]
        return _boxes(ops.stack([x1, height - y2, x2, height - y1], -1), inpt)
    return _on_planes(F.vflip, inpt)


def resize(
    inpt: Sample,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode | str | int = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Sample:
    """Another size. ``size=None`` makes the longer side ``max_size``."""
    height, width = get_size(inpt)
    if size is None:
        if not isinstance(max_size, int):
            raise ValueError(f"max_size must be an integer when size is None, but got {max_size} instead.")
        scale = max_size / max(height, width)
        size, max_size = [max(1, int(height * scale)), max(1, int(width * scale))], None
    if isinstance(inpt, BoundingBoxes):
        new = size_after_resizing(height, width, size, max_size)
        ratios = ops.tensor([new[1] / width, new[0] / height] * 2)
        return _boxes(_corners(inpt) * ratios, inpt, new)
    return _on_planes(
        _resized_planes, inpt, size, interpolation=_mode(interpolation), max_size=max_size, antialias=antialias
    )


def _resized_planes(
    image: Tensor,
    size: int | Sequence[int],
    *,
    interpolation: InterpolationMode,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Tensor:
    """``transforms.functional.resize``, which here rounds bytes after each direction."""
    if not isinstance(image, Tensor) or image.dtype is not dtypes.uint8:
        return F.resize(image, size, interpolation, max_size, antialias)
    height, width = image.shape[-2:]
    new = size_after_resizing(height, width, size, max_size)
    if new == (height, width):
        return image
    return resized(image, new, interpolation.value, bool(antialias), bytes_between=True)


def crop(inpt: Sample, top: int, left: int, height: int, width: int) -> Sample:
    """A part, black outside of the picture."""
    if isinstance(inpt, BoundingBoxes):
        return _boxes(_corners(inpt) - ops.tensor([left, top, left, top]), inpt, (height, width))
    return _on_planes(F.crop, inpt, top, left, height, width)


def resized_crop(
    inpt: Sample,
    top: int,
    left: int,
    height: int,
    width: int,
    size: Sequence[int],
    interpolation: InterpolationMode | str | int = InterpolationMode.BILINEAR,
    antialias: bool | None = True,
) -> Sample:
    """A part, resized."""
    return resize(crop(inpt, top, left, height, width), size, interpolation, antialias=antialias)


def center_crop(inpt: Sample, output_size: int | Sequence[int]) -> Sample:
    """The middle, with black borders where the picture is too small."""
    if not isinstance(inpt, BoundingBoxes):
        return _on_planes(F.center_crop, inpt, output_size)
    height, width = (output_size, output_size) if isinstance(output_size, int) else (output_size[0], output_size[-1])
    rows, columns = inpt.canvas_size
    return crop(inpt, round((rows - height) / 2), round((columns - width) / 2), height, width)


def five_crop(inpt: Sample, size: int | Sequence[int]) -> tuple[Sample, ...]:
    """The four corners and the middle of a picture or video."""
    if isinstance(inpt, TVTensor):
        return tuple(wrap(part, like=inpt) for part in F.five_crop(inpt.as_subclass(Tensor), size))
    return F.five_crop(inpt, size)


def ten_crop(inpt: Sample, size: int | Sequence[int], vertical_flip: bool = False) -> tuple[Sample, ...]:
    """The four corners and the middle of a picture or video and of its mirror image."""
    if isinstance(inpt, TVTensor):
        return tuple(wrap(part, like=inpt) for part in F.ten_crop(inpt.as_subclass(Tensor), size, vertical_flip))
    return F.ten_crop(inpt, size, vertical_flip)


def pad(inpt: Sample, padding: int | Sequence[int], fill: object = None, padding_mode: str = "constant") -> Sample:
    """Borders. Those of masks are 0 unless ``fill`` says otherwise."""
    if not isinstance(inpt, BoundingBoxes):
        return _on_planes(F.pad, inpt, padding, 0 if fill is None else fill, padding_mode)
    if padding_mode != "constant":
        raise ValueError(f"Padding mode '{padding_mode}' is not supported with bounding boxes")
    sides = [padding] if isinstance(padding, int) else list(padding)
    left, top, right, bottom = (sides * 4)[:4]
    size = (inpt.canvas_size[0] + top + bottom, inpt.canvas_size[1] + left + right)
    return _boxes(_corners(inpt) + ops.tensor([left, top, left, top]), inpt, size)


def _linear(matrix: Sequence[float], middle: tuple[float, float]) -> Callable[[Tensor], Tensor]:
    """The map of places of which ``matrix`` is the inverse, about a middle (x, y)."""
    a, b, c, d, e, f = matrix
    determinant = a * e - b * d

    def place(points: Tensor) -> Tensor:
        x, y = points[..., 0] - middle[0] - c, points[..., 1] - middle[1] - f
        moved = [(e * x - b * y) / determinant + middle[0], (a * y - d * x) / determinant + middle[1]]
        return ops.stack(moved, -1)

    return place


def rotate(
    inpt: Sample,
    angle: float,
    interpolation: InterpolationMode | str | int = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: object = None,
) -> Sample:
    """Turned against the clock, by degrees."""
    if not isinstance(inpt, BoundingBoxes):
        return _on_planes(
            F.rotate, inpt, float(angle), interpolation=_mode(interpolation), expand=expand, center=center,
            fill=_fill(fill, inpt),
        )  # fmt: skip
    rows, columns = inpt.canvas_size
    middle = (columns * 0.5, rows * 0.5)
    away = [0.0, 0.0] if center is None or expand else [center[0] - middle[0], center[1] - middle[1]]
    place = _linear(inverse_affine_matrix(away, -angle, [0.0, 0.0], 1.0, [0.0, 0.0]), middle)
    if not expand:
        return _move_boxes(inpt, place)
    least = place(ops.tensor([[0.0, 0.0], [columns, 0.0], [columns, rows], [0.0, rows]])).amin(0)
    size = size_after_turning(inverse_affine_matrix(middle, -angle, [0.0, 0.0], 1.0, [0.0, 0.0]), rows, columns)
    return _move_boxes(inpt, lambda points: place(points) - least, size)


def affine(
    inpt: Sample,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: float | Sequence[float],
    interpolation: InterpolationMode | str | int = InterpolationMode.NEAREST,
    fill: object = None,
    center: Sequence[float] | None = None,
) -> Sample:
    """Sheared, scaled, turned clockwise and moved."""
    if not isinstance(inpt, BoundingBoxes):
        return _on_planes(
            F.affine, inpt, float(angle), list(translate), scale, shear, interpolation=_mode(interpolation),
            fill=_fill(fill, inpt), center=center,
        )  # fmt: skip
    rows, columns = inpt.canvas_size
    middle = (columns * 0.5, rows * 0.5)
    away = [0.0, 0.0] if center is None else [center[0] - middle[0], center[1] - middle[1]]
    shears = [float(shear), 0.0] if isinstance(shear, (int, float)) else list(shear)
    return _move_boxes(inpt, _linear(inverse_affine_matrix(away, angle, translate, scale, shears), middle))


def perspective(
    inpt: Sample,
    startpoints: Sequence[Sequence[int]] | None,
    endpoints: Sequence[Sequence[int]] | None,
    interpolation: InterpolationMode | str | int = InterpolationMode.BILINEAR,
    fill: object = None,
) -> Sample:
    """Projected so that four points get to four others."""
    assert startpoints is not None and endpoints is not None
    if not isinstance(inpt, BoundingBoxes):
        return _on_planes(
            F.perspective, inpt, startpoints, endpoints, interpolation=_mode(interpolation), fill=_fill(fill, inpt)
        )
    a, b, c, d, e, f, g, h = perspective_coefficients(endpoints, startpoints)

    def place(points: Tensor) -> Tensor:
        x, y = points[..., 0], points[..., 1]
        below = g * x + h * y + 1
        return ops.stack([(a * x + b * y + c) / below, (d * x + e * y + f) / below], -1)

    return _move_boxes(inpt, place)


def elastic(
    inpt: Sample,
    displacement: Tensor,
    interpolation: InterpolationMode | str | int = InterpolationMode.BILINEAR,
    fill: object = None,
) -> Sample:
    """Bent: each pixel comes from another place. Boxes are moved against the displacement at their corners."""
    if not isinstance(inpt, BoundingBoxes):
        return _on_planes(
            F.elastic_transform, inpt, displacement, interpolation=_mode(interpolation), fill=_fill(fill, inpt)
        )
    rows, columns = inpt.canvas_size
    still = affine_grid([1.0, 0.0, 0.0, 0.0, 1.0, 0.0], (rows, columns), (rows, columns), dtypes.float32)
    back = (still - displacement)[0]

    def place(points: Tensor) -> Tensor:
        x, y = points[..., 0].ceil().long().clamp(0, columns - 1), points[..., 1].ceil().long().clamp(0, rows - 1)
        return (back[y, x] + 1) * 0.5 * ops.tensor([float(columns), float(rows)]) - 0.5

    return _move_boxes(inpt, place)


# ---- colours and values


def _colour(name: str, words: str) -> Callable[..., Tensor]:
    function = getattr(F, name)

    def transformed(inpt: Sample, *args: object, **options: object) -> Sample:
        return on_pictures(function, inpt, *args, **options)

    transformed.__name__ = transformed.__qualname__ = name
    transformed.__doc__ = f"{words} Arguments are those of ``transforms.functional.{name}``; masks and boxes stay."
    return transformed


adjust_brightness = _colour("adjust_brightness", "Brighter or darker.")
adjust_contrast = _colour("adjust_contrast", "More or less contrast.")
adjust_gamma = _colour("adjust_gamma", "``gain * img ** gamma``.")
adjust_hue = _colour("adjust_hue", "Other hues.")
adjust_saturation = _colour("adjust_saturation", "Stronger or weaker colours.")
adjust_sharpness = _colour("adjust_sharpness", "Sharper or softer.")
equalize = _colour("equalize", "Values about equally frequent.")
gaussian_blur = _colour("gaussian_blur", "Blurred.")
invert = _colour("invert", "Light becomes dark.")
normalize = _colour("normalize", "``(x - mean) / std``, channel by channel.")
posterize = _colour("posterize", "Only the highest bits of bytes.")
solarize = _colour("solarize", "Values from a threshold up inverted.")
rgb_to_grayscale = _colour("rgb_to_grayscale", "Without colours.")
to_grayscale = rgb_to_grayscale


def autocontrast(inpt: Sample) -> Sample:
    """Values stretched from black to white; masks and boxes stay."""

    def stretched(image: Tensor) -> Tensor:
        if not isinstance(image, Tensor):
            return F.autocontrast(image)
        white = largest(image.dtype)
        values = image if image.is_floating_point() else image.float()
        least, most = values.amin((-2, -1), keepdim=True), values.amax((-2, -1), keepdim=True)
        is_flat = most == least
        step = ops.where(is_flat, 1.0, (most - least) * (1.0 / white))
        return ((values - ops.where(is_flat, 0.0, least)) / step).clamp(0, white).to(image.dtype)

    return on_pictures(stretched, inpt)


def grayscale_to_rgb(inpt: Sample) -> Sample:
    """A grey picture with three equal channels; one of three channels stays."""
    if get_num_channels(inpt) >= 3:
        return inpt
    if is_image(inpt):
        return cast("Sample", inpt.convert("RGB"))
    return on_pictures(lambda x: x.expand(*x.shape[:-3], 3, *x.shape[-2:]).clone(), inpt)


def permute_channels(inpt: Sample, permutation: Sequence[int]) -> Sample:
    """The channels in another order."""
    if is_image(inpt):
        return to_pil_image(pil_to_tensor(inpt)[list(permutation)])  # pyright: ignore[reportReturnType]
    return on_pictures(lambda x: x[..., list(permutation), :, :], inpt)


def erase(inpt: Sample, i: int, j: int, h: int, w: int, v: Tensor, inplace: bool = False) -> Sample:
    """A part of a picture or video replaced by ``v``."""
    if is_image(inpt):
        return to_pil_image(F.erase(pil_to_tensor(inpt), i, j, h, w, v))
    return on_pictures(F.erase, inpt, i, j, h, w, v, inplace)


def gaussian_noise(inpt: Sample, mean: float = 0.0, sigma: float = 0.1, clip: bool = True) -> Sample:
    """Normal noise added to values from 0 to 1, or to bytes as if they were.

    Raises:
        ValueError: a negative sigma, integers other than bytes, or a PIL image.
    """
    if is_image(inpt):
        raise ValueError("Gaussian Noise is not implemented for PIL images.")

    def noisy(image: Tensor) -> Tensor:
        if sigma < 0:
            raise ValueError(f"sigma shouldn't be negative. Got {sigma}")
        if not image.is_floating_point() and image.dtype is not dtypes.uint8:
            raise ValueError(f"Input tensor is expected to be in uint8 or float dtype, got dtype={image.dtype}")
        if image.is_floating_point():
            noise = mean + ops.randn_like(image) * sigma
            return (image + noise).clamp(0, 1) if clip else image + noise
        noisy = (mean * 255 + ops.randn_like(image, dtype=dtypes.float32) * (sigma * 255)).to(dtypes.int16)
        result = image + noisy
        return (result.clamp(0, 255) if clip else result).to(dtypes.uint8)

    return on_pictures(noisy, inpt)


def jpeg(inpt: Sample, quality: int) -> Sample:
    """A picture of bytes after it was written as a JPEG file of this quality."""

    def compressed(image: PillowImage) -> PillowImage:
        file = io.BytesIO()
        image.save(file, format="JPEG", quality=quality)
        return pillow("Image").open(file).copy()

    def one(image: Tensor) -> Tensor:
        planes = image.reshape(math.prod(image.shape[:-3]), *image.shape[-3:])
        parts = [pil_to_tensor(compressed(to_pil_image(part))) for part in planes]
        return ops.stack(parts).reshape(image.shape)

    return compressed(inpt) if is_image(inpt) else on_pictures(one, inpt)


def to_dtype(inpt: Sample, dtype: dtypes.dtype = dtypes.float32, scale: bool = False) -> Sample:
    """Another dtype; with ``scale``, the values of pictures fill its range."""
    if isinstance(inpt, (Mask, BoundingBoxes)) or not scale:
        converted = cast("Tensor", inpt).as_subclass(Tensor).to(dtype)
        return wrap(converted, like=inpt) if isinstance(inpt, TVTensor) else cast("Sample", converted)
    return on_pictures(F.convert_image_dtype, inpt, dtype)


def uniform_temporal_subsample(inpt: Sample, num_samples: int) -> Sample:
    """So many frames of a video ``(..., T, C, H, W)``, at equal distances."""
    if not isinstance(inpt, Tensor):
        raise TypeError(f"uniform_temporal_subsample() takes a video or a tensor, got {type(inpt)}")
    if isinstance(inpt, (Image, Mask, BoundingBoxes)):
        return inpt
    video = inpt.as_subclass(Tensor)
    places = ops.linspace(0, video.shape[-4] - 1, num_samples).long()
    picked = video.index_select(video.ndim - 4, places)
    return wrap(picked, like=inpt) if isinstance(inpt, TVTensor) else cast("Sample", picked)
