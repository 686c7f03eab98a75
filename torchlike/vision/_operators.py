"""The operators of the libraries that torchvision (``torch.ops.torchvision``, ``torch.ops.image``) and torchaudio have compiled.

``torch.ops.load_library`` calls ``define`` for them. Then all that these have in Python works: torchvision's detection models, say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NoReturn

from .. import ops
from .._core import dtypes
from .._core.tensor import Tensor
from ..autograd import enable_grad, grad
from ..library import Library
from . import _audio_operators as audio
from .io import image
from .ops import boxes, deform_conv, regions

__all__ = ["LIBRARIES", "define"]

_ROIS = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_OF_INPUT = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_DEFORM = (
    "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, "
    "SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask"
)


def roi_align(
    input: Tensor, rois: Tensor, scale: float, height: int, width: int, sampling_ratio: int, aligned: bool
) -> Tensor:
    return regions.roi_align(input, rois, (height, width), scale, sampling_ratio, aligned)


def roi_pool(input: Tensor, rois: Tensor, scale: float, height: int, width: int) -> tuple[Tensor, Tensor]:
    return regions.roi_pool_and_places(input, rois, (height, width), scale)


def ps_roi_align(
    input: Tensor, rois: Tensor, scale: float, height: int, width: int, sampling_ratio: int
) -> tuple[Tensor, Tensor]:
    out = regions.ps_roi_align(input, rois, (height, width), scale, sampling_ratio)
    return out, _channels_of(out)


def ps_roi_pool(input: Tensor, rois: Tensor, scale: float, height: int, width: int) -> tuple[Tensor, Tensor]:
    out = regions.ps_roi_pool(input, rois, (height, width), scale)
    return out, _channels_of(out)


def _channels_of(out: Tensor) -> Tensor:
    """Which channel of the input each value comes from."""
    numbers = ops.arange(out[:1].numel(), dtype=dtypes.int32, device=out.device)
    return numbers.reshape(out.shape[1:]).expand(out.shape).clone()


def deform_conv2d(input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, *numbers: int) -> Tensor:
    stride, padding, dilation, use_mask = numbers[:2], numbers[2:4], numbers[4:6], numbers[8]
    return deform_conv.deform_conv2d(input, offset, weight, bias, stride, padding, dilation, mask if use_mask else None)


# ---- gradients: those of the functions above. But for roi_pool these are linear, so they are the same for every input.


def _gradients(outputs: Tensor, inputs: Sequence[Tensor], grad_output: Tensor) -> tuple[Tensor, ...]:
    if not outputs.requires_grad:  # there are no regions
        return tuple(map(ops.zeros_like, inputs))
    found = grad(outputs, list(inputs), grad_output, allow_unused=True)
    return tuple(ops.zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True))


def _linear(forward: Callable[..., Tensor], grad_output: Tensor, shape: Sequence[int]) -> Tensor:
    with enable_grad():
        input = ops.zeros(tuple(shape), dtype=grad_output.dtype, device=grad_output.device, requires_grad=True)
        return _gradients(forward(input), [input], grad_output)[0]


def roi_align_backward(
    grad_output: Tensor, rois: Tensor, scale: float, height: int, width: int, n: int, c: int, h: int, w: int, ratio: int, aligned: bool
) -> Tensor:  # fmt: skip
    return _linear(lambda x: roi_align(x, rois, scale, height, width, ratio, aligned), grad_output, (n, c, h, w))


def ps_roi_align_backward(
    grad_output: Tensor, rois: Tensor, mapping: Tensor, scale: float, height: int, width: int, ratio: int, *shape: int
) -> Tensor:
    return _linear(lambda x: ps_roi_align(x, rois, scale, height, width, ratio)[0], grad_output, shape)


def ps_roi_pool_backward(
    grad_output: Tensor, rois: Tensor, mapping: Tensor, scale: float, height: int, width: int, *shape: int
) -> Tensor:
    return _linear(lambda x: ps_roi_pool(x, rois, scale, height, width)[0], grad_output, shape)


def roi_pool_backward(
    grad_output: Tensor, rois: Tensor, argmax: Tensor, scale: float, height: int, width: int, n: int, c: int, h: int, w: int
) -> Tensor:  # fmt: skip
    image_numbers = rois[:, :1, None].long()
    maps = image_numbers * c + ops.arange(c, device=rois.device)[None, :, None]
    flat = argmax.flatten(2).long()
    places = (maps * (h * w) + flat.clamp(min=0)).flatten()
    values = (grad_output.flatten(2) * (flat >= 0)).flatten()
    out = ops.zeros((n * c * h * w,), dtype=grad_output.dtype, device=grad_output.device)
    return out.index_add(0, places, values).reshape(n, c, h, w)


def deform_conv2d_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor, *numbers: int
) -> tuple[Tensor, ...]:
    with enable_grad():
        leaves = [x.detach()._require_grad() for x in (input, weight, offset, mask, bias)]
        return _gradients(deform_conv2d(*leaves, *numbers), leaves, grad_output)  # pyright: ignore[reportArgumentType]


# ---- pictures


def decode_image(data: Tensor, mode: int, apply_exif_orientation: bool = False) -> Tensor:
    return image.decode_image(data, image.ImageReadMode(mode), apply_exif_orientation)


def decode_jpeg(data: Tensor, mode: int, apply_exif_orientation: bool = False) -> Tensor:
    return image.decode_jpeg(data, image.ImageReadMode(mode), apply_exif_orientation=apply_exif_orientation)  # pyright: ignore[reportReturnType]


def decode_png(data: Tensor, mode: int, apply_exif_orientation: bool = False) -> Tensor:
    return image.decode_png(data, image.ImageReadMode(mode), apply_exif_orientation)


def decode_webp(data: Tensor, mode: int) -> Tensor:
    return image.decode_webp(data, image.ImageReadMode(mode))


def _absent(name: str) -> Callable[..., NoReturn]:
    def absent(*args: object) -> NoReturn:
        raise NotImplementedError(f"torchlike does not support torchvision's operator {name}")

    return absent


_DECODED = "Tensor data, int mode, bool apply_exif_orientation=False"
# By library: signatures, each with the implementation.
LIBRARIES: dict[str, dict[str, Callable[..., object]]] = {
    "torchvision": {
        "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": boxes.nms,
        f"roi_align(Tensor input, Tensor rois, {_ROIS}, int sampling_ratio, bool aligned) -> Tensor": roi_align,
        f"_roi_align_backward(Tensor grad, Tensor rois, {_ROIS}, {_OF_INPUT}, int sampling_ratio, bool aligned) -> Tensor": (
            roi_align_backward
        ),
        f"roi_pool(Tensor input, Tensor rois, {_ROIS}) -> (Tensor, Tensor)": roi_pool,
        f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {_ROIS}, {_OF_INPUT}) -> Tensor": roi_pool_backward,
        f"ps_roi_align(Tensor input, Tensor rois, {_ROIS}, int sampling_ratio) -> (Tensor, Tensor)": ps_roi_align,
        f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_ROIS}, int sampling_ratio, {_OF_INPUT}) -> Tensor": (
            ps_roi_align_backward
        ),
        f"ps_roi_pool(Tensor input, Tensor rois, {_ROIS}) -> (Tensor, Tensor)": ps_roi_pool,
        f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_ROIS}, {_OF_INPUT}) -> Tensor": ps_roi_pool_backward,
        f"deform_conv2d({_DEFORM}) -> Tensor": deform_conv2d,
        f"_deform_conv2d_backward(Tensor grad, {_DEFORM}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)": deform_conv2d_backward,
        "_cuda_version() -> int": lambda: -1,
        "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor": _absent("box_iou_rotated"),
        "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": _absent("qnms"),
        "qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float rois_scale, int rois_zero_point, "
        f"{_ROIS}, int sampling_ratio, bool aligned) -> Tensor": _absent("qroi_align"),
    },
    "image": {
        "read_file(str path) -> Tensor": image.read_file,
        "write_file(str path, Tensor data) -> ()": image.write_file,
        f"decode_image({_DECODED}) -> Tensor": decode_image,
        f"decode_jpeg({_DECODED}) -> Tensor": decode_jpeg,
        f"decode_png({_DECODED}) -> Tensor": decode_png,
        "decode_gif(Tensor data) -> Tensor": image.decode_gif,
        "decode_webp(Tensor encoded_data, int mode) -> Tensor": decode_webp,
        "encode_jpeg(Tensor data, int quality) -> Tensor": image.encode_jpeg,
        "encode_png(Tensor data, int compression_level) -> Tensor": image.encode_png,
    },
    **audio.LIBRARIES,
}


@cache  # once
def define(namespace: str) -> None:
    """Defines the operators of one of the libraries."""
    library = Library(namespace, "DEF")
    for signature, function in LIBRARIES[namespace].items():
        library.impl(library.define(signature), function, "CompositeExplicitAutograd")
    _kept.append(library)


_kept: list[Library] = []
