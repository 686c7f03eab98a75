"""EfficientNet and EfficientNet V2: inverted residual blocks, whose depth, width and resolution grow together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ... import nn
from ..._core.tensor import Tensor
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..ops.stochastic_depth import StochasticDepth
from ..transforms.functional import InterpolationMode
from ._scaling import divisible
from ._weights import built, weights_enum

__all__ = [
    "EfficientNet", "EfficientNet_B0_Weights", "EfficientNet_B1_Weights", "EfficientNet_B2_Weights", "EfficientNet_B3_Weights",
    "EfficientNet_B4_Weights", "EfficientNet_B5_Weights", "EfficientNet_B6_Weights", "EfficientNet_B7_Weights",
    "EfficientNet_V2_L_Weights", "EfficientNet_V2_M_Weights", "EfficientNet_V2_S_Weights", "efficientnet_b0", "efficientnet_b1",
    "efficientnet_b2", "efficientnet_b3", "efficientnet_b4", "efficientnet_b5", "efficientnet_b6", "efficientnet_b7", "efficientnet_v2_l",
    "efficientnet_v2_m", "efficientnet_v2_s",
]  # fmt: skip


@dataclass
class Stage:
    """Blocks of one width: expansion, kernel, stride of the first, channels before and after, their number, and whether they are fused."""

    expand_ratio: float
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int
    fused: bool = False


class MBConv(nn.Module):
    """More channels, a depthwise convolution, weights for channels, fewer channels. The input is added if the shape stays the same."""

    def __init__(self, inputs: int, stage: Stage, stride: int, drop: float, norm_layer: object) -> None:
        super().__init__()
        expanded = divisible(inputs * stage.expand_ratio)
        self.block = nn.Sequential(*self._layers(inputs, expanded, stage, stride, norm_layer))
        self.stochastic_depth = StochasticDepth(drop, "row")
        self.use_res_connect = stride == 1 and inputs == stage.out_channels
        self.out_channels = stage.out_channels

    def _layers(self, inputs: int, expanded: int, stage: Stage, stride: int, norm: Any) -> list[nn.Module]:
        options = {"norm_layer": norm, "activation_layer": nn.SiLU}
        layers: list[nn.Module] = []
        if expanded != inputs:
            layers.append(Conv2dNormActivation(inputs, expanded, kernel_size=1, **options))
        layers.append(
            Conv2dNormActivation(
                expanded, expanded, kernel_size=stage.kernel, stride=stride, groups=expanded, **options
            )
        )
        layers.append(SqueezeExcitation(expanded, max(1, inputs // 4), activation=partial(nn.SiLU, inplace=True)))
        layers.append(
            Conv2dNormActivation(expanded, stage.out_channels, kernel_size=1, norm_layer=norm, activation_layer=None)
        )
        return layers

    def forward(self, input: Tensor) -> Any:
        result = self.block(input)
        return self.stochastic_depth(result) + input if self.use_res_connect else result


class FusedMBConv(MBConv):
    """``MBConv`` with one full convolution in place of the first two, and without weights for channels."""

    def _layers(self, inputs: int, expanded: int, stage: Stage, stride: int, norm: Any) -> list[nn.Module]:
        first = {
            "kernel_size": stage.kernel,
            "stride": stride,
            "norm_layer": norm,
            "activation_layer": nn.SiLU,
        }
        if expanded == inputs:
            return [Conv2dNormActivation(inputs, stage.out_channels, **first)]
        return [
            Conv2dNormActivation(inputs, expanded, **first),
            Conv2dNormActivation(expanded, stage.out_channels, kernel_size=1, norm_layer=norm, activation_layer=None),
        ]


class EfficientNet(nn.Module):
    """A convolution, stages of inverted residual blocks, another convolution, and a linear classifier of the mean of its output.

    Args:
        inverted_residual_setting: the stages.
        dropout: before the classifier.
        stochastic_depth_prob: with which probability the last block is left out in training; earlier ones in proportion.
        num_classes: size of the output.
        norm_layer: creates a normalization for a number of channels. Default: ``nn.BatchNorm2d``.
        last_channel: channels of the last convolution. Default: four times those of the last stage.

    Raises:
        ValueError: there are no stages.

    Shapes: (N, 3, H, W) gives (N, num_classes).

    Source: Tan and Le, EfficientNet, https://arxiv.org/abs/1905.11946; EfficientNetV2, https://arxiv.org/abs/2104.00298
    """

    def __init__(
        self,
        inverted_residual_setting: Sequence[Stage],
        dropout: float,
        stochastic_depth_prob: float = 0.2,
        num_classes: int = 1000,
        norm_layer: Callable[..., nn.Module] | None = None,
        last_channel: int | None = None,
    ) -> None:
        super().__init__()
        stages = inverted_residual_setting
        if not stages:
            raise ValueError("The inverted_residual_setting should not be empty")
        options = {"norm_layer": norm_layer or nn.BatchNorm2d, "activation_layer": nn.SiLU}
        layers: list[nn.Module] = [Conv2dNormActivation(3, stages[0].input_channels, stride=2, **options)]
        total, block_number = sum(stage.num_layers for stage in stages), 0
        for stage in stages:
            kind, blocks = FusedMBConv if stage.fused else MBConv, []
            for number in range(stage.num_layers):
                inputs, stride = (stage.out_channels, 1) if number else (stage.input_channels, stage.stride)
                drop = stochastic_depth_prob * float(block_number) / total
                blocks.append(kind(inputs, stage, stride, drop, options["norm_layer"]))
                block_number += 1
            layers.append(nn.Sequential(*blocks))
        width = stages[-1].out_channels
        last = 4 * width if last_channel is None else last_channel
        layers.append(Conv2dNormActivation(width, last, kernel_size=1, **options))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(last, num_classes))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.ones_(module.weight)
            elif isinstance(module, nn.Linear):
                bound = 1.0 / math.sqrt(module.out_features)
                nn.init.uniform_(module.weight, -bound, bound)
            else:
                continue
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Any:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))  # (N, num_classes)


# Table 1 of the first paper: expansion, kernel, stride, channels before and after, number of blocks.
_B0 = [
    (1, 3, 1, 32, 16, 1), (6, 3, 2, 16, 24, 2), (6, 5, 2, 24, 40, 2), (6, 3, 2, 40, 80, 3), (6, 5, 1, 80, 112, 3),
    (6, 5, 2, 112, 192, 4), (6, 3, 1, 192, 320, 1),
]  # fmt: skip
# Tables of the second paper; the first three stages are fused.
_V2 = {
    "s": [
        (1, 3, 1, 24, 24, 2), (4, 3, 2, 24, 48, 4), (4, 3, 2, 48, 64, 4), (4, 3, 2, 64, 128, 6), (6, 3, 1, 128, 160, 9),
        (6, 3, 2, 160, 256, 15),
    ],
    "m": [
        (1, 3, 1, 24, 24, 3), (4, 3, 2, 24, 48, 5), (4, 3, 2, 48, 80, 5), (4, 3, 2, 80, 160, 7), (6, 3, 1, 160, 176, 14),
        (6, 3, 2, 176, 304, 18), (6, 3, 1, 304, 512, 5),
    ],
    "l": [
        (1, 3, 1, 32, 32, 4), (4, 3, 2, 32, 64, 7), (4, 3, 2, 64, 96, 7), (4, 3, 2, 96, 192, 10), (6, 3, 1, 192, 224, 19),
        (6, 3, 2, 224, 384, 25), (6, 3, 1, 384, 640, 7),
    ],
}  # fmt: skip
_ACCURATE = partial(nn.BatchNorm2d, eps=1e-3)


def _scaled(width: float, depth: float) -> list[Stage]:
    """The stages of the first network with more channels and blocks."""
    return [
        Stage(
            expansion, kernel, stride, divisible(inputs * width), divisible(outputs * width), math.ceil(count * depth)
        )
        for expansion, kernel, stride, inputs, outputs, count in _B0
    ]


def _weights(name: str, count: int, file: str, crop: int, resize: int, **changes: object) -> type:
    options = {"crop_size": crop, "resize_size": resize, "interpolation": InterpolationMode.BICUBIC} | changes
    return weights_enum(
        f"EfficientNet_{name}_Weights", __name__, IMAGENET1K_V1=(f"efficientnet_{file}.pth", count, options)
    )


EfficientNet_B0_Weights = _weights("B0", 5288548, "b0_rwightman-7f5810bc", 224, 256)
EfficientNet_B1_Weights = weights_enum(
    "EfficientNet_B1_Weights",
    __name__,
    IMAGENET1K_V1=(
        "efficientnet_b1_rwightman-bac287d4.pth",
        7794184,
        {"crop_size": 240, "interpolation": InterpolationMode.BICUBIC},
    ),
    IMAGENET1K_V2=("efficientnet_b1-c27df63c.pth", 7794184, {"crop_size": 240, "resize_size": 255}),
)
EfficientNet_B2_Weights = _weights("B2", 9109994, "b2_rwightman-c35c1473", 288, 288)
EfficientNet_B3_Weights = _weights("B3", 12233232, "b3_rwightman-b3899882", 300, 320)
EfficientNet_B4_Weights = _weights("B4", 19341616, "b4_rwightman-23ab8bcd", 380, 384)
EfficientNet_B5_Weights = _weights("B5", 30389784, "b5_lukemelas-1a07897c", 456, 456)
EfficientNet_B6_Weights = _weights("B6", 43040704, "b6_lukemelas-24a108a5", 528, 528)
EfficientNet_B7_Weights = _weights("B7", 66347960, "b7_lukemelas-c5b4e57e", 600, 600)
_LINEAR = InterpolationMode.BILINEAR
EfficientNet_V2_S_Weights = _weights("V2_S", 21458488, "v2_s-dd5fe13b", 384, 384, interpolation=_LINEAR)
EfficientNet_V2_M_Weights = _weights("V2_M", 54139356, "v2_m-dc08266a", 480, 480, interpolation=_LINEAR)
EfficientNet_V2_L_Weights = _weights(
    "V2_L", 118515272, "v2_l-59c71312", 480, 480, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5)
)

_FINE = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)


def _efficientnet(
    stages: list[Stage],
    dropout: float,
    kind: object,
    weights: object,
    progress: bool,
    options: dict[str, Any],
    norm: Callable[..., nn.Module] | None = None,
    last: int | None = None,
) -> EfficientNet:
    """A model; programs may choose another dropout and another normalization."""
    if norm is not None:
        options.setdefault("norm_layer", norm)
    make = partial(EfficientNet, stages, options.pop("dropout", dropout), last_channel=last)
    return built(make, kind, weights, progress, options)


def _second(size: str) -> list[Stage]:
    return [Stage(*row, fused=number < 3) for number, row in enumerate(_V2[size])]


def efficientnet_b0(*, weights: object = None, progress: bool = True, **kwargs: object) -> EfficientNet:
    """EfficientNet B0.

    Args:
        weights: None, a member of ``EfficientNet_B0_Weights`` or its name, a file, or an address.
        progress: show a bar while they are downloaded.
        kwargs: for ``EfficientNet``.

    Source: https://docs.pytorch.org/vision/stable/models/generated/torchvision.models.efficientnet_b0.html
    """
    return _efficientnet(_scaled(1.0, 1.0), 0.2, EfficientNet_B0_Weights, weights, progress, kwargs)


def efficientnet_b1(*, weights: object = None, progress: bool = True, **kwargs: object) -> EfficientNet:
    """EfficientNet B1; arguments as for ``efficientnet_b0``."""
    return _efficientnet(_scaled(1.0, 1.1), 0.2, EfficientNet_B1_Weights, weights, progress, kwargs)


def efficientnet_b2(*, weights: object = None, progress: bool = True, **kwargs: object) -> EfficientNet:
    """EfficientNet B2; arguments as for ``efficientnet_b0``."""
    return _efficientnet(_scaled(1.1, 1.2), 0.3, EfficientNet_B2_Weights, weights, progress, kwargs)


def efficientnet_b3(*, weights: object = None, progress: bool = True, **kwargs: object) -> EfficientNet:
    """EfficientNet B3; arguments as for ``efficientnet_b0``."""
    return _efficientnet(_scaled(1.2, 1.4), 0.3, EfficientNet_B3_Weights, weights, progress, kwargs)


def efficientnet_b4(*, weights: object = None, progress: bool = True, **kwargs: object) -> EfficientNet:
    """EfficientNet B4; arguments as for ``efficientnet_b0``."""
    return _efficientnet(_scaled(1.4, 1.8), 0.4, EfficientNet_B4_Weights, weights, progress, kwargs)


def efficientnet_b5(*, weights: object = None, progress: bool = True, **kwargs: object) -> EfficientNet:
    """EfficientNet B5; arguments as for ``efficientnet_b0``."""
    return _efficientnet(_scaled(1.6, 2.2), 0.4, EfficientNet_B5_Weights, weights, progress, kwargs, _FINE)


def efficientnet_b6(*, weights: object = None, progress: bool = True, **kwargs: object) -> EfficientNet:
    """EfficientNet B6; arguments as for ``efficientnet_b0``."""
    return _efficientnet(_scaled(1.8, 2.6), 0.5, EfficientNet_B6_Weights, weights, progress, kwargs, _FINE)


def efficientnet_b7(*, weights: object = None, progress: bool = True, **kwargs: object) -> EfficientNet:
    """EfficientNet B7; arguments as for ``efficientnet_b0``."""
    return _efficientnet(_scaled(2.0, 3.1), 0.5, EfficientNet_B7_Weights, weights, progress, kwargs, _FINE)


def efficientnet_v2_s(*, weights: object = None, progress: bool = True, **kwargs: object) -> EfficientNet:
    """The small EfficientNet V2; arguments as for ``efficientnet_b0``."""
    kind = EfficientNet_V2_S_Weights
    return _efficientnet(_second("s"), 0.2, kind, weights, progress, kwargs, _ACCURATE, 1280)


def efficientnet_v2_m(*, weights: object = None, progress: bool = True, **kwargs: object) -> EfficientNet:
    """The medium EfficientNet V2; arguments as for ``efficientnet_b0``."""
    kind = EfficientNet_V2_M_Weights
    return _efficientnet(_second("m"), 0.3, kind, weights, progress, kwargs, _ACCURATE, 1280)


def efficientnet_v2_l(*, weights: object = None, progress: bool = True, **kwargs: object) -> EfficientNet:
    """The large EfficientNet V2; arguments as for ``efficientnet_b0``."""
    kind = EfficientNet_V2_L_Weights
    return _efficientnet(_second("l"), 0.4, kind, weights, progress, kwargs, _ACCURATE, 1280)
