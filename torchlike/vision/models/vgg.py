"""VGG: stacks of 3x3 convolutions, and three linear layers."""

from __future__ import annotations

from functools import partial

from ... import nn
from ..._core.tensor import Tensor
from ._weights import built, weights_enum

__all__ = [
    "VGG", "VGG11_BN_Weights", "VGG11_Weights", "VGG13_BN_Weights", "VGG13_Weights", "VGG16_BN_Weights", "VGG16_Weights",
    "VGG19_BN_Weights", "VGG19_Weights", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn",
]  # fmt: skip

# The number of convolutions in each of the five stages, and their channels. After each stage the picture is halved.
_COUNTS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
_CHANNELS = (64, 128, 256, 512, 512)


class VGG(nn.Module):
    """Convolutions, a mean over 7x7 fields, and a classifier of three linear layers.

    Args:
        features: the convolutions.
        num_classes: size of the output.
        init_weights: initialise the weights as in the paper.
        dropout: in the classifier.

    Shapes: (N, 3, H, W) gives (N, num_classes).

    Source: Simonyan and Zisserman, Very Deep Convolutional Networks, https://arxiv.org/abs/1409.1556
    """

    def __init__(
        self, features: nn.Module, num_classes: int = 1000, init_weights: bool = True, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            for module in self.modules():
                if isinstance(module, nn.Conv2d):
                    nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                elif isinstance(module, nn.BatchNorm2d):
                    nn.init.constant_(module.weight, 1)
                elif isinstance(module, nn.Linear):
                    nn.init.normal_(module.weight, 0, 0.01)
                if isinstance(module, (nn.Conv2d, nn.BatchNorm2d, nn.Linear)) and module.bias is not None:
                    nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.features(x))  # (N, 512, 7, 7)
        return self.classifier(x.flatten(1))  # (N, num_classes)


def _features(depth: int, batch_norm: bool) -> nn.Sequential:
    layers: list[nn.Module] = []
    inputs = 3
    for count, outputs in zip(_COUNTS[depth], _CHANNELS, strict=True):
        for _ in range(count):
            layers.append(nn.Conv2d(inputs, outputs, 3, padding=1))
            if batch_norm:
                layers.append(nn.BatchNorm2d(outputs))
            layers.append(nn.ReLU(inplace=True))
            inputs = outputs
        layers.append(nn.MaxPool2d(2, stride=2))
    return nn.Sequential(*layers)


def _vgg(
    depth: int, batch_norm: bool, kind: object, weights: object, progress: bool, options: dict[str, object]
) -> VGG:
    if weights is not None:
        options.setdefault("init_weights", False)  # the loaded weights replace all of them
    return built(lambda **arguments: VGG(_features(depth, batch_norm), **arguments), kind, weights, progress, options)


_enum = partial(weights_enum, module=__name__)
VGG11_Weights = _enum("VGG11_Weights", IMAGENET1K_V1=("vgg11-8a719046.pth", 132863336))
VGG11_BN_Weights = _enum("VGG11_BN_Weights", IMAGENET1K_V1=("vgg11_bn-6002323d.pth", 132868840))
VGG13_Weights = _enum("VGG13_Weights", IMAGENET1K_V1=("vgg13-19584684.pth", 133047848))
VGG13_BN_Weights = _enum("VGG13_BN_Weights", IMAGENET1K_V1=("vgg13_bn-abd245e5.pth", 133053736))
VGG16_Weights = _enum("VGG16_Weights", IMAGENET1K_V1=("vgg16-397923af.pth", 138357544))
VGG16_BN_Weights = _enum("VGG16_BN_Weights", IMAGENET1K_V1=("vgg16_bn-6c64b313.pth", 138365992))
VGG19_Weights = _enum("VGG19_Weights", IMAGENET1K_V1=("vgg19-dcbb9e9d.pth", 143667240))
VGG19_BN_Weights = _enum("VGG19_BN_Weights", IMAGENET1K_V1=("vgg19_bn-c79401a0.pth", 143678248))


def vgg11(*, weights: object = None, progress: bool = True, **kwargs: object) -> VGG:
    """VGG with 11 layers.

    Args:
        weights: None, a member of ``VGG11_Weights`` or its name, a file, or an address.
        progress: show a bar while they are downloaded.
        kwargs: for ``VGG``.

    Source: https://docs.pytorch.org/vision/stable/models/generated/torchvision.models.vgg11.html
    """
    return _vgg(11, False, VGG11_Weights, weights, progress, kwargs)


def vgg11_bn(*, weights: object = None, progress: bool = True, **kwargs: object) -> VGG:
    """VGG with 11 layers and batch normalization; arguments as for ``vgg11``."""
    return _vgg(11, True, VGG11_BN_Weights, weights, progress, kwargs)


def vgg13(*, weights: object = None, progress: bool = True, **kwargs: object) -> VGG:
    """VGG with 13 layers; arguments as for ``vgg11``."""
    return _vgg(13, False, VGG13_Weights, weights, progress, kwargs)


def vgg13_bn(*, weights: object = None, progress: bool = True, **kwargs: object) -> VGG:
    """VGG with 13 layers and batch normalization; arguments as for ``vgg11``."""
    return _vgg(13, True, VGG13_BN_Weights, weights, progress, kwargs)


def vgg16(*, weights: object = None, progress: bool = True, **kwargs: object) -> VGG:
    """VGG with 16 layers; arguments as for ``vgg11``."""
    return _vgg(16, False, VGG16_Weights, weights, progress, kwargs)


def vgg16_bn(*, weights: object = None, progress: bool = True, **kwargs: object) -> VGG:
    """VGG with 16 layers and batch normalization; arguments as for ``vgg11``."""
    return _vgg(16, True, VGG16_BN_Weights, weights, progress, kwargs)


def vgg19(*, weights: object = None, progress: bool = True, **kwargs: object) -> VGG:
    """VGG with 19 layers; arguments as for ``vgg11``."""
    return _vgg(19, False, VGG19_Weights, weights, progress, kwargs)


def vgg19_bn(*, weights: object = None, progress: bool = True, **kwargs: object) -> VGG:
    """VGG with 19 layers and batch normalization; arguments as for ``vgg11``."""
    return _vgg(19, True, VGG19_BN_Weights, weights, progress, kwargs)
