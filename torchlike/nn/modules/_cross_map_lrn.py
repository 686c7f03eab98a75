"""The function of ``CrossMapLRN2d``, which has its own backward in PyTorch too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._core.tensor import Tensor
from ...autograd.function import Function
from .. import functional as F

if TYPE_CHECKING:
    from ...autograd.function import FunctionCtx


def _sliding(values: Tensor, before: int, after: int) -> Tensor:
    """For each channel c of (N, C, H, W), the sum of the channels c - before to c + after."""
    channels = values.shape[1]
    padded: Tensor = F.pad(values, (0, 0, 0, 0, max(before, 0), max(after, 0)))
    first = max(-before, 0)  # with a negative ``before`` the window begins after c
    total = padded[:, first : first + channels]
    for shift in range(1, before + after + 1):
        total = total + padded[:, first + shift : first + shift + channels]
    return total


class CrossMapLRN2d(Function):
    """``x * scale ** -beta``, where ``scale`` is ``k`` and squares of neighbouring channels.

    It returns PyTorch's numbers, even where they look wrong: the window always includes the first channel, and the window of the backward
    pass is not the transpose of the forward's.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, input: Tensor, size: int, alpha: float, beta: float, k: float) -> Tensor:
        squares, reach = input * input, (size - 1) // 2
        total = _sliding(squares, reach, reach)
        # the channels whose window should not include the first channel
        stays: Tensor = F.pad(squares[:, :1].expand(-1, max(input.shape[1] - reach - 1, 0), -1, -1),
                           (0, 0, 0, 0, min(reach + 1, input.shape[1]), 0))  # fmt: skip
        scale = k + alpha / size * (total + stays)
        output = input * scale.pow(-beta)
        ctx.save_for_backward(input, output, scale)
        ctx.size, ctx.alpha, ctx.beta = size, alpha, beta
        return output

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: object) -> tuple[Tensor | None, ...]:
        input, output, scale = ctx.saved_tensors
        (grad,) = grads
        before = int(ctx.size - (ctx.size - 1) / 2)
        ratios = _sliding(grad * output / scale, before, ctx.size - 1 - before)
        share = 2 * ctx.alpha * ctx.beta / ctx.size
        return grad * scale.pow(-ctx.beta) - share * input * ratios, None, None, None, None
