"""Storages as objects: the memory that a tensor shares with its views."""

from __future__ import annotations

import math
from typing import Any

from .._core import devices, shared
from .._core.tensor import Tensor
from ._declare import composite

__all__ = ["UntypedStorage"]


class UntypedStorage:
    """The memory of a tensor, which ``tensor.untyped_storage()`` gives: how large it is, and whether two tensors share it.

    It cannot be resized or written to.
    """

    def __init__(self, storage: Any) -> None:
        if not hasattr(storage, "root"):
            raise NotImplementedError(
                "torchlike does not support making storages yet: tensor.untyped_storage() gives a tensor's"
            )
        self._root = storage.root

    def nbytes(self) -> int:
        """Its size in bytes."""
        aval = self._root.value.aval
        return math.prod(aval.shape) * aval.dtype.itemsize

    size = __len__ = nbytes

    def data_ptr(self) -> int:
        """A number that is the same for the same memory. No address can be read from it."""
        return id(self._root)

    def is_shared(self) -> bool:
        """Whether other processes can see it: after ``share_memory_``, and on a GPU."""
        return self.device.type == "cuda" or shared.is_shared(self._root)

    @property
    def device(self) -> devices.device:
        return devices.of_placement(self._root.value.aval.placement)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._root is other._root

    def __hash__(self) -> int:
        return id(self._root)

    def __repr__(self) -> str:
        return f"[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


@composite(forms="method")
def untyped_storage(input: Tensor) -> UntypedStorage:
    """The memory that this tensor shares with its views.

    >>> x = torch.ones(2, 3)
    >>> x.untyped_storage().nbytes(), x[0].untyped_storage() == x.untyped_storage()
    (24, True)
    """
    return UntypedStorage(input._storage)


@composite(forms="method")
def record_stream(input: Tensor, stream: Any) -> None:
    """Does nothing: JAX keeps memory for as long as anything that was handed to the device reads it."""
