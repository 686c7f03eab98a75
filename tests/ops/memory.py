"""Lets tests place tensors in their own memory, in memory shared with a NumPy array, or in the middle of a larger shared array."""

from typing import Any

import numpy as np

import torchlike as torch

OWN, SHARED, WITHIN = "own memory", "shared memory", "within shared memory"

# The results of these ops depend on the position of the elements in memory, so in a larger memory they differ or raise.
ABOUT_LAYOUT = {"view_as_complex", "_as_strided", "_reshape_alias", "_view"}


class Laid:
    """Places tensors in memory of one kind, and keeps the arrays through which NumPy sees their elements."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.arrays: dict[int, tuple[Any, np.ndarray]] = {}  # keeps the tensors, so that their ids stay theirs

    def lay(self, tensor: Any) -> Any:
        """Returns a tensor with the same elements in that memory."""
        if self.where == OWN:
            return tensor
        bits = np.dtype(np.int16) if tensor.dtype is torch.bfloat16 else tensor.dtype.numpy  # NumPy has no bfloat16
        elements = tensor._array().view(bits)
        shape = elements.shape
        if self.where == SHARED:
            array = np.zeros(shape, bits)
            laid: Any = torch.from_numpy(array)
        else:
            wide = np.zeros([2 * n + 3 for n in reversed(shape)] or [3], bits)
            inner = (slice(1, None, 2),) * len(shape) or (1,)
            whole, order = torch.from_numpy(wide), tuple(reversed(range(len(shape))))
            laid = whole[tuple(slice(1, 1 + 2 * n, 2) for n in reversed(shape)) or (1,)].permute(order)
            array = wide[inner].T[tuple(slice(0, n) for n in shape)] if shape else wide[1:2].reshape(())
        array[...] = elements  # writing last shows whether the tensor reads the shared memory
        if tensor.dtype is torch.bfloat16:
            laid = laid.view(torch.bfloat16)
        laid = laid.detach()
        self.arrays[id(laid)] = laid, array
        return laid

    def check(self) -> None:
        """Asserts that NumPy sees the elements that the tensors have."""
        for tensor, array in self.arrays.values():
            np.testing.assert_array_equal(array, tensor.detach()._array().view(array.dtype))
