"""Layers that change the shape."""

from __future__ import annotations

from ..._core.tensor import Tensor
from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Joins the dimensions from ``start_dim`` to ``end_dim`` into one.

    >>> torch.nn.Flatten()(torch.ones(32, 1, 28, 28)).shape
    torch.Size([32, 784])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Flatten.html
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits one dimension into several.

    Args:
        dim: which dimension.
        unflattened_size: the sizes in its place; their product is its size, one may be -1.

    >>> torch.nn.Unflatten(1, (2, 5, 5))(torch.ones(2, 50)).shape
    torch.Size([2, 2, 5, 5])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Unflatten.html
    """

    def __init__(self, dim: int, unflattened_size: object) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(unflattened_size).__name__}"
            )
        for position, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at pos {position}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
