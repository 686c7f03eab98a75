"""Tensors that know what they contain: pictures, videos, masks, boxes. ``transforms.v2`` treats each type differently."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

from ... import ops
from ..._C import DisableTorchFunctionSubclass
from ..._core.devices import device as Device
from ..._core.dtypes import dtype as DType
from ..._core.tensor import Tensor
from .._pillow import is_image
from ..transforms.functional import pil_to_tensor

__all__ = ["BoundingBoxFormat", "BoundingBoxes", "Image", "Mask", "TVTensor", "Video", "set_return_type", "wrap"]

Wrapped = TypeVar("Wrapped", bound="TVTensor")
Place: TypeAlias = "Device | str | int | None"

KEPT = frozenset(("clone", "to", "detach", "requires_grad_"))  # what gives the same kind of tensor as it gets
_return_type = "Tensor"


class TVTensor(Tensor):
    """The base of these tensors. Operations on them give plain tensors, except copies and conversions."""

    @classmethod
    def _wrapped(cls, tensor: Tensor, like: TVTensor) -> TVTensor:
        """A tensor of this class with what ``like`` knows beside its elements."""
        return tensor.as_subclass(cls)  # pyright: ignore[reportReturnType]

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        with DisableTorchFunctionSubclass():
            output = func(*args, **(kwargs or {}))
        first = args[0] if args else None
        keeps = _return_type == "TVTensor" or getattr(func, "__name__", "") in KEPT
        if keeps and isinstance(first, cls) and isinstance(output, Tensor):
            return output if type(output) is cls and output is first else cls._wrapped(output, first)
        if isinstance(output, cls):  # in place
            return output.as_subclass(Tensor)
        return output

    def __deepcopy__(self, memo: dict[int, object]) -> TVTensor:
        return self.detach().clone()._require_grad(self.requires_grad)  # pyright: ignore[reportReturnType]


def _tensor(data: object, dtype: DType | None, device: Place, requires_grad: bool | None) -> Tensor:
    if requires_grad is None:
        requires_grad = data.requires_grad if isinstance(data, Tensor) else False
    tensor = data.as_subclass(Tensor) if isinstance(data, Tensor) else data
    return ops.as_tensor(tensor, dtype=dtype, device=device)._require_grad(requires_grad)


class Image(TVTensor):
    """A picture ``(..., C, H, W)``.

    Args:
        data: a tensor, a PIL image, or what ``torch.as_tensor`` takes; ``(H, W)`` gets a channel.

    Raises:
        ValueError: fewer than two dimensions.

    >>> import torchlike as torch
    >>> from torchlike.vision import tv_tensors
    >>> picture = tv_tensors.Image(torch.zeros(4, 5))
    >>> picture.shape, type(picture + 1).__name__, type(picture.clone()).__name__
    (torch.Size([1, 4, 5]), 'Tensor', 'Image')

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.tv_tensors.Image.html
    """

    def __new__(
        cls, data: object, *, dtype: DType | None = None, device: Place = None, requires_grad: bool | None = None
    ) -> Image:
        tensor = _tensor(pil_to_tensor(data) if is_image(data) else data, dtype, device, requires_grad)
        if tensor.ndim < 2:
            raise ValueError(f"Tensor image has {tensor.ndim} dimension(s), but at least 2 are needed")
        return (tensor[None] if tensor.ndim == 2 else tensor).as_subclass(cls)  # pyright: ignore[reportReturnType]


class Video(TVTensor):
    """A video ``(..., T, C, H, W)``.

    Raises:
        ValueError: fewer than four dimensions.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.tv_tensors.Video.html
    """

    def __new__(
        cls, data: object, *, dtype: DType | None = None, device: Place = None, requires_grad: bool | None = None
    ) -> Video:
        tensor = _tensor(data, dtype, device, requires_grad)
        if tensor.ndim < 4:
            raise ValueError(f"Tensor video has {tensor.ndim} dimension(s), but at least 4 are needed")
        return tensor.as_subclass(cls)  # pyright: ignore[reportReturnType]


class Mask(TVTensor):
    """Masks for detection ``(N, H, W)`` or segmentation ``(..., H, W)``; a PIL image is taken, too.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.tv_tensors.Mask.html
    """

    def __new__(
        cls, data: object, *, dtype: DType | None = None, device: Place = None, requires_grad: bool | None = None
    ) -> Mask:
        return _tensor(pil_to_tensor(data) if is_image(data) else data, dtype, device, requires_grad).as_subclass(cls)  # pyright: ignore[reportReturnType]


class BoundingBoxFormat(Enum):
    """The meaning of a box's four numbers: two corners, a corner and sizes, or the centre and sizes."""

    XYXY = "XYXY"
    XYWH = "XYWH"
    CXCYWH = "CXCYWH"


class BoundingBoxes(TVTensor):
    """Boxes ``(N, 4)`` in a picture. Rotated boxes are not supported by torchlike.

    Args:
        format: a ``BoundingBoxFormat`` or its name.
        canvas_size: height and width of the picture.
        clamping_mode: "soft" or "hard", for which transforms keep boxes within the picture, or None.

    Raises:
        ValueError: another number of dimensions, or another mode. NotImplementedError: a form of rotated boxes.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.tv_tensors.BoundingBoxes.html
    """

    format: BoundingBoxFormat
    canvas_size: tuple[int, int]
    clamping_mode: str | None

    def __new__(
        cls,
        data: object,
        *,
        format: BoundingBoxFormat | str,
        canvas_size: tuple[int, int],
        clamping_mode: str | None = "soft",
        dtype: DType | None = None,
        device: Place = None,
        requires_grad: bool | None = None,
    ) -> BoundingBoxes:
        tensor = _tensor(data, dtype, device, requires_grad)
        return cls._build(tensor, format, canvas_size, clamping_mode)

    @classmethod
    def _build(
        cls, tensor: Tensor, format: BoundingBoxFormat | str, canvas_size: tuple[int, int], clamping_mode: str | None
    ) -> BoundingBoxes:
        if tensor.ndim == 1:
            tensor = tensor[None]
        elif tensor.ndim != 2:
            raise ValueError(f"Expected a 1D or 2D tensor, got {tensor.ndim}D")
        if clamping_mode not in (None, "hard", "soft"):
            raise ValueError(f"clamping_mode must be None, hard or soft, got {clamping_mode}.")
        if isinstance(format, str):
            if format.upper() in ("XYWHR", "CXCYWHR", "XYXYXYXY"):
                raise NotImplementedError(f"BoundingBoxes: rotated boxes ({format}) are not supported by torchlike")
            format = BoundingBoxFormat[format.upper()]
        boxes = tensor.as_subclass(cls)
        boxes.format, boxes.canvas_size, boxes.clamping_mode = format, tuple(canvas_size), clamping_mode  # pyright: ignore[reportAttributeAccessIssue]
        return boxes  # pyright: ignore[reportReturnType]

    @classmethod
    def _wrapped(cls, tensor: Tensor, like: TVTensor, **changes: Any) -> BoundingBoxes:
        facts = {name: getattr(like, name) for name in ("format", "canvas_size", "clamping_mode")} | changes
        return cls._build(tensor, **facts)

    def __repr__(self, *, tensor_contents: object = None) -> str:
        text = repr(self.as_subclass(Tensor)).replace("tensor(", "BoundingBoxes(", 1)[:-1]
        return f"{text}, format={self.format}, canvas_size={self.canvas_size}, clamping_mode={self.clamping_mode})"


def wrap(wrappee: Tensor, *, like: Wrapped, **kwargs: object) -> Wrapped:
    """A tensor as one of the kind of ``like``.

    Args:
        kwargs: ``format``, ``canvas_size`` and ``clamping_mode`` of boxes, where they differ.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.tv_tensors.wrap.html
    """
    if isinstance(like, BoundingBoxes):
        return type(like)._wrapped(wrappee.as_subclass(Tensor), like, **kwargs)
    return wrappee.as_subclass(type(like))


class set_return_type:
    """What operations on these tensors give: "Tensor", as by default, or "TVTensor". Within ``with``, for that block.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.tv_tensors.set_return_type.html
    """

    def __init__(self, return_type: str) -> None:
        global _return_type
        kinds = {"tensor": "Tensor", "tvtensor": "TVTensor"}
        self.before = _return_type
        if return_type.lower() not in kinds:
            raise ValueError(f"return_type must be 'TVTensor' or 'Tensor', got {return_type}")
        _return_type = kinds[return_type.lower()]

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _return_type
        _return_type = self.before
