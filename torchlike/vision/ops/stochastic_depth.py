"""Noise on whole branches and on blocks of features."""

from __future__ import annotations

from ... import ops
from ..._core.tensor import Tensor
from ...nn import Module, functional as F

__all__ = ["DropBlock2d", "DropBlock3d", "StochasticDepth", "drop_block2d", "drop_block3d", "stochastic_depth"]


def stochastic_depth(input: Tensor, p: float, mode: str, training: bool = True) -> Tensor:
    """Sets branches to 0 with probability ``p``, and divides the others by ``1 - p``.

    Args:
        mode: "row": each row by itself; "batch": all rows together.

    Raises:
        ValueError: another mode, or no probability.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.stochastic_depth.html, and Huang et al.,
    "Deep Networks with Stochastic Depth", https://arxiv.org/abs/1603.09382
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode}")
    if not training or p == 0.0:
        return input
    survival = 1.0 - p
    size = [len(input) if mode == "row" else 1] + [1] * (input.ndim - 1)
    noise = ops.empty(size, dtype=input.dtype, device=input.device).bernoulli_(survival)
    return input * (noise.div_(survival) if survival > 0.0 else noise)


class StochasticDepth(Module):
    """``stochastic_depth`` as a module.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.StochasticDepth.html
    """

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        self.p, self.mode = p, mode

    def forward(self, input: Tensor) -> Tensor:
        return stochastic_depth(input, self.p, self.mode, self.training)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p}, mode={self.mode})"


def _drop_blocks(
    input: Tensor, p: float, block_size: int, inplace: bool, eps: float, training: bool, dimensions: int
) -> Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}.")
    if input.ndim != dimensions + 2:
        raise ValueError(f"input should be {dimensions + 2} dimensional. Got {input.ndim} dimensions.")
    if not training or p == 0.0:
        return input
    sides = list(input.shape[2:])
    block = min(block_size, *sides)
    if block % 2 == 0:
        raise ValueError(f"block size should be odd. Got {block} which is even.")
    lengths, share, area = [side - block + 1 for side in sides], p, block**dimensions
    for side in sides:
        share *= side
    for length in lengths:
        area *= length
    noise = ops.empty([*input.shape[:2], *lengths], dtype=input.dtype, device=input.device).bernoulli_(share / area)
    noise = F.pad(noise, [block // 2] * (2 * dimensions), value=0)
    pool = F.max_pool2d if dimensions == 2 else F.max_pool3d
    mask = 1 - pool(noise, kernel_size=block, stride=1, padding=block // 2)
    scale = mask.numel() / (eps + mask.sum())
    return input.mul_(mask).mul_(scale) if inplace else input * mask * scale


def drop_block2d(
    input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-6, training: bool = True
) -> Tensor:
    """Sets squares of ``block_size`` places of ``(N, C, H, W)`` to 0, about a part ``p`` of all, and scales the rest up.

    Raises:
        ValueError: no probability, another number of dimensions, or an even block.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.drop_block2d.html, and Ghiasi et al.,
    "DropBlock", https://arxiv.org/abs/1810.12890
    """
    return _drop_blocks(input, p, block_size, inplace, eps, training, 2)


def drop_block3d(
    input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-6, training: bool = True
) -> Tensor:
    """As ``drop_block2d``, for cubes of ``(N, C, D, H, W)``.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.drop_block3d.html
    """
    return _drop_blocks(input, p, block_size, inplace, eps, training, 3)


class DropBlock2d(Module):
    """``drop_block2d`` as a module.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.DropBlock2d.html
    """

    def __init__(self, p: float, block_size: int, inplace: bool = False, eps: float = 1e-6) -> None:
        super().__init__()
        self.p, self.block_size, self.inplace, self.eps = p, block_size, inplace, eps

    def forward(self, input: Tensor) -> Tensor:
        return drop_block2d(input, self.p, self.block_size, self.inplace, self.eps, self.training)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p}, block_size={self.block_size}, inplace={self.inplace})"


class DropBlock3d(DropBlock2d):
    """``drop_block3d`` as a module.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.DropBlock3d.html
    """

    def forward(self, input: Tensor) -> Tensor:
        return drop_block3d(input, self.p, self.block_size, self.inplace, self.eps, self.training)
