"""Tensors and their memory: the elements that go into a file, and tensors over memory from a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import devices, dtypes
from .._core.annotations import DeviceLike
from .._core.fields import move_to_storage, root_of, view_record
from .._core.storage import Storage
from .._core.strided import Strided
from .._core.tensor import Tensor, from_storage
from .._core.views import DEFAULT
from ..autograd.grad_mode import no_grad
from ..engine.value import Value
from ._bounds import described

_MOST = 2**40  # bytes: a view may repeat the same elements, and a program will copy it


class Memory:
    """A storage of a file: its bytes on the host, their device, and the tensors' storage once it is made."""

    def __init__(self, data: np.ndarray, device: devices.device, *, swapped: bool = False) -> None:
        self.data = data  # an array of uint8
        self.device = device
        self.swapped = swapped  # whether a machine of the other byte order wrote them
        self._shared: Storage | None = None
        self._dtype: dtypes.dtype | None = None

    # The attributes that a user's map_location may read.

    def nbytes(self) -> int:
        return self.data.size

    __len__ = size = nbytes

    def to(self, *, device: DeviceLike) -> Memory:
        return Memory(self.data, devices.as_device(device), swapped=self.swapped)

    def cpu(self) -> Memory:
        return self.to(device="cpu")

    def cuda(self, device: DeviceLike | None = None) -> Memory:
        return self.to(device=devices.as_device("cuda") if device is None else devices.as_device(device))

    def tensor(
        self,
        dtype: dtypes.dtype,
        offset: int,
        size: Sequence[int],
        stride: Sequence[int],
        part: tuple[int, int] | None = None,
    ) -> Tensor:
        """A tensor over a part of this memory. Tensors over the same memory share it.

        Args:
            part: the first element, and the number of elements, that the tensor may use (default: all).

        Raises:
            RuntimeError: the part is not inside the memory.
        """
        budget = self.data.size if part is None else part[1] * dtype.itemsize
        layout = self._checked(dtype, offset, size, stride, budget)
        if part is not None:
            offset += part[0]
            layout = Strided(size, stride, offset)
        count = self.data.size // dtype.itemsize
        is_all = offset == 0 and layout.size == count and layout.contiguous
        if self._shared is None:
            array = self.data[: count * dtype.itemsize].view(dtype.numpy)
            if self.swapped:
                array = array.byteswap()
            # The storage gets the shape of the first tensor, which is then not a view.
            value = Value.on_host(array.reshape(layout.shape if is_all else -1), devices.placement(self.device))
            self._shared, self._dtype = Storage(value), dtype
        tensor = from_storage(self._shared)
        if dtype is self._dtype and self._shared.value.aval.shape == layout.shape and is_all:
            return tensor
        with no_grad():
            flat = tensor if tensor.dim() == 1 else tensor.view(-1)
            viewed: Any = _view(flat if dtype is self._dtype else flat.view(dtype), layout)
        view = view_record(viewed)
        if view is not None:
            move_to_storage(tensor, self._shared, view.rebased(None, DEFAULT))
        return tensor

    def _checked(
        self, dtype: dtypes.dtype, offset: int, size: Sequence[int], stride: Sequence[int], budget: int
    ) -> Strided:
        numbers = [offset, *size, *stride]
        if not all(type(n) is int and n >= 0 for n in numbers) or len(size) != len(stride):
            raise RuntimeError(
                f"a tensor in the file has size {described(size)}, stride {described(stride)}, storage offset {described(offset)}: the "
                "file might be corrupted"
            )
        last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
        required_bytes = (last + 1 if 0 not in size else 0) * dtype.itemsize
        if required_bytes > budget:
            raise RuntimeError(
                f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {dtype.itemsize} "
                f"requiring a storage size of {required_bytes} are out of bounds for storage of size {budget}"
            )
        if math.prod(size) * dtype.itemsize > _MOST:
            raise RuntimeError(
                f"a tensor in the file sees {self.data.size} bytes as size {list(size)}, more than any memory can hold"
            )
        return Strided(size, stride, offset)


def _view(flat: Any, layout: Strided) -> Any:
    """A view of a flat tensor, by slicing, reshaping and permuting where possible: programs read such views quickly."""
    dims = [d for d, n in enumerate(layout.shape) if n != 1 and layout.strides[d] != 0]
    dims.sort(key=lambda d: -layout.strides[d])
    dense = layout.transpose([*dims, *(d for d in range(layout.ndim) if d not in dims)])
    stored_layout = Strided([layout.shape[d] for d in dims], [layout.strides[d] for d in dims])
    if not stored_layout.contiguous:
        return flat.as_strided(layout.shape, layout.strides, layout.offset)
    if layout.size == 0:
        return flat[:0].view(layout.shape)
    count = math.prod(stored_layout.shape)
    part = flat if count == len(flat) else flat[layout.offset : layout.offset + count]
    ones = [1] * (layout.ndim - len(dims))  # and dimensions that repeat the same elements
    result = part.view(*stored_layout.shape, *ones) if layout.ndim else part.view(())
    back = np.argsort([*dims, *(d for d in range(layout.ndim) if d not in dims)])
    result = result.permute(*back.tolist()) if layout.ndim and list(back) != list(range(layout.ndim)) else result
    return result if dense.size == count else result.expand(layout.shape)


def memory_of(tensor: Tensor) -> tuple[Storage, np.ndarray]:
    """The storage of a tensor, which identifies tensors that share it, and all its elements as a flat array."""
    storage = root_of(tensor)
    array = storage.read().numpy()
    return storage, np.ascontiguousarray(array).reshape(-1).view(tensor.dtype.numpy)
