"""Colours of pictures: functions on PIL images and on tensors ``(..., 1 or 3, H, W)``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from ... import ops
from ..._core import dtypes
from ..._core.tensor import Tensor, from_host
from ...nn import functional as nnf
from .._pillow import image_from_array, is_image, pillow
from ._images import convert_image_dtype, get_dimensions, pil_to_tensor, to_pil_image

if TYPE_CHECKING:
    from .._pillow import PillowImage

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "autocontrast",
    "equalize",
    "gaussian_blur",
    "invert",
    "posterize",
    "rgb_to_grayscale",
    "solarize",
    "to_grayscale",
]

Picture = TypeVar("Picture", bound="Tensor | PillowImage")  # a PIL image or a tensor: the result is of the same kind

GREY_WEIGHTS = (0.2989, 0.587, 0.114)  # of red, green and blue: ITU-R BT.601, as torchvision rounds them


def largest(dtype: dtypes.dtype) -> float:
    """The value of white in a dtype."""
    return 1.0 if dtype.category >= dtypes.FLOAT or dtype is dtypes.bool_ else float(np.iinfo(dtype.numpy).max)


def require_channels(img: Tensor, permitted: Sequence[int]) -> None:
    channels = get_dimensions(img)[0]
    if channels not in permitted:
        raise TypeError(f"Input image tensor permitted channel values are {list(permitted)}, but found {channels}")


def require_picture(img: object) -> None:
    """TypeError, in torchvision's words, for what is no PIL image."""
    if not is_image(img):
        raise TypeError(f"img should be PIL Image. Got {type(img)}")


def blended(img: Tensor, other: Tensor, ratio: float) -> Tensor:
    """``ratio * img + (1 - ratio) * other`` within the range of the dtype."""
    mix = ratio * img + (1.0 - ratio) * other
    return mix.clamp(0, largest(img.dtype)).to(img.dtype)


def _enhanced(img: Picture, kind: str, factor: float) -> Picture:
    require_picture(img)
    return getattr(pillow("ImageEnhance"), kind)(img).enhance(factor)


def _grey(img: Tensor) -> Tensor:
    """The brightness ``(..., 1, H, W)`` of a picture of three channels, in its dtype."""
    red, green, blue = (img[..., channel : channel + 1, :, :] for channel in range(3))
    return (GREY_WEIGHTS[0] * red + GREY_WEIGHTS[1] * green + GREY_WEIGHTS[2] * blue).to(img.dtype)


def rgb_to_grayscale(img: Picture, num_output_channels: int = 1) -> Picture:
    """A picture without colours, of one channel or three equal ones.

    Raises:
        ValueError: another number of channels.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.rgb_to_grayscale.html
    """
    if not isinstance(img, Tensor):
        return to_grayscale(img, num_output_channels)
    if img.ndim < 3:
        raise TypeError(f"Input image tensor should have at least 3 dimensions, but found {img.ndim}")
    require_channels(img, [1, 3])
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    grey = _grey(img) if img.shape[-3] == 3 else img.clone()
    return grey if num_output_channels == 1 else grey.expand(*img.shape[:-3], 3, *img.shape[-2:])  # pyright: ignore[reportReturnType]


def to_grayscale(img: Picture, num_output_channels: int = 1) -> Picture:
    """A PIL image without colours, of one channel or three equal ones.

    Raises:
        TypeError: it is no PIL image. ValueError: another number of channels.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.to_grayscale.html
    """
    if not is_image(img):
        raise TypeError("Input should be PIL Image")
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    grey = img.convert("L")
    return cast("Picture", grey if num_output_channels == 1 else image_from_array(np.dstack([np.asarray(grey)] * 3)))


def adjust_brightness(img: Picture, brightness_factor: float) -> Picture:
    """A brighter or darker picture: a factor of 0 gives black, 1 the picture itself.

    Raises:
        ValueError: the factor is negative.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.adjust_brightness.html
    """
    if not isinstance(img, Tensor):
        return _enhanced(img, "Brightness", brightness_factor)
    _require_factor("brightness_factor", brightness_factor)
    require_channels(img, [1, 3])
    return blended(img, ops.zeros_like(img), brightness_factor)  # pyright: ignore[reportReturnType]


def adjust_contrast(img: Picture, contrast_factor: float) -> Picture:
    """A picture of more or less contrast: a factor of 0 gives its mean grey, 1 the picture itself.

    Raises:
        ValueError: the factor is negative.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.adjust_contrast.html
    """
    if not isinstance(img, Tensor):
        return _enhanced(img, "Contrast", contrast_factor)
    _require_factor("contrast_factor", contrast_factor)
    require_channels(img, [1, 3])
    dtype = img.dtype if img.is_floating_point() else dtypes.float32
    grey = (_grey(img) if img.shape[-3] == 3 else img).to(dtype)
    return blended(img, grey.mean((-3, -2, -1), keepdim=True), contrast_factor)  # pyright: ignore[reportReturnType]


def adjust_saturation(img: Picture, saturation_factor: float) -> Picture:
    """A picture of stronger or weaker colours: a factor of 0 gives grey, 1 the picture itself.

    Raises:
        ValueError: the factor is negative.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.adjust_saturation.html
    """
    if not isinstance(img, Tensor):
        return _enhanced(img, "Color", saturation_factor)
    _require_factor("saturation_factor", saturation_factor)
    require_channels(img, [1, 3])
    return img if img.shape[-3] == 1 else blended(img, _grey(img), saturation_factor)  # pyright: ignore[reportReturnType]


def _require_factor(name: str, factor: float) -> None:
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")


def adjust_hue(img: Picture, hue_factor: float) -> Picture:
    """A picture whose colours move around the circle of hues: by -0.5 to 0.5 of it, both of which give the opposite colours.

    Raises:
        ValueError: the factor is outside of that.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.adjust_hue.html
    """
    if not (-0.5 <= hue_factor <= 0.5):
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if not isinstance(img, Tensor):
        require_picture(img)
        return _pillow_hue(img, hue_factor)
    require_channels(img, [1, 3])
    if img.shape[-3] == 1:
        return img  # pyright: ignore[reportReturnType]
    hue, saturation, value = hsv_of(convert_image_dtype(img, dtypes.float32))
    moved = rgb_of((hue + hue_factor) % 1.0, saturation, value)
    return convert_image_dtype(moved, img.dtype)  # pyright: ignore[reportReturnType]


def _pillow_hue(img: Picture, hue_factor: float) -> Picture:
    image = pillow("Image")
    assert is_image(img)
    mode = img.mode
    if mode in {"L", "1", "I", "F"}:
        return img
    hue, saturation, value = img.convert("HSV").split()
    turned = np.array(hue, dtype=np.uint8) + np.int32(hue_factor * 255).astype(np.uint8)
    return image.merge("HSV", (image_from_array(turned), saturation, value)).convert(mode)


def hsv_of(img: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hue, saturation and value, each from 0 to 1, of a picture of floats ``(..., 3, H, W)``."""
    red, green, blue = img.unbind(-3)
    most, least = img.amax(-3), img.amin(-3)
    is_grey = most == least
    chroma = most - least
    ones = ops.ones_like(most)
    saturation = chroma / ops.where(is_grey, ones, most)
    divisor = ops.where(is_grey, ones, chroma)
    away_red, away_green, away_blue = ((most - channel) / divisor for channel in (red, green, blue))
    from_red = (most == red) * (away_blue - away_green)
    from_green = ((most == green) & (most != red)) * (2.0 + away_red - away_blue)
    from_blue = ((most != green) & (most != red)) * (4.0 + away_green - away_red)
    hue = ((from_red + from_green + from_blue) / 6.0 + 1.0).fmod(1.0)
    return hue, saturation, most


def rgb_of(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    """The picture ``(..., 3, H, W)`` of these hues, saturations and values ``(..., H, W)``."""
    sixth = (hue * 6.0).floor()
    fraction = hue * 6.0 - sixth
    low = (value * (1.0 - saturation)).clamp(0.0, 1.0)
    falling = (value * (1.0 - saturation * fraction)).clamp(0.0, 1.0)
    rising = (value * (1.0 - saturation * (1.0 - fraction))).clamp(0.0, 1.0)
    number = sixth.to(dtypes.int32) % 6
    channels = []
    # Red, green and blue in each sixth of the circle.
    for values in (
        (value, falling, low, low, rising, value),
        (rising, value, value, falling, low, low),
        (low, low, rising, value, value, falling),
    ):
        channel = values[0]
        for shift in range(1, 6):
            channel = ops.where(number == shift, values[shift], channel)
        channels.append(channel)
    return ops.stack(channels, -3)


def adjust_gamma(img: Picture, gamma: float, gain: float = 1) -> Picture:
    """``gain * img ** gamma``, for values from 0 to 1, limited to these.

    Raises:
        ValueError: gamma is negative.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.adjust_gamma.html
    """
    if isinstance(img, Tensor):
        require_channels(img, [1, 3])
        if gamma < 0:
            raise ValueError("Gamma should be a non-negative real number")
        floats = img if img.is_floating_point() else convert_image_dtype(img, dtypes.float32)
        return convert_image_dtype((gain * floats**gamma).clamp(0, 1), img.dtype)  # pyright: ignore[reportReturnType]
    if not is_image(img):
        raise TypeError(f"img should be PIL Image. Got {type(img)}")
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    rgb = img.convert("RGB")
    table = [int((255 + 1 - 1e-3) * gain * pow(level / 255.0, gamma)) for level in range(256)] * 3
    return cast("Picture", rgb.point(table).convert(img.mode))


def adjust_sharpness(img: Picture, sharpness_factor: float) -> Picture:
    """A sharper or softer picture: a factor of 0 gives a smoothed one, 1 the picture itself.

    Raises:
        ValueError: the factor is negative.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.adjust_sharpness.html
    """
    if not isinstance(img, Tensor):
        return _enhanced(img, "Sharpness", sharpness_factor)
    _require_factor("sharpness_factor", sharpness_factor)
    require_channels(img, [1, 3])
    is_small = img.shape[-1] <= 2 or img.shape[-2] <= 2
    return blended(img, img if is_small else _smoothed(img), sharpness_factor)


def _smoothed(img: Tensor) -> Tensor:
    """Each pixel with eight neighbours becomes their mean, in which it counts five times. The border stays."""
    dtype = img.dtype if img.is_floating_point() else dtypes.float32
    kernel = np.ones((3, 3), dtype.numpy)
    kernel[1, 1] = 5.0
    kernel /= kernel.sum()
    channels = img.shape[-3]
    weights = from_host(np.repeat(kernel[None, None], channels, 0)).to(img.device)
    middle = nnf.conv2d(img.to(dtype).reshape(-1, *img.shape[-3:]), weights, groups=channels)
    if not img.is_floating_point():
        middle = middle.round()
    result = img.clone()
    result[..., 1:-1, 1:-1] = middle.to(img.dtype).reshape(*img.shape[:-2], *middle.shape[-2:])
    return result


def invert(img: Picture) -> Picture:
    """A picture in which light becomes dark.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.invert.html
    """
    if not isinstance(img, Tensor):
        require_picture(img)
        return pillow("ImageOps").invert(img)
    _require_planes(img)
    white = largest(img.dtype)
    return (white if img.is_floating_point() else int(white)) - img  # pyright: ignore[reportReturnType]


def _require_planes(img: Tensor) -> None:
    if img.ndim < 3:
        raise TypeError(f"Input image tensor should have at least 3 dimensions, but found {img.ndim}")
    require_channels(img, [1, 3])


def _require_bytes(img: Tensor) -> None:
    if img.dtype is not dtypes.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")


def posterize(img: Picture, bits: int) -> Picture:
    """A picture of bytes, of which only the highest ``bits`` bits stay.

    Raises:
        ValueError: not 0 to 8 bits. TypeError: a tensor that is not of bytes.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.posterize.html
    """
    if not (0 <= bits <= 8):
        raise ValueError(f"The number if bits should be between 0 and 8. Got {bits}")
    if not isinstance(img, Tensor):
        require_picture(img)
        return pillow("ImageOps").posterize(img, bits)
    if img.ndim < 3:
        raise TypeError(f"Input image tensor should have at least 3 dimensions, but found {img.ndim}")
    _require_bytes(img)
    require_channels(img, [1, 3])
    return img & (256 - 2 ** (8 - bits))  # pyright: ignore[reportReturnType]


def solarize(img: Picture, threshold: float) -> Picture:
    """A picture in which the values from a threshold up are inverted.

    Raises:
        TypeError: the threshold is larger than white.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.solarize.html
    """
    if not isinstance(img, Tensor):
        require_picture(img)
        return pillow("ImageOps").solarize(img, threshold)
    _require_planes(img)
    if threshold > largest(img.dtype):
        raise TypeError("Threshold should be less than bound of img.")
    return ops.where(img >= threshold, invert(img), img)


def autocontrast(img: Picture) -> Picture:
    """A picture in which the darkest value of each channel becomes black and its lightest white.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.autocontrast.html
    """
    if not isinstance(img, Tensor):
        require_picture(img)
        return pillow("ImageOps").autocontrast(img)
    _require_planes(img)
    white = largest(img.dtype)
    dtype = img.dtype if img.is_floating_point() else dtypes.float32
    least, most = (edge.to(dtype) for edge in (img.amin((-2, -1), keepdim=True), img.amax((-2, -1), keepdim=True)))
    scale = white / (most - least)
    is_flat = scale.isfinite().logical_not()  # of one value, which stays
    least, scale = ops.where(is_flat, 0.0, least), ops.where(is_flat, 1.0, scale)
    return ((img - least) * scale).clamp(0, white).to(img.dtype)  # pyright: ignore[reportReturnType]


def equalize(img: Picture) -> Picture:
    """A picture of bytes in which the values of each channel are spread so that all are about equally frequent.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.equalize.html
    """
    if not isinstance(img, Tensor):
        require_picture(img)
        return pillow("ImageOps").equalize(img)
    if not (3 <= img.ndim <= 4):
        raise TypeError(f"Input image tensor should have 3 or 4 dimensions, but found {img.ndim}")
    _require_bytes(img)
    require_channels(img, [1, 3])
    array = img.cpu().numpy()
    planes = [_equalized(plane) for plane in array.reshape(-1, *array.shape[-2:])]
    return from_host(np.stack(planes).reshape(array.shape)).to(img.device)  # pyright: ignore[reportReturnType]


def _equalized(plane: np.ndarray) -> np.ndarray:
    counts = np.bincount(plane.reshape(-1), minlength=256)
    step = int(counts[counts != 0][:-1].sum()) // 255
    if step == 0:
        return plane
    table = np.minimum((counts.cumsum() - counts + step // 2) // step, 255)
    table[0] = 0
    return table.astype(np.uint8)[plane]


def gaussian_blur(
    img: Picture, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None
) -> Picture:
    """A picture that is convolved with a normal distribution; its border is mirrored.

    Args:
        kernel_size: width and height of the kernel, odd.
        sigma: standard deviations in both directions; default ``0.3 * ((kernel_size - 1) * 0.5 - 1) + 0.8``.

    Raises:
        TypeError, ValueError: sizes or deviations of another kind.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.transforms.functional.gaussian_blur.html
    """
    sizes, sigmas = _kernel_sizes(kernel_size), sigma
    if sigmas is None:
        sigmas = [size * 0.15 + 0.35 for size in sizes]
    if not isinstance(sigmas, (list, tuple, int, float)):
        raise TypeError(f"sigma should be either float or sequence of floats. Got {type(sigmas)}")
    deviations = [float(sigmas)] * 2 if isinstance(sigmas, (int, float)) else [float(deviation) for deviation in sigmas]
    if len(deviations) == 1:
        deviations *= 2
    if len(deviations) != 2:
        raise ValueError(f"If sigma is a sequence, its length should be 2. Got {len(deviations)}")
    for deviation in deviations:
        if deviation <= 0.0:
            raise ValueError(f"sigma should have positive values. Got {deviations}")
    if not isinstance(img, Tensor) and not is_image(img):
        raise TypeError(f"img should be PIL Image or Tensor. Got {type(img)}")
    tensor = img if isinstance(img, Tensor) else pil_to_tensor(img)
    blurred = blurred_by(tensor, sizes, deviations)
    return blurred if isinstance(img, Tensor) else to_pil_image(blurred, mode=img.mode)  # pyright: ignore[reportReturnType, reportAttributeAccessIssue]


def _kernel_sizes(kernel_size: int | Sequence[int]) -> list[int]:
    if not isinstance(kernel_size, (int, list, tuple)):
        raise TypeError(f"kernel_size should be int or a sequence of integers. Got {type(kernel_size)}")
    sizes = [kernel_size] * 2 if isinstance(kernel_size, int) else list(kernel_size)
    if len(sizes) != 2:
        raise ValueError(f"If kernel_size is a sequence its length should be 2. Got {len(sizes)}")
    if any(size % 2 == 0 or size < 0 for size in sizes):
        raise ValueError(f"kernel_size should have odd and positive integers. Got {sizes}")
    return sizes


def bell(size: int, sigma: float, dtype: dtypes.dtype) -> Tensor:
    """A normal distribution at ``size`` places around its mean, with sum 1."""
    half = (size - 1) * 0.5
    density = (-0.5 * (ops.linspace(-half, half, size, dtype=dtype) / sigma).pow(2)).exp()
    return density / density.sum()


def blurred_by(img: Tensor, sizes: Sequence[int], deviations: Sequence[float]) -> Tensor:
    """The convolution of pictures ``(..., C, H, W)``; integers are rounded."""
    dtype = img.dtype if img.is_floating_point() else dtypes.float32
    across, down = (bell(size, sigma, dtype) for size, sigma in zip(sizes, deviations, strict=True))
    channels = img.shape[-3]
    kernel = (down[:, None] @ across[None, :]).expand(channels, 1, sizes[1], sizes[0]).to(img.device)
    x = img.to(dtype).reshape(math.prod(img.shape[:-3]), *img.shape[-3:])
    x = nnf.pad(x, [sizes[0] // 2, sizes[0] // 2, sizes[1] // 2, sizes[1] // 2], mode="reflect")
    x = nnf.conv2d(x, kernel, groups=channels)
    return (x if img.is_floating_point() else x.round()).to(img.dtype).reshape(img.shape)
