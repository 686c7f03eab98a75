"""DenseNet: each layer reads the outputs of all layers before it in its block."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import Any

from ... import nn, ops as torch
from ..._core.tensor import Tensor
from ...utils.checkpoint import checkpoint
from ._weights import built, weights_enum

__all__ = [
    "DenseNet", "DenseNet121_Weights", "DenseNet161_Weights", "DenseNet169_Weights", "DenseNet201_Weights", "densenet121", "densenet161",
    "densenet169", "densenet201",
]  # fmt: skip


class _DenseLayer(nn.Module):
    """A 1x1 convolution of all that came before, and a 3x3 convolution, whose output is new."""

    def __init__(self, inputs: int, growth: int, bn_size: int, drop_rate: float, memory_efficient: bool) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(inputs, bn_size * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(bn_size * growth)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(bn_size * growth, growth, 3, padding=1, bias=False)
        self.drop_rate, self.memory_efficient = float(drop_rate), memory_efficient

    def _load_from_state_dict(
        self, state_dict: dict[str, Tensor], prefix: str, local_metadata: dict[str, object], *args: Any
    ) -> None:
        for name in [name for name in state_dict if name.startswith(prefix)]:  # older files say norm.1, conv.2
            kind, _, suffix = name.removeprefix(prefix).partition(".")
            if kind in ("norm", "conv"):
                state_dict[f"{prefix}{kind}{suffix}"] = state_dict.pop(name)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def _narrow(self, *features: Tensor) -> Tensor:
        return self.conv1(self.relu1(self.norm1(torch.cat(features, 1))))

    def forward(self, input: Tensor | list[Tensor]) -> Any:
        features = [input] if isinstance(input, Tensor) else input
        if self.memory_efficient and any(feature.requires_grad for feature in features):
            narrow = checkpoint(self._narrow, *features, use_reentrant=False)
        else:
            narrow = self._narrow(*features)
        new = self.conv2(self.relu2(self.norm2(narrow)))
        return nn.functional.dropout(new, self.drop_rate, self.training) if self.drop_rate > 0 else new


class _DenseBlock(nn.ModuleDict):
    """Layers, and the outputs of all of them."""

    def __init__(self, count: int, inputs: int, growth: int, *layer: Any) -> None:
        super().__init__()
        for number in range(count):
            self.add_module(f"denselayer{number + 1}", _DenseLayer(inputs + number * growth, growth, *layer))

    def forward(self, init_features: Tensor) -> Tensor:
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return torch.cat(features, 1)


class _Transition(nn.Sequential):
    """Halves channels and sides."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(inputs)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.pool = nn.AvgPool2d(2, stride=2)


class DenseNet(nn.Module):
    """A stem, blocks of densely connected layers, and a linear classifier of the mean of their output.

    Args:
        growth_rate: channels that each layer adds.
        block_config: the number of layers of each block.
        num_init_features: channels after the stem.
        bn_size: by how much more channels each layer has inside than it adds.
        drop_rate: the probability of dropout after each layer.
        num_classes: size of the output.
        memory_efficient: compute concatenations a second time in the backward pass.

    Shapes: (N, 3, H, W) gives (N, num_classes).

    Source: Huang et al., Densely Connected Convolutional Networks, https://arxiv.org/abs/1608.06993
    """

    def __init__(
        self,
        growth_rate: int = 32,
        block_config: tuple[int, ...] = (6, 12, 24, 16),
        num_init_features: int = 64,
        bn_size: int = 4,
        drop_rate: float = 0,
        num_classes: int = 1000,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        parts: OrderedDict[str, nn.Module] = OrderedDict()
        parts["conv0"] = nn.Conv2d(3, num_init_features, 7, stride=2, padding=3, bias=False)
        parts["norm0"] = nn.BatchNorm2d(num_init_features)
        parts["relu0"] = nn.ReLU(inplace=True)
        parts["pool0"] = nn.MaxPool2d(3, stride=2, padding=1)
        channels = num_init_features
        for number, count in enumerate(block_config, 1):
            layer = (bn_size, drop_rate, memory_efficient)
            parts[f"denseblock{number}"] = _DenseBlock(count, channels, growth_rate, *layer)
            channels += count * growth_rate
            if number < len(block_config):
                parts[f"transition{number}"] = _Transition(channels, channels // 2)
                channels //= 2
        parts["norm5"] = nn.BatchNorm2d(channels)
        self.features = nn.Sequential(parts)
        self.classifier = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)
            elif isinstance(module, nn.BatchNorm2d):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
            elif isinstance(module, nn.Linear):
                nn.init.constant_(module.bias, 0)

    def forward(self, x: Tensor) -> Any:
        features = nn.functional.relu(self.features(x), inplace=True)  # (N, C, H/32, W/32)
        return self.classifier(nn.functional.adaptive_avg_pool2d(features, (1, 1)).flatten(1))  # (N, num_classes)


def _weights(number: int, file: str, count: int) -> type:
    return weights_enum(f"DenseNet{number}_Weights", __name__, IMAGENET1K_V1=(file, count))


DenseNet121_Weights = _weights(121, "densenet121-a639ec97.pth", 7978856)
DenseNet161_Weights = _weights(161, "densenet161-8d451a50.pth", 28681000)
DenseNet169_Weights = _weights(169, "densenet169-b2777c0a.pth", 14149480)
DenseNet201_Weights = _weights(201, "densenet201-c1103571.pth", 20013928)


def densenet121(*, weights: object = None, progress: bool = True, **kwargs: object) -> DenseNet:
    """DenseNet with 121 layers.

    Args:
        weights: None, a member of ``DenseNet121_Weights`` or its name, a file, or an address.
        progress: show a bar while they are downloaded.
        kwargs: for ``DenseNet``.

    Source: https://docs.pytorch.org/vision/stable/models/generated/torchvision.models.densenet121.html
    """
    return built(partial(DenseNet, 32, (6, 12, 24, 16), 64), DenseNet121_Weights, weights, progress, kwargs)


def densenet161(*, weights: object = None, progress: bool = True, **kwargs: object) -> DenseNet:
    """DenseNet with 161 layers, which are wider; arguments as for ``densenet121``."""
    return built(partial(DenseNet, 48, (6, 12, 36, 24), 96), DenseNet161_Weights, weights, progress, kwargs)


def densenet169(*, weights: object = None, progress: bool = True, **kwargs: object) -> DenseNet:
    """DenseNet with 169 layers; arguments as for ``densenet121``."""
    return built(partial(DenseNet, 32, (6, 12, 32, 32), 64), DenseNet169_Weights, weights, progress, kwargs)


def densenet201(*, weights: object = None, progress: bool = True, **kwargs: object) -> DenseNet:
    """DenseNet with 201 layers; arguments as for ``densenet121``."""
    return built(partial(DenseNet, 32, (6, 12, 48, 32), 64), DenseNet201_Weights, weights, progress, kwargs)
