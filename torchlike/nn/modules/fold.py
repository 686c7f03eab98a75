"""Layers that cut images into sliding blocks, and add blocks to images."""

from __future__ import annotations

from ..._core.annotations import IntOrInts
from ..._core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Fold", "Unfold"]


class Fold(Module):
    """Adds columns to images, each at the position of its block: (N, C kernel, blocks) gives (N, C, *output_size).

    Args:
        output_size: the size of the images.
        kernel_size, dilation, padding, stride: those of the blocks; one number, or one for each dimension.

    >>> torch.nn.Fold((4, 5), (2, 2))(torch.ones(1, 12, 12)).shape
    torch.Size([1, 3, 4, 5])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Fold.html
    """

    def __init__(
        self,
        output_size: IntOrInts,
        kernel_size: IntOrInts,
        dilation: IntOrInts = 1,
        padding: IntOrInts = 0,
        stride: IntOrInts = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """Copies the sliding blocks of images into columns: (N, C, H, W) gives (N, C kernel, blocks).

    >>> torch.nn.Unfold((2, 3))(torch.ones(2, 5, 3, 4)).shape
    torch.Size([2, 30, 4])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Unfold.html
    """

    def __init__(
        self, kernel_size: IntOrInts, dilation: IntOrInts = 1, padding: IntOrInts = 0, stride: IntOrInts = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
