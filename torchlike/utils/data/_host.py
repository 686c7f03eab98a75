"""Tensors as NumPy arrays, where no program has to run for it: data sets are read on the host."""

import numpy as np

from ..._core.storage import HostMemory
from ..._core.tensor import Tensor

__all__ = ["host_array", "rows"]


def host_array(tensor: Tensor) -> np.ndarray | None:
    """The elements of a CPU tensor as an array to read from at once; None where there is a gradient, or another device.

    Unlike ``Tensor.numpy`` it makes nothing shared, and unlike an indexing operation it records nothing: a view is a
    window on its storage's memory. Of a pending value it waits for the result.
    """
    if tensor._requires_grad or not tensor.is_cpu:
        return None
    storage, view = tensor._storage, tensor._view
    if view is not None and view.base is not None and view.base._requires_grad:
        return None
    host = storage.host
    if host is None or not host.shared:
        host = HostMemory(storage.read().numpy(), None)
    memory = host.array
    if view is None:
        return memory
    if not view.in_memory(host):  # it shows the conjugates, say
        return tensor._array()
    geometry = tensor._geometry
    step = memory.dtype.itemsize
    strides = tuple(step * stride for stride in geometry.strides)
    return np.ndarray(geometry.shape, memory.dtype, memory, step * geometry.offset, strides)


def rows(array: np.ndarray, indices: object) -> np.ndarray | None:
    """``array[indices]`` as a fresh array; None where an index is not a plain number in range."""
    numbers = np.asarray(indices)
    if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind != "i" or array.ndim == 0:
        return None
    if numbers.min() < -len(array) or numbers.max() >= len(array):
        return None  # the sample itself raises, in its own words
    return array[numbers]
