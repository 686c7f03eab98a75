"""torch.utils.dlpack: memory that libraries exchange without a copy."""

from __future__ import annotations

import enum
from typing import Any

from .._core.tensor import Tensor
from ..ops.creation.from_data import from_dlpack as from_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(enum.IntEnum):
    """The numbers of devices in dlpack."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule over the tensor's memory. Most libraries now take the tensor itself, by its method ``__dlpack__``."""
    return tensor.__dlpack__()
