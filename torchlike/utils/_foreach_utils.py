"""torch.utils._foreach_utils: which tensors the functions over lists of tensors accept."""

from __future__ import annotations

from collections.abc import Sequence

from .._core.annotations import DeviceLike
from .._core.tensor import Tensor

__all__: list[str] = []


def _device_has_foreach_support(device: DeviceLike) -> bool:
    """Whether lists of tensors on a device are taken: everywhere."""
    return True


def _has_foreach_support(tensors: Sequence[object], device: DeviceLike) -> bool:
    """Whether these are tensors on a device whose lists are taken."""
    return _device_has_foreach_support(device) and all(tensor is None or type(tensor) is Tensor for tensor in tensors)
