"""MobileNet V2: inverted residual blocks without a non-linearity at their narrow ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import nn
from ..._core.tensor import Tensor
from ..ops.misc import Conv2dNormActivation
from ._scaling import divisible, initialize_mobilenet
from ._weights import built, weights_enum

__all__ = ["MobileNetV2", "MobileNet_V2_Weights", "mobilenet_v2"]

# Table 2 of the paper: expansion, output channels, blocks, stride of the first.
_TABLE = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 3, 2], [6, 64, 4, 2], [6, 96, 3, 1], [6, 160, 3, 2], [6, 320, 1, 1]]


class InvertedResidual(nn.Module):
    """More channels, a depthwise convolution, fewer channels. The input is added if the shape stays the same."""

    def __init__(
        self,
        inp: int,
        oup: int,
        stride: int,
        expand_ratio: int,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        norm = norm_layer or nn.BatchNorm2d
        hidden = round(inp * expand_ratio)
        options = {"norm_layer": norm, "activation_layer": nn.ReLU6}
        layers: list[nn.Module] = []
        if expand_ratio != 1:
            layers.append(Conv2dNormActivation(inp, hidden, kernel_size=1, **options))
        layers.append(Conv2dNormActivation(hidden, hidden, stride=stride, groups=hidden, **options))
        self.conv = nn.Sequential(*layers, nn.Conv2d(hidden, oup, 1, bias=False), norm(oup))
        self.stride, self.out_channels = stride, oup
        self.use_res_connect = stride == 1 and inp == oup

    def forward(self, x: Tensor) -> Any:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """A convolution, inverted residual blocks, another convolution, and a linear classifier of the mean of its output.

    Args:
        num_classes: size of the output.
        width_mult: by which the numbers of channels are multiplied.
        inverted_residual_setting: rows of expansion, output channels, blocks and stride. Default: the paper's.
        round_nearest: numbers of channels are multiples of it.
        block: creates a block. Default: ``InvertedResidual``.
        norm_layer: creates a normalization for a number of channels. Default: ``nn.BatchNorm2d``.
        dropout: before the classifier.

    Raises:
        ValueError: the setting is empty, or its rows have not four numbers.

    Shapes: (N, 3, H, W) gives (N, num_classes).

    Source: Sandler et al., MobileNetV2, https://arxiv.org/abs/1801.04381
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: list[list[int]] | None = None,
        round_nearest: int = 8,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        rows = _TABLE if inverted_residual_setting is None else inverted_residual_setting
        if len(rows) == 0 or len(rows[0]) != 4:
            raise ValueError(
                f"inverted_residual_setting should be non-empty or a 4-element list, got {inverted_residual_setting}"
            )
        make, norm = block or InvertedResidual, norm_layer or nn.BatchNorm2d
        options = {"norm_layer": norm, "activation_layer": nn.ReLU6}
        width = divisible(32 * width_mult, round_nearest)
        self.last_channel = divisible(1280 * max(1.0, width_mult), round_nearest)
        layers: list[nn.Module] = [Conv2dNormActivation(3, width, stride=2, **options)]
        for expansion, channels, count, first_stride in rows:
            outputs = divisible(channels * width_mult, round_nearest)
            for number in range(count):
                stride = 1 if number else first_stride
                layers.append(make(width, outputs, stride, expand_ratio=expansion, norm_layer=norm))
                width = outputs
        layers.append(Conv2dNormActivation(width, self.last_channel, kernel_size=1, **options))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes))
        initialize_mobilenet(self)

    def forward(self, x: Tensor) -> Any:
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))  # (N, C, 1, 1)
        return self.classifier(x.flatten(1))  # (N, num_classes)


MobileNet_V2_Weights = weights_enum(
    "MobileNet_V2_Weights",
    __name__,
    IMAGENET1K_V1=("mobilenet_v2-b0353104.pth", 3504872),
    IMAGENET1K_V2=("mobilenet_v2-7ebf99e0.pth", 3504872, {"resize_size": 232}),
)


def mobilenet_v2(*, weights: object = None, progress: bool = True, **kwargs: object) -> MobileNetV2:
    """MobileNet V2.

    Args:
        weights: None, a member of ``MobileNet_V2_Weights`` or its name, a file, or an address.
        progress: show a bar while they are downloaded.
        kwargs: for ``MobileNetV2``.

    Source: https://docs.pytorch.org/vision/stable/models/generated/torchvision.models.mobilenet_v2.html
    """
    return built(MobileNetV2, MobileNet_V2_Weights, weights, progress, kwargs)
