"""torch.utils._foreach_utils: whether functions over lists of tensors take these."""

from __future__ import annotations

from typing import Any

from .._core.tensor import Tensor

__all__: list[str] = []


def _device_has_foreach_support(device: Any) -> bool:
    """Whether lists of tensors on a device are taken: everywhere."""
    return True


def _has_foreach_support(tensors: list[Any], device: Any) -> bool:
    """Whether these are tensors on a device whose lists are taken."""
    return _device_has_foreach_support(device) and all(each is None or type(each) is Tensor for each in tensors)
