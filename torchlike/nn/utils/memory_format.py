"""Conversion of convolutions' weights to a memory format."""

from __future__ import annotations

from typing import Any, TypeVar

from ..._core.annotations import MemoryFormat
from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

M = TypeVar("M")


def _convert(module: Any, kinds: tuple[type, ...], memory_format: MemoryFormat) -> Any:
    for submodule in module.modules():
        if isinstance(submodule, kinds):
            weight = submodule.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: M, memory_format: MemoryFormat) -> M:
    """Lays out the weights of all ``Conv2d`` and ``ConvTranspose2d`` below a module in a memory format; in place.

    >>> conv = torch.nn.utils.convert_conv2d_weight_memory_format(torch.nn.Conv2d(2, 3, 2), torch.channels_last)
    >>> conv.weight.stride()
    (8, 1, 4, 2)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.convert_conv2d_weight_memory_format.html
    """
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: M, memory_format: MemoryFormat) -> M:
    """Lays out the weights of all ``Conv3d`` and ``ConvTranspose3d`` below a module in a memory format; in place.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.convert_conv3d_weight_memory_format.html
    """
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
