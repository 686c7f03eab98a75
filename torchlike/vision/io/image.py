"""Files of pictures as tensors ``(C, H, W)`` and back, read and written by Pillow."""

from __future__ import annotations

import io
from enum import Enum
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ..._core import dtypes
from ..._core.tensor import Tensor, from_host
from .._pillow import pillow
from ..transforms.functional import pil_to_tensor, to_pil_image

__all__ = [
    "ImageReadMode", "decode_avif", "decode_gif", "decode_heic", "decode_image", "decode_jpeg", "decode_png", "decode_webp",
    "encode_jpeg", "encode_png", "read_file", "read_image", "write_file", "write_jpeg", "write_png",
]  # fmt: skip

Place: TypeAlias = "str | PathLike[str]"


class ImageReadMode(Enum):
    """The channels with which a picture is read; "UNCHANGED" keeps the file's."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4


# RGBA is what torchvision calls RGB_ALPHA by a second name.
PILLOW_MODES = {"GRAY": "L", "GRAY_ALPHA": "LA", "RGB": "RGB", "RGBA": "RGBA", "RGB_ALPHA": "RGBA"}


def read_file(path: Place) -> Tensor:
    """The bytes of a file, as a tensor of one dimension.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.io.read_file.html
    """
    return from_host(np.frombuffer(Path(path).read_bytes(), np.uint8).copy())


def write_file(filename: Place, data: Tensor) -> None:
    """Writes a tensor of bytes of one dimension into a file.

    Raises:
        RuntimeError: it has another dtype or more dimensions.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.io.write_file.html
    """
    if data.dtype is not dtypes.uint8:
        raise RuntimeError("Input tensor dtype should be uint8")
    if data.ndim != 1:
        raise RuntimeError("Input data should be 1-dimensional")
    Path(filename).write_bytes(data.cpu().numpy().tobytes())


def decode_image(
    input: Tensor | Place, mode: ImageReadMode | str = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """A picture ``(C, H, W)`` from a file or its bytes; of a GIF with several frames ``(N, C, H, W)``.

    It is of uint8, and of uint16 for PNG files of 16 bits.

    Args:
        input: a tensor of the file's bytes, or a path.
        mode: the channels, or their name.
        apply_exif_orientation: whether the picture is turned as the file says.

    Raises:
        RuntimeError: the bytes are no picture.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.io.decode_image.html
    """
    data = input if isinstance(input, Tensor) else read_file(input)
    if data.dtype is not dtypes.uint8 or data.ndim != 1 or data.numel() == 0:
        raise RuntimeError("Expected a non empty 1-dimensional tensor of dtype uint8")
    module = pillow("Image")
    try:
        image = module.open(io.BytesIO(data.cpu().numpy().tobytes()))
        image.load()
    except module.UnidentifiedImageError:
        raise RuntimeError(
            "Unsupported image file. Only jpeg, png, webp and gif are currently supported. "
            "For avif and heic format, please rely on `decode_avif` and `decode_heic` directly."
        ) from None
    name = mode.upper() if isinstance(mode, str) else mode.name
    if image.format == "GIF":
        frames = [_planes(frame.convert("RGB"), name) for frame in pillow("ImageSequence").Iterator(image)]
        return frames[0] if len(frames) == 1 else from_host(np.stack([frame.numpy() for frame in frames]))
    if apply_exif_orientation:
        image = pillow("ImageOps").exif_transpose(image)
    if name == "UNCHANGED" and image.mode in ("P", "1"):
        image = image.convert(
            "RGB" if image.mode == "P" and "transparency" not in image.info else "RGBA" if image.mode == "P" else "L"
        )
    return _planes(image, name)


def _planes(image: object, name: str) -> Tensor:
    if name != "UNCHANGED":
        if name not in PILLOW_MODES:
            raise KeyError(name)
        image = image.convert(PILLOW_MODES[name])  # pyright: ignore[reportAttributeAccessIssue]
    return pil_to_tensor(image)


def read_image(
    path: Place, mode: ImageReadMode | str = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """``decode_image`` of a file.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.io.read_image.html
    """
    return decode_image(read_file(path), mode, apply_exif_orientation)


def _decoded(
    input: Tensor, mode: ImageReadMode | str, formats: tuple[str, ...], apply_exif_orientation: bool = False
) -> Tensor:
    data = input.cpu().numpy().tobytes()
    module = pillow("Image")
    try:
        kind = module.open(io.BytesIO(data)).format
    except module.UnidentifiedImageError:
        kind = None
    if kind not in formats:
        raise RuntimeError(f"Content is not {formats[0].lower()}.")
    return decode_image(input, mode, apply_exif_orientation)


def decode_jpeg(
    input: Tensor,
    mode: ImageReadMode | str = ImageReadMode.UNCHANGED,
    device: object = "cpu",
    apply_exif_orientation: bool = False,
) -> Tensor:
    """``decode_image`` of the bytes of a JPEG file.

    Raises:
        RuntimeError: they are something else, or the device is not the CPU.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.io.decode_jpeg.html
    """
    if str(device) != "cpu":
        raise RuntimeError(f"decode_jpeg: torchlike decodes on the CPU only, not on {device}")
    return _decoded(input, mode, ("JPEG", "MPO"), apply_exif_orientation)


def decode_png(
    input: Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED, apply_exif_orientation: bool = False
) -> Tensor:
    """``decode_image`` of the bytes of a PNG file. Errors are ``decode_jpeg``'s.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.io.decode_png.html
    """
    return _decoded(input, mode, ("PNG",), apply_exif_orientation)


def decode_gif(input: Tensor) -> Tensor:
    """``decode_image`` of the bytes of a GIF file. Errors are ``decode_jpeg``'s.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.io.decode_gif.html
    """
    return _decoded(input, ImageReadMode.RGB, ("GIF",))


def decode_webp(input: Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> Tensor:
    """``decode_image`` of the bytes of a WebP file. Errors are ``decode_jpeg``'s.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.io.decode_webp.html
    """
    return _decoded(input, mode, ("WEBP",))


def decode_avif(input: Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> Tensor:
    """``decode_image`` of the bytes of an AVIF file, if Pillow was built with that. Errors are ``decode_jpeg``'s.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.io.decode_avif.html
    """
    return _decoded(input, mode, ("AVIF",))


def decode_heic(input: Tensor, mode: ImageReadMode | str = ImageReadMode.UNCHANGED) -> Tensor:
    """``decode_image`` of the bytes of a HEIC file, if a plug-in of Pillow reads that. Errors are ``decode_jpeg``'s.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.io.decode_heic.html
    """
    return _decoded(input, mode, ("HEIF",))


def _encoded(input: Tensor, format: str, **options: int) -> Tensor:
    if input.dtype is not dtypes.uint8:
        raise RuntimeError("Input tensor dtype should be uint8")
    if input.ndim != 3:
        raise RuntimeError("Input data should be a 3-dimensional tensor")
    if input.shape[0] not in (1, 3):
        raise RuntimeError(f"The number of channels should be 1 or 3, got: {input.shape[0]}")
    file = io.BytesIO()
    to_pil_image(input).save(file, format=format, **options)
    return from_host(np.frombuffer(file.getvalue(), np.uint8).copy())


def encode_jpeg(input: Tensor, quality: int = 75) -> Tensor:
    """A picture of bytes ``(1 or 3, H, W)`` as the bytes of a JPEG file.

    Args:
        quality: from 1 to 100.

    Raises:
        ValueError: another quality. RuntimeError: another dtype or shape.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.io.encode_jpeg.html
    """
    if quality < 1 or quality > 100:
        raise ValueError("Image quality should be a positive number between 1 and 100")
    return _encoded(input, "JPEG", quality=quality)


def encode_png(input: Tensor, compression_level: int = 6) -> Tensor:
    """A picture of bytes ``(1 or 3, H, W)`` as the bytes of a PNG file.

    Args:
        compression_level: from 0 to 9.

    Raises:
        RuntimeError: another level, dtype or shape.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.io.encode_png.html
    """
    if not 0 <= compression_level <= 9:
        raise RuntimeError("Compression level should be between 0 and 9")
    return _encoded(input, "PNG", compress_level=compression_level)


def write_jpeg(input: Tensor, filename: Place, quality: int = 75) -> None:
    """``encode_jpeg`` into a file.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.io.write_jpeg.html
    """
    write_file(filename, encode_jpeg(input, quality))


def write_png(input: Tensor, filename: Place, compression_level: int = 6) -> None:
    """``encode_png`` into a file.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.io.write_png.html
    """
    write_file(filename, encode_png(input, compression_level))
