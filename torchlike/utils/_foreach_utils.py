"""torch.utils._foreach_utils: which tensors the functions over lists of tensors accept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.annotations import DeviceLike
from .._core.tensor import Tensor

__all__: list[str] = []


def _device_has_foreach_support(device: DeviceLike) -> bool:
    """Whether a device supports functions over lists of tensors: all do."""
    return True


def _has_foreach_support(tensors: Sequence[object], device: DeviceLike) -> bool:
    """Whether all of these are tensors on a device that supports functions over lists."""
    return _device_has_foreach_support(device) and all(tensor is None or type(tensor) is Tensor for tensor in tensors)


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Lists of tensors by the device and dtype of those in the first list, which decide for what stands beside them."""
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for number, first in enumerate(tensorlistlist[0]):
        lists, indices = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for given, tensors in zip(tensorlistlist, lists, strict=True):
            if given:  # an optimizer that keeps no state of a kind gives an empty list
                tensors.append(given[number])
        if with_indices:
            indices.append(number)
    return groups


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The devices for which PyTorch has functions over lists of tensors."""
    return ["cuda", "xpu", "mtia", "privateuseone"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The devices for which PyTorch has steps of optimizers as one function."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]
