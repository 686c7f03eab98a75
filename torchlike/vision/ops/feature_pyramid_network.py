"""Feature pyramids: maps of several sizes with the same number of channels, and regions out of them."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence

from ... import nn, ops
from ..._core.tensor import Tensor
from ...nn import functional as F
from .boxes import box_area
from .misc import Conv2dNormActivation
from .regions import region_rows, roi_align

__all__ = ["ExtraFPNBlock", "FeaturePyramidNetwork", "LastLevelMaxPool", "LastLevelP6P7", "MultiScaleRoIAlign"]


class ExtraFPNBlock(nn.Module):
    """The base of what a pyramid does at its end."""

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        """The maps and their names with more of them, from those and the maps ``x`` that the pyramid got."""
        raise NotImplementedError


class FeaturePyramidNetwork(nn.Module):
    """Adds to each map the next smaller one, enlarged, so that all levels know what the smallest one shows.

    Args:
        in_channels_list: channels of each map, the largest map first.
        out_channels: of all results.
        extra_blocks: creates more levels.
        norm_layer: creates normalizations.

    Raises:
        ValueError: 0 channels. TypeError: the extra block has another type.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.FeaturePyramidNetwork.html, and Lin et al.,
    "Feature Pyramid Networks for Object Detection", https://arxiv.org/abs/1612.03144
    """

    def __init__(
        self,
        in_channels_list: Sequence[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        self.inner_blocks, self.layer_blocks = nn.ModuleList(), nn.ModuleList()
        for channels in in_channels_list:
            if channels == 0:
                raise ValueError("in_channels=0 is currently not supported")
            for blocks, inputs, kernel in ((self.inner_blocks, channels, 1), (self.layer_blocks, out_channels, 3)):
                blocks.append(
                    Conv2dNormActivation(inputs, out_channels, kernel, norm_layer=norm_layer, activation_layer=None)
                )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_uniform_(module.weight, a=1)
                if module.bias is not None:
                    nn.init.constant_(module.bias, 0)
        if extra_blocks is not None and not isinstance(extra_blocks, ExtraFPNBlock):
            raise TypeError(f"extra_blocks should be of type ExtraFPNBlock not {type(extra_blocks)}")
        self.extra_blocks = extra_blocks

    def forward(self, x: dict[str, Tensor]) -> dict[str, Tensor]:
        names, maps = list(x), list(x.values())
        inner = self.inner_blocks[-1](maps[-1])
        results = [self.layer_blocks[-1](inner)]
        for level in range(len(maps) - 2, -1, -1):
            lateral = self.inner_blocks[level](maps[level])
            inner = lateral + F.interpolate(inner, size=tuple(lateral.shape[-2:]), mode="nearest")
            results.insert(0, self.layer_blocks[level](inner))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, maps, names)
        return OrderedDict(zip(names, results, strict=True))


class LastLevelMaxPool(ExtraFPNBlock):
    """Adds a level: every second element of the smallest level."""

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        return [*results, results[-1][..., ::2, ::2]], [*names, "pool"]


class LastLevelP6P7(ExtraFPNBlock):
    """Two more levels, each by a convolution of stride 2, as RetinaNet has them."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for module in (self.p6, self.p7):
            nn.init.kaiming_uniform_(module.weight, a=1)
            if module.bias is not None:
                nn.init.constant_(module.bias, 0)
        self.use_P5 = in_channels == out_channels

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        sixth = self.p6(results[-1] if self.use_P5 else x[-1])
        return [*results, sixth, self.p7(F.relu(sixth))], [*names, "p6", "p7"]


class MultiScaleRoIAlign(nn.Module):
    """``roi_align`` on a pyramid: a region is taken from the level that suits its size.

    Args:
        featmap_names: the maps that are used.
        output_size, sampling_ratio: as for ``roi_align``.
        canonical_scale, canonical_level: a square region of this side is taken from this level.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.MultiScaleRoIAlign.html
    """

    def __init__(
        self,
        featmap_names: Sequence[str],
        output_size: int | Sequence[int],
        sampling_ratio: int,
        *,
        canonical_scale: int = 224,
        canonical_level: int = 4,
    ) -> None:
        super().__init__()
        self.featmap_names, self.sampling_ratio = featmap_names, sampling_ratio
        self.output_size = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
        self.canonical_scale, self.canonical_level = canonical_scale, canonical_level
        self.scales: list[float] | None = None

    def forward(self, x: dict[str, Tensor], boxes: list[Tensor], image_shapes: list[tuple[int, int]]) -> Tensor:
        maps = [feature_map for name, feature_map in x.items() if name in self.featmap_names]
        if self.scales is None:
            if not image_shapes:
                raise ValueError("images list should not be empty")
            largest = max(shape[0] for shape in image_shapes)
            self.scales = [2.0 ** round(math.log2(feature_map.shape[-2] / largest)) for feature_map in maps]
        regions = region_rows(boxes)
        if len(maps) == 1:
            return roi_align(maps[0], regions, self.output_size, self.scales[0], self.sampling_ratio)
        first, last = (int(-math.log2(self.scales[place])) for place in (0, -1))
        side = ops.cat([box_area(corners) for corners in boxes]).sqrt()
        levels = (self.canonical_level + (side / self.canonical_scale).log2() + 1e-6).floor().clamp(first, last)
        result = ops.zeros((len(regions), maps[0].shape[1], *self.output_size), dtype=maps[0].dtype)
        result = result.to(maps[0].device)
        for level, (feature_map, scale) in enumerate(zip(maps, self.scales, strict=True)):
            places = ops.where(levels == level + first)[0]
            part = roi_align(feature_map, regions[places], self.output_size, scale, self.sampling_ratio)
            result = result.index_copy(0, places, part)
        return result

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(featmap_names={self.featmap_names}, "
            f"output_size={self.output_size}, sampling_ratio={self.sampling_ratio})"
        )
