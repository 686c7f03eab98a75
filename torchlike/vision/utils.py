"""Pictures to look at: grids, files, and boxes, masks, points and flows drawn into them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from os import PathLike
from typing import BinaryIO, TypeAlias

import numpy as np

from .. import ops
from .._core import dtypes
from .._core.tensor import Tensor, from_host
from ..autograd import no_grad
from ._pillow import image_from_array, pillow
from .transforms.functional import convert_image_dtype, pil_to_tensor, to_pil_image

__all__ = [
    "draw_bounding_boxes",
    "draw_keypoints",
    "draw_segmentation_masks",
    "flow_to_image",
    "make_grid",
    "save_image",
]

Color: TypeAlias = "str | tuple[int, ...]"


@no_grad()
def make_grid(
    tensor: Tensor | list[Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[float, float] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """Several pictures as one: ``(C, H, W)``.

    Args:
        tensor: ``(N, C, H, W)``, or a list of pictures of one size. Pictures of one channel get three.
        nrow: how many stand in a row.
        padding, pad_value: the width and the value of the space between them.
        normalize: shift and scale values to 0 to 1.
        value_range: the values that become 0 and 1; default: the smallest and the largest.
        scale_each: take these from each picture by itself.

    Raises:
        TypeError: an argument of another type.

    >>> import torchlike as torch
    >>> from torchlike.vision import utils
    >>> utils.make_grid(torch.zeros(10, 3, 4, 5), nrow=4).shape
    torch.Size([3, 20, 30])

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.utils.make_grid.html
    """
    if isinstance(tensor, list):
        for element in tensor:
            if not isinstance(element, Tensor):
                raise TypeError(f"tensor or list of tensors expected, got a list containing {type(element)}")
        tensor = ops.stack(tensor, 0)
    elif not isinstance(tensor, Tensor):
        raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
    if tensor.ndim < 4:  # one picture
        tensor = tensor.reshape(1, *([1] if tensor.ndim == 2 else []), *tensor.shape)
    if tensor.ndim == 4 and tensor.shape[1] == 1:
        tensor = ops.cat([tensor] * 3, 1)
    if normalize:
        if value_range is not None and not isinstance(value_range, tuple):
            raise TypeError("value_range has to be a tuple (min, max) if specified. min and max are numbers")
        parts = list(tensor) if scale_each else [tensor]
        scaled = [_scaled(image, value_range) for image in parts]
        tensor = ops.stack(scaled, 0) if scale_each else scaled[0]
    if len(tensor) == 1:
        return tensor.squeeze(0)
    columns = min(nrow, len(tensor))
    rows = math.ceil(len(tensor) / columns)
    height, width = tensor.shape[2] + padding, tensor.shape[3] + padding
    grid = tensor.new_full((tensor.shape[1], height * rows + padding, width * columns + padding), pad_value)
    for number, picture in enumerate(tensor):
        top, left = number // columns * height + padding, number % columns * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = picture
    return grid


def _scaled(tensor: Tensor, value_range: tuple[float, float] | None) -> Tensor:
    low, high = (float(tensor.min()), float(tensor.max())) if value_range is None else value_range
    return (tensor.clamp(low, high) - low) / max(high - low, 1e-5)


@no_grad()
def save_image(
    tensor: Tensor | list[Tensor], fp: str | PathLike[str] | BinaryIO, format: str | None = None, **kwargs: object
) -> None:
    """Writes pictures of values from 0 to 1 into a file, as a grid if they are several.

    Args:
        fp: a path or an open file.
        format: of the file; default: what the path ends in.
        kwargs: for ``make_grid``.

    Raises:
        ImportError: Pillow is not installed.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.utils.save_image.html
    """
    grid = make_grid(tensor, **kwargs)
    pixels = (grid * 255 + 0.5).clamp(0, 255).permute(1, 2, 0).cpu().to(dtypes.uint8).numpy()
    image_from_array(np.ascontiguousarray(pixels)).save(fp, format=format)


def _require_picture(image: Tensor, message: str) -> None:
    if not isinstance(image, Tensor):
        raise TypeError(f"{message}, got {type(image)}")
    if image.dtype is not dtypes.uint8 and not image.is_floating_point():
        raise ValueError(f"The image dtype must be uint8 or float, got {image.dtype}")
    if image.ndim != 3:
        raise ValueError("Pass individual images, not batches")


def _colors(colors: Color | Sequence[Color] | None, count: int) -> list[tuple[int, ...]]:
    """A colour for each of several things: one for all, a list, or, by default, different ones."""
    if colors is None:
        return [tuple(number * prime % 255 for prime in (2**25 - 1, 2**15 - 1, 2**21 - 1)) for number in range(count)]
    if isinstance(colors, list):
        if len(colors) < count:
            raise ValueError(
                f"Number of colors must be equal or larger than the number of objects, but got {len(colors)} < {count}."
            )
        colors_of_all = colors
    elif not isinstance(colors, (tuple, str)):
        raise ValueError(f"colors must be a tuple or a string, or a list thereof, but got {colors}.")
    elif isinstance(colors, tuple) and len(colors) != 3:
        raise ValueError(f"If passed as tuple, colors should be an RGB triplet, but got {colors}.")
    else:
        colors_of_all = [colors] * count
    return [pillow("ImageColor").getrgb(color) if isinstance(color, str) else color for color in colors_of_all]  # pyright: ignore[reportReturnType]


@no_grad()
def draw_bounding_boxes(
    image: Tensor,
    boxes: Tensor,
    labels: list[str] | None = None,
    colors: Color | list[Color] | None = None,
    fill: bool | None = False,
    width: int = 1,
    font: str | None = None,
    font_size: int | None = None,
    label_colors: Color | list[Color] | None = None,
    label_background_colors: Color | list[Color] | None = None,
    fill_labels: bool = False,
) -> Tensor:
    """A picture with boxes drawn into it.

    Args:
        image: ``(1 or 3, H, W)``, of bytes, or of floats from 0 to 1.
        boxes: ``(N, 4)``, as x1, y1, x2, y2.
        labels: a text for each.
        colors: one for all or a list: names or "#RRGGBB" or three numbers; default: different ones.
        fill: whether the boxes are filled, transparently.
        width: of the lines.
        font, font_size: the file of a TrueType font; default: Pillow's own.
        label_colors: default: those of the boxes.
        label_background_colors, fill_labels: whether labels have a background, and its colours.

    Raises:
        TypeError, ValueError: another picture, boxes that are not in this form, too few labels or colours.
        NotImplementedError: rotated boxes ``(N, 8)``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.utils.draw_bounding_boxes.html
    """
    _require_picture(image, "Tensor expected")
    if image.shape[0] not in (1, 3):
        raise ValueError("Only grayscale and RGB images are supported")
    if boxes.shape[-1] == 8:
        raise NotImplementedError("draw_bounding_boxes: rotated boxes (N, 8) are not supported by torchlike")
    if bool((boxes[:, 0] > boxes[:, 2]).any()) or bool((boxes[:, 1] > boxes[:, 3]).any()):
        raise ValueError(
            "Boxes need to be in (xmin, ymin, xmax, ymax) format. Use torchvision.ops.box_convert to convert them"
        )
    count = len(boxes)
    if count == 0:
        warnings.warn("boxes doesn't contain any box. No box was drawn", stacklevel=2)
        return image
    if labels is not None and len(labels) != count:
        raise ValueError(
            f"Number of boxes ({count}) and labels ({len(labels)}) mismatch. Please specify labels for each box."
        )
    box_colors = _colors(colors, count)
    text_colors = _colors(label_colors or "black", count) if label_colors or fill_labels else box_colors
    grounds = _colors(label_background_colors, count) if fill_labels and label_background_colors else box_colors
    if font is None and font_size is not None:
        warnings.warn("Argument 'font_size' will be ignored since 'font' is not set.", stacklevel=2)
    fonts = pillow("ImageFont")
    letters = fonts.load_default() if font is None else fonts.truetype(font=font, size=font_size or 10)
    canvas = to_pil_image(convert_image_dtype(image.expand(3, *image.shape[1:]), dtypes.uint8))
    draw = pillow("ImageDraw").Draw(canvas, "RGBA") if fill else pillow("ImageDraw").Draw(canvas)
    for number, box in enumerate(boxes.to(dtypes.int64).tolist()):
        color = box_colors[number]
        draw.rectangle(box, width=width, outline=color, fill=(*color, 100) if fill else None)
        if labels is not None:
            corner = (box[0] + width + 1, box[1] + width + 1)
            if fill_labels:
                left, top, right, bottom = draw.textbbox(corner, labels[number], font=letters)
                draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=grounds[number])
            draw.text(corner, labels[number], fill=text_colors[number], font=letters)
    return convert_image_dtype(pil_to_tensor(canvas), image.dtype)


@no_grad()
def draw_segmentation_masks(
    image: Tensor, masks: Tensor, alpha: float = 0.8, colors: Color | list[Color] | None = None
) -> Tensor:
    """A picture with coloured masks over it; where several overlap it is dark.

    Args:
        image: ``(3, H, W)``, of bytes, or of floats from 0 to 1.
        masks: ``(N, H, W)`` or ``(H, W)``, of booleans.
        alpha: from 0, where masks are not seen, to 1, where they hide the picture.
        colors: as for ``draw_bounding_boxes``.

    Raises:
        TypeError, ValueError: another picture, other masks, too few colours.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.utils.draw_segmentation_masks.html
    """
    _require_picture(image, "The image must be a tensor")
    if image.shape[0] != 3:
        raise ValueError("Pass an RGB image. Other Image formats are not supported")
    masks = masks[None] if masks.ndim == 2 else masks
    if masks.ndim != 3:
        raise ValueError("masks must be of shape (H, W) or (batch_size, H, W)")
    if masks.dtype is not dtypes.bool_:
        raise ValueError(f"The masks must be of dtype bool. Got {masks.dtype}")
    if masks.shape[-2:] != image.shape[-2:]:
        raise ValueError("The image and the masks must have the same height and width")
    if len(masks) == 0:
        warnings.warn("masks doesn't contain any mask. No mask was drawn", stacklevel=2)
        return image
    painted = image.detach().clone()
    for mask, color in zip(masks, _colors(colors, len(masks)), strict=False):
        values = [value / 255 for value in color] if image.is_floating_point() else list(color)
        painted = ops.where(mask, ops.tensor(values, dtype=image.dtype, device=image.device)[:, None, None], painted)
    painted = ops.where(masks.sum(0) > 1, 0, painted)
    return (image * (1 - alpha) + painted * alpha).to(image.dtype)


@no_grad()
def draw_keypoints(
    image: Tensor,
    keypoints: Tensor,
    connectivity: list[tuple[int, int]] | None = None,
    colors: Color | None = None,
    radius: int = 2,
    width: int = 3,
    visibility: Tensor | None = None,
) -> Tensor:
    """A picture with points drawn into it, and lines between them.

    Args:
        image: ``(3, H, W)``, of bytes, or of floats from 0 to 1.
        keypoints: ``(N, K, 2)``: x and y of K points of N things.
        connectivity: pairs of points with a line between them.
        colors: of the points.
        radius, width: of points and lines.
        visibility: ``(N, K)``: points that are not visible are left out, and their lines with them.

    Raises:
        TypeError, ValueError: another picture, other points.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.utils.draw_keypoints.html
    """
    _require_picture(image, "The image must be a tensor")
    if image.shape[0] != 3:
        raise ValueError("Pass an RGB image. Other Image formats are not supported")
    if keypoints.ndim != 3:
        raise ValueError("keypoints must be of shape (num_instances, K, 2)")
    if visibility is None:
        visibility = ops.ones(keypoints.shape[:-1], dtype=dtypes.bool_)
    visibility = visibility.squeeze(-1) if visibility.ndim == 3 else visibility
    if visibility.ndim != 2:
        raise ValueError(f"visibility must be of shape (num_instances, K). Got ndim={visibility.ndim}")
    if visibility.shape != keypoints.shape[:-1]:
        raise ValueError(
            "keypoints and visibility must have the same dimensionality for num_instances and K. "
            f"Got visibility.shape={visibility.shape!r} and keypoints.shape={keypoints.shape!r}"
        )
    canvas = to_pil_image(convert_image_dtype(image, dtypes.uint8))
    draw = pillow("ImageDraw").Draw(canvas)
    for points, point_visibility in zip(keypoints.to(dtypes.int64).tolist(), visibility.bool().tolist(), strict=True):
        for (x, y), is_seen in zip(points, point_visibility, strict=True):
            if is_seen:
                box = [x - radius, y - radius, x + radius, y + radius]
                draw.ellipse(box, fill=colors, outline=None, width=0)
        for start, end in connectivity or []:
            if point_visibility[start] and point_visibility[end]:
                draw.line((*points[start], *points[end]), width=width)
    return convert_image_dtype(pil_to_tensor(canvas), image.dtype)


# Red to yellow to green to cyan to blue to magenta to red: the number of steps, and which channel rises or falls.
WHEEL = ((15, 1, 1), (6, 0, -1), (4, 2, 1), (11, 1, -1), (13, 0, 1), (6, 2, -1))


def _wheel() -> np.ndarray:
    """The colours ``(55, 3)`` of directions, of Baker et al., "A Database and Evaluation Methodology for Optical Flow"."""
    rows, color = [], np.array([255.0, 0.0, 0.0])
    for count, channel, sign in WHEEL:
        for step in range(count):
            painted = color.copy()
            change = np.floor(np.float32(255 * step) / np.float32(count))
            painted[channel] = change if sign > 0 else 255 - change
            rows.append(painted)
        color[channel] = 255.0 if sign > 0 else 0.0
    return np.array(rows, np.float32)


@no_grad()
def flow_to_image(flow: Tensor) -> Tensor:
    """Colours for an optical flow: the hue says the direction, the strength the length in relation to the longest.

    Args:
        flow: ``(N, 2, H, W)`` or ``(2, H, W)``, float32.

    Returns:
        Bytes ``(N, 3, H, W)`` or ``(3, H, W)``.

    Raises:
        ValueError: another dtype or shape.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.utils.flow_to_image.html
    """
    if flow.dtype is not dtypes.float32:
        raise ValueError(f"Flow should be of dtype torch.float, got {flow.dtype}.")
    batch = flow[None] if flow.ndim == 3 else flow
    if batch.ndim != 4 or batch.shape[1] != 2:
        raise ValueError(f"Input flow should have shape (2, H, W) or (N, 2, H, W), got {flow.shape}.")
    batch = batch / (batch.pow(2).sum(1).sqrt().max() + float(np.finfo(np.float32).eps))
    length = batch.pow(2).sum(1).sqrt()
    wheel = from_host(_wheel()).to(flow.device)
    place = (ops.atan2(-batch[:, 1], -batch[:, 0]) / math.pi + 1) / 2 * (len(wheel) - 1)
    low = place.floor().long()
    weight = (place - low)[..., None]
    color = (1 - weight) * (wheel[low] / 255.0) + weight * (wheel[(low + 1) % len(wheel)] / 255.0)
    color = 1 - length[..., None] * (1 - color)
    image = (255 * color).floor().to(dtypes.uint8).permute(0, 3, 1, 2)
    return image[0] if flow.ndim == 3 else image
