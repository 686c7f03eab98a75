"""The size, dtype and device of tensors as PyTorch's objects, made once for each aval and kept on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import devices, dtypes
from .size import Size

if TYPE_CHECKING:
    from ..engine.aval import Aval


class TensorMeta:
    """Size, dtype and device of every tensor with one aval."""

    __slots__ = ("size", "dtype", "device")

    def __init__(self, aval: Aval) -> None:
        self.size = Size(aval.shape)
        self.dtype = dtypes.from_numpy_dtype(aval.dtype)
        self.device = devices.of_placement(aval.placement)


def tensor_meta(aval: Aval) -> TensorMeta:
    meta = aval.meta
    if meta is None:
        meta = aval.meta = TensorMeta(aval)
    return meta
