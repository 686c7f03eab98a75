"""Where the tensors of a test lie: in memory of their own, in an array that NumPy holds as well, or somewhere within a larger one."""

from typing import Any

import numpy as np

import torchlike as torch

OWN, SHARED, WITHIN = "own memory", "shared memory", "within shared memory"

# Their results depend on where in the memory the elements lie, so within a larger memory they give others, or are refused.
ABOUT_LAYOUT = {"view_as_complex", "_as_strided", "_reshape_alias", "_view"}


class Laid:
    """Tensors laid into memory, and the arrays by which NumPy sees their elements."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.arrays: dict[int, tuple[Any, np.ndarray]] = {}  # the tensors too, so that no other one gets the number

    def lay(self, tensor: Any) -> Any:
        """A tensor of the same elements in that memory."""
        if self.where == OWN:
            return tensor
        bits = np.dtype(np.int16) if tensor.dtype is torch.bfloat16 else tensor.dtype.numpy  # which NumPy does not have
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
        array[...] = elements  # only now, so that it is seen only by who looks at the memory
        if tensor.dtype is torch.bfloat16:
            laid = laid.view(torch.bfloat16)
        laid = laid.detach()
        self.arrays[id(laid)] = laid, array
        return laid

    def check(self) -> None:
        """NumPy sees the elements that the tensors have."""
        for tensor, array in self.arrays.values():
            np.testing.assert_array_equal(array, tensor.detach()._array().view(array.dtype))
