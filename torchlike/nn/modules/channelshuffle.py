"""A layer that redistributes channels between groups."""

from __future__ import annotations

from ..._core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Redistributes the channels of (N, C, ...): each of ``groups`` groups of the result gets channels of every group.

    >>> torch.nn.ChannelShuffle(2)(torch.arange(4).reshape(1, 4, 1)).flatten()
    tensor([0, 2, 1, 3])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ChannelShuffle.html; https://arxiv.org/abs/1707.01083
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
