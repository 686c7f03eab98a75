"""Tensors as NumPy arrays, for datasets that are read on the host: no program has to run."""

import numpy as np

from ..._core.fields import requires_grad_flag, storage_of, view_record
from ..._core.storage import HostMemory
from ..._core.tensor import Tensor

__all__ = ["host_array", "rows"]


def host_array(tensor: Tensor) -> np.ndarray | None:
    """The elements of a CPU tensor as an array that is read at once; None if it requires a gradient or is on another device.

    Unlike ``Tensor.numpy``, it does not share memory with the tensor. Unlike an indexing operation, it records nothing: a view is
    read from its storage's memory. A pending value is computed.
    """
    if requires_grad_flag(tensor) or not tensor.is_cpu:
        return None
    storage, view = storage_of(tensor), view_record(tensor)
    if view is not None and view.base is not None and requires_grad_flag(view.base):
        return None
    host = storage.host
    if host is None or not host.shared:
        host = HostMemory(storage.read().numpy(), None)
    memory = host.array
    if view is None:
        return memory
    if not view.in_memory(host):  # for example a view that shows the conjugates
        return tensor._array()
    geometry = tensor._geometry
    step = memory.dtype.itemsize
    strides = tuple(step * stride for stride in geometry.strides)
    return np.ndarray(geometry.shape, memory.dtype, memory, step * geometry.offset, strides)


def rows(array: np.ndarray, indices: object) -> np.ndarray | None:
    """``array[indices]`` as a fresh array; None if an index is not an integer in range."""
    numbers = np.asarray(indices)
    if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind != "i" or array.ndim == 0:
        return None
    if numbers.min() < -len(array) or numbers.max() >= len(array):
        return None  # indexing the sample raises its own error
    return array[numbers]
