"""Pictures as tensors and back, their sizes, borders and parts: functions on PIL images and tensors ``(..., C, H, W)``."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from ..._core import dtypes
from ..._core.tensor import Tensor, from_host
from ...ops.nn.pad import pad as pad_tensor
from ...utils.data._host import host_array
from .._pillow import image_from_array, is_image, pillow
from ._resize import resized

if TYPE_CHECKING:
    from .._pillow import PillowImage

__all__ = [
    "InterpolationMode",
    "center_crop",
    "convert_image_dtype",
    "crop",
    "get_dimensions",
    "hflip",
    "normalize",
    "pad",
    "pil_to_tensor",
    "resize",
    "to_pil_image",
    "to_tensor",
    "unit_range",
]

Picture = TypeVar("Picture", bound="Tensor | PillowImage")  # a PIL image or a tensor: the result is of the same kind


class InterpolationMode(Enum):
    """The ways to interpolate between pixels."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


# Pillow's numbers for its filters. With this table it need not be imported.
PILLOW_FILTERS = {"nearest": 0, "nearest-exact": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
# The dtype of the pixels for each mode of an image; the other modes have bytes.
MODE_TYPES = {"I": np.int32, "I;16": np.uint16, "F": np.float32}


def mode_of(interpolation: object) -> InterpolationMode:
    """The mode that was asked for, by itself or by Pillow's number. TypeError for anything else."""
    if isinstance(interpolation, int):
        return next(mode for mode in InterpolationMode if PILLOW_FILTERS[mode.value] == interpolation)
    if not isinstance(interpolation, InterpolationMode):
        raise TypeError(
            "Argument interpolation should be a InterpolationMode or a corresponding Pillow integer constant"
        )
    return interpolation


def unit_range(pixels: np.ndarray) -> np.ndarray:
    """Bytes as numbers between 0 and 1 of the default dtype; others as they are. The result is a fresh array."""
    if pixels.dtype != np.uint8:
        return np.ascontiguousarray(pixels)
    dtype = dtypes.get_default_dtype().numpy
    result = pixels.astype(dtype, order="C")
    result /= dtype.type(255)  # a division, because a multiplication by 1/255 rounds some bytes differently
    return result


def to_tensor(pic: object) -> Tensor:
    """A PIL image or an array ``(H, W)`` or ``(H, W, C)`` as a tensor ``(C, H, W)``; bytes become numbers from 0 to 1.

    Raises:
        TypeError: for anything else. ValueError: for an array of another number of dimensions.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.functional.to_tensor.html
    """
    if isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
        planes = pic[None] if pic.ndim == 2 else pic.transpose(2, 0, 1)  # (C, H, W)
        copied = planes.copy() if planes.dtype != np.uint8 else planes
        return from_host(unit_range(copied))
    if not is_image(pic):
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    return from_host(unit_range(_planes(pic, MODE_TYPES)))


def pil_to_tensor(pic: object) -> Tensor:
    """A PIL image as a tensor ``(C, H, W)`` of its own type: uint8 for most.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.functional.pil_to_tensor.html
    """
    if not is_image(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    return from_host(np.ascontiguousarray(_planes(pic, {})))


def _planes(image: PillowImage, types: dict[str, type]) -> np.ndarray:
    """The pixels of a PIL image as a fresh array ``(C, H, W)``."""
    pixels = np.array(image, types.get(image.mode), copy=True)
    if image.mode == "1":
        pixels = pixels.astype(np.uint8) * np.uint8(255 if types else 1)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def convert_image_dtype(image: Tensor, dtype: dtypes.dtype = dtypes.float32) -> Tensor:
    """A picture in another dtype, where its values fill the dtype's range: floats are from 0 to 1, integers from 0 up.

    Raises:
        RuntimeError: the floats have fewer digits than the integers.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.convert_image_dtype.html
    """
    tensor: Any = image
    if image.dtype is dtype:
        return image
    if dtype.category == dtypes.FLOAT:
        if image.dtype.category == dtypes.FLOAT:
            return tensor.to(dtype)
        most, array = _most(image.dtype), host_array(image)
        return (
            tensor.to(dtype) / most if array is None else from_host(array.astype(dtype.numpy) / dtype.numpy.type(most))
        )
    if image.dtype.category == dtypes.FLOAT:
        if dtype.itemsize >= min(image.dtype.itemsize, 8) and dtype.itemsize >= 4:
            raise RuntimeError(f"The cast from {image.dtype} to {dtype} cannot be performed safely.")
        return (tensor * (_most(dtype) + 1.0 - 1e-3)).to(dtype)
    before, after = _most(image.dtype) + 1, _most(dtype) + 1
    if before > after:
        return tensor.div(before // after, rounding_mode="floor").to(dtype)
    return tensor.to(dtype) * (after // before)


def _most(dtype: dtypes.dtype) -> int:
    """The largest integer of a dtype."""
    return 1 if dtype is dtypes.bool_ else int(np.iinfo(dtype.numpy).max)


def to_pil_image(pic: object, mode: str | None = None) -> PillowImage:
    """A tensor ``(C, H, W)`` or an array ``(H, W, C)``, or either ``(H, W)``, as a PIL image; floats are from 0 to 1.

    Args:
        mode: of the image, where its dtype and number of channels leave a choice: "YCbCr" for three channels, say.

    Raises:
        TypeError: neither of them, or a dtype that no mode has. ValueError: another shape, or a mode that does not fit.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.functional.to_pil_image.html
    """
    if not isinstance(pic, (Tensor, np.ndarray)):
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    if pic.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
    if isinstance(pic, Tensor):
        if pic.ndim == 3 and pic.shape[-3] > 4:
            raise ValueError(f"pic should not have > 4 channels. Got {pic.shape[-3]} channels.")
        array = pic._array()
        pixels = array.transpose(1, 2, 0) if array.ndim == 3 else array
        if pixels.dtype.kind not in "uib" and mode != "F":  # floats, including bfloat16
            pixels = (pixels * pixels.dtype.type(255)).astype(np.uint8)
    else:
        pixels = pic
        if pixels.ndim == 3 and pixels.shape[-1] > 4:
            raise ValueError(f"pic should not have > 4 channels. Got {pixels.shape[-1]} channels.")
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    name = _pillow_mode(pixels, mode)
    image = image_from_array(np.ascontiguousarray(pixels))
    if image.mode != name:  # the same bytes under another name
        image = pillow("Image").frombytes(name, image.size, image.tobytes())
    return image


GREY_MODES = {"u1": "L", "i2": "I;16", "i4": "I", "f4": "F"}
CHANNEL_MODES = {2: ("LA",), 3: ("RGB", "YCbCr", "HSV"), 4: ("RGBA", "CMYK", "RGBX")}


def _pillow_mode(pixels: np.ndarray, mode: str | None) -> str:
    """The mode of the image that an array ``(H, W)`` or ``(H, W, C)`` becomes."""
    if pixels.ndim == 2:
        only = GREY_MODES.get(pixels.dtype.str[1:])
        if mode is not None and mode != only:
            raise ValueError(f"Incorrect mode ({mode}) supplied for input type {np.dtype}. Should be {only}")
        mode = only
    else:
        count = pixels.shape[2]
        if mode is not None and mode not in CHANNEL_MODES[count]:
            raise ValueError(f"Only modes {list(CHANNEL_MODES[count])} are supported for {count}D inputs")
        if mode is None and pixels.dtype == np.uint8:
            mode = CHANNEL_MODES[count][0]
    if mode is None:
        raise TypeError(f"Input type {pixels.dtype} is not supported")
    return mode


def normalize(
    tensor: Tensor, mean: float | Sequence[float], std: float | Sequence[float], inplace: bool = False
) -> Tensor:
    """``(tensor - mean) / std``, channel by channel.

    Args:
        tensor: floating point, ``(..., C, H, W)``.
        mean, std: one number a channel.

    Raises:
        TypeError: for no tensor, or one of integers. ValueError: for fewer than three dimensions, or a std of zero.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.functional.normalize.html
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            f"Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = {tensor.size()}"
        )
    middle, width = (per_channel(numbers, tensor.dtype.numpy) for numbers in (mean, std))
    if not width.all():
        raise ValueError(f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero.")
    array = None if inplace else host_array(tensor)
    if array is not None:
        return from_host(normalized(array, middle, width))
    image: Any = tensor  # pyright does not see the methods, which are bound from the declarations of the ops
    target = image if inplace else image.clone()
    scale: list[Any] = [from_host(middle), from_host(width)]
    return target.sub_(scale[0].to(target.device)).div_(scale[1].to(target.device))


def normalized(array: np.ndarray, mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    """``(array - mean) / std`` as a fresh array."""
    result = array - mean
    result /= std
    return result


def per_channel(values: float | Sequence[float], dtype: np.dtype) -> np.ndarray:
    array = np.asarray(values, dtype)
    return array.reshape(-1, 1, 1) if array.ndim == 1 else array


def get_dimensions(img: object) -> list[int]:
    """Channels, height and width."""
    if isinstance(img, Tensor):
        if img.ndim < 2:
            raise TypeError("Tensor is not a torch image.")
        return [1 if img.ndim == 2 else img.shape[-3], img.shape[-2], img.shape[-1]]
    if is_image(img):
        return [len(img.getbands()), img.height, img.width]
    raise TypeError(f"Unexpected type {type(img)}")


def hflip(img: Picture) -> Picture:
    """Left becomes right.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.functional.hflip.html
    """
    get_dimensions(img)
    if not isinstance(img, Tensor):
        return img.transpose(0)  # Pillow's FLIP_LEFT_RIGHT  # pyright: ignore[reportArgumentType, reportReturnType]
    array = host_array(img)
    return cast("Picture", img.flip(-1) if array is None else from_host(array[..., ::-1].copy()))


def pad(
    img: Picture, padding: int | Sequence[int], fill: float | Sequence[float] = 0, padding_mode: str = "constant"
) -> Picture:
    """Adds borders: one number for all sides, two for left-right and top-bottom, or left, top, right, bottom.

    Args:
        fill: the colour of a constant border; of a PIL image also one number a channel.
        padding_mode: "constant", "edge", "reflect", or "symmetric".

    Raises:
        ValueError: another mode, or another number of sides. TypeError: several numbers as the colour of a tensor's border.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.functional.pad.html
    """
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
    sides = [padding] if isinstance(padding, int) else list(padding)
    if len(sides) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(sides)} element tuple")
    left, top, right, bottom = (sides * 4)[:4]
    options = {"constant_values": fill} if padding_mode == "constant" else {}

    def padded(array: np.ndarray, height_axis: int) -> np.ndarray:
        widths = [(0, 0)] * array.ndim
        widths[height_axis], widths[height_axis + 1] = (top, bottom), (left, right)
        return np.pad(array, widths, padding_mode, **options)  # pyright: ignore[reportCallIssue, reportArgumentType]

    if isinstance(img, Tensor):
        array = host_array(img)
        if padding_mode == "constant" and not isinstance(fill, (int, float)):
            if len(fill) != 1:
                raise TypeError("can't pad a tensor with one number a channel; torchvision cannot either")
            fill = fill[0]
            options = {"constant_values": fill}
        if array is None or min(left, top, right, bottom) < 0:
            return _padded_on_device(img, left, top, right, bottom, padding_mode, fill)
        return from_host(padded(array, array.ndim - 2))  # pyright: ignore[reportReturnType]
    get_dimensions(img)
    if padding_mode == "constant" and (img.mode == "P" or not isinstance(fill, (int, float))):
        bordered = pillow("ImageOps").expand(img, border=(left, top, right, bottom), fill=pillow_fill(fill, img))
        if img.mode == "P":
            bordered.putpalette(img.getpalette())
        return bordered
    return image_from_array(padded(np.asarray(img), 0))


def pillow_fill(fill: float | Sequence[float] | None, img: Any) -> float | tuple[float, ...]:
    """The colour of what lies outside of a PIL image, as Pillow wants it."""
    channels = get_dimensions(img)[0]
    values = 0 if fill is None else fill
    if isinstance(values, (int, float)):
        colour = (values,) * channels
    else:
        colour = tuple(values) * (channels if len(values) == 1 else 1)
        if len(colour) != channels:
            raise ValueError(
                "The number of elements in 'fill' does not match the number of channels of the image "
                f"({len(colour)} != {channels})"
            )
    if img.mode != "F":
        colour = tuple(int(value) for value in colour)
    return colour if channels > 1 or not isinstance(values, (int, float)) else colour[0]


def _padded_on_device(
    img: Tensor, left: int, top: int, right: int, bottom: int, padding_mode: str, fill: object
) -> Tensor:
    if padding_mode == "constant":
        return pad_tensor(img, (left, right, top, bottom), value=fill)
    mode: Any = padding_mode
    for axis, widths in ((-2, (top, bottom)), (-1, (left, right))):
        places = np.pad(np.arange(img.shape[axis]), widths, mode)
        img = img.index_select(axis, from_host(places).to(img.device))  # pyright: ignore[reportAttributeAccessIssue]
    return img


def crop(img: Picture, top: int, left: int, height: int, width: int) -> Picture:
    """A part of an image; what lies outside of it is black.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.functional.crop.html
    """
    if not isinstance(img, Tensor):
        get_dimensions(img)
        return img.crop((left, top, left + width, top + height))  # pyright: ignore[reportReturnType]
    _, full_height, full_width = get_dimensions(img)
    bottom, right = top + height, left + width
    array = host_array(img)
    cropped: Any = img if array is None else array
    cropped = cropped[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    result = cropped if array is None else from_host(np.ascontiguousarray(cropped))
    if min(left, top) >= 0 and right <= full_width and bottom <= full_height:
        return result  # pyright: ignore[reportReturnType]
    borders = [max(min(right, 0) - left, 0), max(min(bottom, 0) - top, 0)]
    borders += [max(right - max(full_width, left), 0), max(bottom - max(full_height, top), 0)]
    return pad(result, borders)  # pyright: ignore[reportReturnType]


def center_crop(img: Picture, output_size: int | Sequence[int]) -> Picture:
    """The middle of an image, with black borders where it is too small.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.functional.center_crop.html
    """
    height, width = _pair(output_size)
    _, full_height, full_width = get_dimensions(img)
    if width > full_width or height > full_height:
        left, top = max(0, width - full_width) // 2, max(0, height - full_height) // 2
        right, bottom = (max(0, width - full_width) + 1) // 2, (max(0, height - full_height) + 1) // 2
        img = pad(img, [left, top, right, bottom])
        _, full_height, full_width = get_dimensions(img)
        if (width, height) == (full_width, full_height):
            return img
    return crop(img, round((full_height - height) / 2.0), round((full_width - width) / 2.0), height, width)


def resize(
    img: Picture,
    size: int | Sequence[int],
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Picture:
    """An image of another size: ``(H, W)``, or one number for the shorter side, keeping proportions.

    Args:
        interpolation: a tensor's may be NEAREST, NEAREST_EXACT, BILINEAR or BICUBIC; of Pillow's numbers for them, too.
        max_size: the largest longer side, if ``size`` is the shorter one.
        antialias: widen the filter where a tensor becomes smaller. PIL does so always.

    Raises:
        ValueError: sizes that do not go together. NotImplementedError: an interpolation that tensors do not have.

    Source: https://pytorch.org/vision/stable/generated/torchvision.transforms.functional.resize.html
    """
    interpolation = mode_of(interpolation)
    _, height, width = get_dimensions(img)
    new_height, new_width = size_after_resizing(height, width, size, max_size)
    if (new_height, new_width) == (height, width):
        return img
    if isinstance(img, Tensor):
        return resized(img, (new_height, new_width), interpolation.value, bool(antialias))
    if antialias is False:
        warnings.warn(
            "Anti-alias option is always applied for PIL Image input. Argument antialias is ignored.", stacklevel=2
        )
    return img.resize((new_width, new_height), PILLOW_FILTERS[interpolation.value])  # pyright: ignore[reportReturnType]


def size_after_resizing(height: int, width: int, size: int | Sequence[int], max_size: int | None) -> tuple[int, int]:
    sides = [size] if isinstance(size, int) else list(size)
    if len(sides) == 2:
        if max_size is not None:
            raise ValueError(
                "max_size should only be passed if size specifies the length of the smaller edge, "
                "i.e. size should be an int or a sequence of length 1 in torchscript mode."
            )
        return sides[0], sides[1]
    short, long = min(width, height), max(width, height)
    new_short, new_long = sides[0], int(sides[0] * long / short)
    if max_size is not None:
        if max_size <= sides[0]:
            raise ValueError(
                f"max_size = {max_size} must be strictly greater than the requested size for the smaller edge "
                f"size = {size}"
            )
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return (new_long, new_short) if width <= height else (new_short, new_long)


def _pair(size: int | Sequence[int]) -> tuple[int, int]:
    if isinstance(size, numbers.Number):
        return int(size), int(size)  # pyright: ignore[reportArgumentType]
    sides = list(size)  # pyright: ignore[reportArgumentType]
    return sides[0], sides[-1]
