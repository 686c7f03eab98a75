"""The names of types in PyTorch's errors about arguments."""

from __future__ import annotations

import numpy as np

from .._core.devices import device
from .._core.dtypes import dtype
from .._core.layouts import layout, memory_format
from .._core.size import Size
from .._core.tensor import Tensor

__all__ = ["type_name"]

_OF_TORCH = (device, layout, memory_format, Size)


def type_name(value: object) -> str:
    """A type as PyTorch's argument errors name it."""
    kind = type(value).__name__
    if isinstance(value, (np.generic, np.ndarray)):
        return f"numpy.{kind}"
    if isinstance(value, dtype):  # also a quantized one
        return "torch.dtype"
    return "Tensor" if isinstance(value, Tensor) else f"torch.{kind}" if isinstance(value, _OF_TORCH) else kind
