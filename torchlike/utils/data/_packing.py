"""What goes between the program and a worker process, as bytes, with the memory of its arrays apart."""

import io
import pickle
from collections.abc import Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from ..._core import file_memory
from ..._core.fields import root_of
from ..._core.sparse import is_sparse
from ..._core.tensor import Tensor, from_host

__all__ = ["packed", "unpacked"]


class _Pickler(ForkingPickler):
    def reducer_override(self, obj: object) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """A plain tensor on the CPU goes as its array, so that neither side needs a device for it."""
        if type(obj) is Tensor and obj.is_cpu and not obj.__dict__ and not is_sparse(obj):
            if obj.grad_fn is not None and obj.requires_grad:
                raise RuntimeError(
                    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
                    "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing "
                    "(e.g., putting it on the queue)."
                )
            if not file_memory.is_shared(root_of(obj)):
                return _tensor, (np.ascontiguousarray(obj._array()).reshape(obj.shape), obj.requires_grad)
        return NotImplemented


def _tensor(array: np.ndarray, requires_grad: bool) -> Tensor:
    tensor = from_host(array)
    return tensor._require_grad() if requires_grad else tensor


def packed(data: object) -> tuple[bytes, list[memoryview]]:
    """The object as bytes, and the memory of the arrays in it."""
    stream, buffers = io.BytesIO(), []
    _Pickler(stream, pickle.HIGHEST_PROTOCOL, True, buffers.append).dump(data)
    return stream.getvalue(), [buffer.raw() for buffer in buffers]


def unpacked(data: Any, buffers: Sequence[Any] = ()) -> Any:
    """The object whose arrays lie in this memory."""
    return pickle.loads(data, buffers=buffers)
