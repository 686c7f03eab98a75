"""torch.utils._foreach_utils: which tensors the functions over lists of tensors accept."""

from __future__ import annotations

from collections.abc import Sequence

from .._core.annotations import DeviceLike
from .._core.tensor import Tensor

__all__: list[str] = []


def _device_has_foreach_support(device: DeviceLike) -> bool:
    """Whether a device supports functions over lists of tensors: all do."""
    return True


def _has_foreach_support(tensors: Sequence[object], device: DeviceLike) -> bool:
    """Whether all of these are tensors on a device that supports functions over lists."""
    return _device_has_foreach_support(device) and all(tensor is None or type(tensor) is Tensor for tensor in tensors)
