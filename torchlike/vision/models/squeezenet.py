"""SqueezeNet: few parameters, by modules that narrow and widen the channels."""

from __future__ import annotations

from functools import partial

from ... import nn, ops
from ..._core.tensor import Tensor
from ._weights import built, weights_enum

__all__ = [
    "SqueezeNet", "SqueezeNet1_0_Weights", "SqueezeNet1_1_Weights", "squeezenet1_0", "squeezenet1_1",
]  # fmt: skip

# The first convolution (channels, kernel), and the fire modules (narrow, wide); None halves the picture.
_VERSIONS = {
    "1_0": (
        96,
        7,
        (None, (16, 64), (16, 64), (32, 128), None, (32, 128), (48, 192), (48, 192), (64, 256), None, (64, 256)),
    ),
    "1_1": (
        64,
        3,
        (None, (16, 64), (16, 64), None, (32, 128), (32, 128), None, (48, 192), (48, 192), (64, 256), (64, 256)),
    ),
}


class Fire(nn.Module):
    """Few channels by 1x1 convolutions, then more by 1x1 and 3x3 convolutions side by side."""

    def __init__(self, inputs: int, narrow: int, wide: int) -> None:
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, narrow, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(narrow, wide, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(narrow, wide, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze_activation(self.squeeze(x))
        return ops.cat([self.expand1x1_activation(self.expand1x1(x)), self.expand3x3_activation(self.expand3x3(x))], 1)


class SqueezeNet(nn.Module):
    """A convolution, fire modules, and a convolution whose means are the result.

    Args:
        version: "1_0" or "1_1".
        num_classes: size of the output.
        dropout: before the last convolution.

    Shapes: (N, 3, H, W) gives (N, num_classes).

    Raises:
        ValueError: another version.

    Source: Iandola et al., SqueezeNet, https://arxiv.org/abs/1602.07360
    """

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.num_classes = num_classes
        if version not in _VERSIONS:
            raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
        channels, kernel, fires = _VERSIONS[version]
        layers: list[nn.Module] = [nn.Conv2d(3, channels, kernel_size=kernel, stride=2), nn.ReLU(inplace=True)]
        for fire in fires:
            if fire is None:
                layers.append(nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True))
            else:
                layers.append(Fire(channels, *fire))
                channels = 2 * fire[1]
        self.features = nn.Sequential(*layers)
        last = nn.Conv2d(512, num_classes, kernel_size=1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), last, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1))
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                if module is last:
                    nn.init.normal_(module.weight, mean=0.0, std=0.01)
                else:
                    nn.init.kaiming_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x)).flatten(1)


SqueezeNet1_0_Weights = weights_enum(
    "SqueezeNet1_0_Weights", __name__, IMAGENET1K_V1=("squeezenet1_0-b66bff10.pth", 1248424)
)
SqueezeNet1_1_Weights = weights_enum(
    "SqueezeNet1_1_Weights", __name__, IMAGENET1K_V1=("squeezenet1_1-b8a52dc0.pth", 1235496)
)


def squeezenet1_0(*, weights: object = None, progress: bool = True, **kwargs: object) -> SqueezeNet:
    """SqueezeNet of the paper.

    Args:
        weights: None, a member of ``SqueezeNet1_0_Weights`` or its name, a file, or an address.
        progress: show a bar while they are downloaded.
        kwargs: for ``SqueezeNet``.

    Source: https://docs.pytorch.org/vision/stable/models/generated/torchvision.models.squeezenet1_0.html
    """
    return built(partial(SqueezeNet, "1_0"), SqueezeNet1_0_Weights, weights, progress, kwargs)


def squeezenet1_1(*, weights: object = None, progress: bool = True, **kwargs: object) -> SqueezeNet:
    """SqueezeNet with less work for the same results; arguments as for ``squeezenet1_0``."""
    return built(partial(SqueezeNet, "1_1"), SqueezeNet1_1_Weights, weights, progress, kwargs)
