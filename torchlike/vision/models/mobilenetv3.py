"""MobileNet V3: inverted residual blocks of depthwise convolutions, found by an architecture search for phones."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from ... import nn
from ..._core.tensor import Tensor
from ._scaling import divisible, initialize_mobilenet
from ._weights import built, weights_enum

__all__ = [
    "MobileNetV3", "MobileNet_V3_Large_Weights", "MobileNet_V3_Small_Weights", "mobilenet_v3_large", "mobilenet_v3_small",
]  # fmt: skip


class Row(NamedTuple):
    """A block in the paper's tables: kernel, inner channels, output channels, squeeze and excite, hard swish, stride."""

    kernel: int
    expanded: int
    outputs: int
    squeeze: bool
    swish: bool
    stride: int


# Tables 1 and 2 of the paper.
_LARGE = [
    Row(3, 16, 16, False, False, 1), Row(3, 64, 24, False, False, 2), Row(3, 72, 24, False, False, 1),
    Row(5, 72, 40, True, False, 2), Row(5, 120, 40, True, False, 1), Row(5, 120, 40, True, False, 1),
    Row(3, 240, 80, False, True, 2), Row(3, 200, 80, False, True, 1), Row(3, 184, 80, False, True, 1),
    Row(3, 184, 80, False, True, 1), Row(3, 480, 112, True, True, 1), Row(3, 672, 112, True, True, 1),
    Row(5, 672, 160, True, True, 2), Row(5, 960, 160, True, True, 1), Row(5, 960, 160, True, True, 1),
]  # fmt: skip
_SMALL = [
    Row(3, 16, 16, True, False, 2), Row(3, 72, 24, False, False, 2), Row(3, 88, 24, False, False, 1),
    Row(5, 96, 40, True, True, 2), Row(5, 240, 40, True, True, 1), Row(5, 240, 40, True, True, 1),
    Row(5, 120, 48, True, True, 1), Row(5, 144, 48, True, True, 1), Row(5, 288, 96, True, True, 2),
    Row(5, 576, 96, True, True, 1), Row(5, 576, 96, True, True, 1),
]  # fmt: skip


def _conv(
    inputs: int, outputs: int, norm: Any, act: type | None, kernel: int = 1, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    layers = [
        nn.Conv2d(inputs, outputs, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False),
        norm(outputs),
    ]
    return nn.Sequential(*layers, *([] if act is None else [act(inplace=True)]))


class SqueezeExcitation(nn.Module):
    """Multiplies each channel by a weight that is computed from the means of all channels."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(channels, squeezed, 1)
        self.fc2 = nn.Conv2d(squeezed, channels, 1)
        self.activation = nn.ReLU()
        self.scale_activation = nn.Hardsigmoid()

    def forward(self, x: object) -> Tensor:
        return self.scale_activation(self.fc2(self.activation(self.fc1(self.avgpool(x))))) * x


class InvertedResidual(nn.Module):
    """More channels, a depthwise convolution, fewer channels. The input is added if the shape stays the same."""

    def __init__(self, inputs: int, row: Row, norm: object) -> None:
        super().__init__()
        act = nn.Hardswish if row.swish else nn.ReLU
        layers: list[nn.Module] = []
        if row.expanded != inputs:
            layers.append(_conv(inputs, row.expanded, norm, act))
        layers.append(_conv(row.expanded, row.expanded, norm, act, row.kernel, row.stride, groups=row.expanded))
        if row.squeeze:
            layers.append(SqueezeExcitation(row.expanded, divisible(row.expanded // 4)))
        layers.append(_conv(row.expanded, row.outputs, norm, None))
        self.block = nn.Sequential(*layers)
        self.use_res_connect = row.stride == 1 and inputs == row.outputs

    def forward(self, x: object) -> Tensor:
        out = self.block(x)
        return out + x if self.use_res_connect else out


class MobileNetV3(nn.Module):
    """A convolution, inverted residual blocks, another convolution, and a classifier of two linear layers.

    Args:
        rows: the blocks.
        last_channel: size of the classifier's hidden layer.
        num_classes: size of the output.
        norm_layer: creates a normalization for a number of channels. Default: ``nn.BatchNorm2d`` with the paper's numbers.
        dropout: in the classifier.

    Shapes: (N, 3, H, W) gives (N, num_classes).

    Source: Howard et al., Searching for MobileNetV3, https://arxiv.org/abs/1905.02244
    """

    def __init__(
        self,
        rows: list[Row],
        last_channel: int,
        num_classes: int = 1000,
        norm_layer: object = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        norm = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        widths = [16, *(row.outputs for row in rows)]
        last = 6 * widths[-1]
        self.features = nn.Sequential(
            _conv(3, widths[0], norm, nn.Hardswish, 3, 2),
            *(InvertedResidual(inputs, row, norm) for inputs, row in zip(widths, rows, strict=False)),
            _conv(widths[-1], last, norm, nn.Hardswish),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(last, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(p=dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        initialize_mobilenet(self)

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.features(x))  # (N, C, 1, 1)
        return self.classifier(x.flatten(1))  # (N, num_classes)


MobileNet_V3_Large_Weights = weights_enum(
    "MobileNet_V3_Large_Weights",
    __name__,
    IMAGENET1K_V1=("mobilenet_v3_large-8738ca79.pth", 5483032),
    IMAGENET1K_V2=("mobilenet_v3_large-5c1a4163.pth", 5483032, {"resize_size": 232}),
)
MobileNet_V3_Small_Weights = weights_enum(
    "MobileNet_V3_Small_Weights", __name__, IMAGENET1K_V1=("mobilenet_v3_small-047dcff4.pth", 2542856)
)


def mobilenet_v3_large(*, weights: object = None, progress: bool = True, **kwargs: object) -> MobileNetV3:
    """The larger MobileNet V3.

    Args:
        weights: None, a member of ``MobileNet_V3_Large_Weights`` or its name, a file, or an address.
        progress: show a bar while they are downloaded.
        kwargs: for ``MobileNetV3``.

    Source: https://docs.pytorch.org/vision/stable/models/generated/torchvision.models.mobilenet_v3_large.html
    """
    make = partial(MobileNetV3, _LARGE, 1280)
    return built(make, MobileNet_V3_Large_Weights, weights, progress, kwargs)


def mobilenet_v3_small(*, weights: object = None, progress: bool = True, **kwargs: object) -> MobileNetV3:
    """The smaller MobileNet V3; arguments as for ``mobilenet_v3_large``."""
    make = partial(MobileNetV3, _SMALL, 1024)
    return built(make, MobileNet_V3_Small_Weights, weights, progress, kwargs)
