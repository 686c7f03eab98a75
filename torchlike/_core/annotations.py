"""Names for types that many annotations need: what PyTorch's functions take as a number, a size, a dtype or a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from . import devices, dtypes, layouts
from .tensor import Tensor

__all__ = ["DeviceLike", "Dtype", "IntOrInts", "Layout", "MemoryFormat", "TensorOrNumber"]

# Classes whose own names are those of the parameters: ``dtype: Dtype`` can be read, ``dtype: dtype`` cannot.
Dtype: TypeAlias = dtypes.dtype
Layout: TypeAlias = layouts.layout
MemoryFormat: TypeAlias = layouts.memory_format

DeviceLike: TypeAlias = devices.device | str | int
IntOrInts: TypeAlias = int | Sequence[int]  # a size or a dimension for all, or one for each
TensorOrNumber: TypeAlias = Tensor | complex  # ``complex`` stands for every Python number
