"""torch.nested._internal.nested_tensor: the class of jagged tensors, and what makes them."""

from .._jagged import NestedTensor as NestedTensor
from .._padding import nested_from_padded as nested_from_padded

__all__ = ["NestedTensor", "nested_from_padded"]
