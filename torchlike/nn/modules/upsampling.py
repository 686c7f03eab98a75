"""Layers that resize images."""

from __future__ import annotations

from typing import Any

from ..._core.annotations import IntOrInts
from ..._core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resizes (N, C, W), (N, C, H, W) or (N, C, D, H, W).

    Args:
        size: the size of the result's images; or ``scale_factor``, the ratio of the sizes.
        mode: "nearest", "linear" (3-D input), "bilinear", "bicubic" (4-D) or "trilinear" (5-D).
        align_corners: whether the centres of the corner pixels stay where they are, or their outer edges do.
        recompute_scale_factor: compute positions from the resulting sizes and not from ``scale_factor``.

    >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Upsample.html
    """

    def __init__(
        self,
        size: IntOrInts | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )

    def extra_repr(self) -> str:
        by = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{by}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """``Upsample`` of (N, C, H, W) by the nearest pixels, under an old name.

    >>> nn.UpsamplingNearest2d(scale_factor=2)(torch.arange(2.0).view(1, 1, 1, 2))
    tensor([[[[0., 0., 1., 1.],
              [0., 0., 1., 1.]]]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.UpsamplingNearest2d.html
    """

    def __init__(self, size: IntOrInts | None = None, scale_factor: float | tuple[float, ...] | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """``Upsample`` of (N, C, H, W) in bilinear mode with aligned corners, under an old name.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.UpsamplingBilinear2d.html
    """

    def __init__(self, size: IntOrInts | None = None, scale_factor: float | tuple[float, ...] | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
