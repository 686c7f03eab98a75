"""ResNet: residual blocks, which compute what is added to their input."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import nn
from ..._core.tensor import Tensor
from ._weights import built, weights_enum

if TYPE_CHECKING:
    from ...nn.modules.module import Module


__all__ = [
    "ResNeXt101_32X8D_Weights",
    "ResNeXt101_64X4D_Weights",
    "ResNeXt50_32X4D_Weights",
    "ResNet",
    "ResNet101_Weights",
    "ResNet152_Weights",
    "ResNet18_Weights",
    "ResNet34_Weights",
    "ResNet50_Weights",
    "Wide_ResNet101_2_Weights",
    "Wide_ResNet50_2_Weights",
    "resnet101",
    "resnet152",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "resnext50_32x4d",
    "wide_resnet101_2",
    "wide_resnet50_2",
]


def _conv3x3(inputs: int, outputs: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, stride, padding=dilation, groups=groups, bias=False, dilation=dilation)


def _conv1x1(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions, whose result is added to the input, or to the input converted to the new shape."""

    expansion = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Callable[..., Module] | None = None,
    ) -> None:
        super().__init__()
        norm = norm_layer or nn.BatchNorm2d
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        self.conv1 = _conv3x3(inplanes, planes, stride)
        self.bn1 = norm(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = _conv3x3(planes, planes)
        self.bn2 = norm(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Any:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """A 3x3 convolution between two 1x1 convolutions, which reduce the number of channels and make it four times as large again.

    The 3x3 convolution has the stride, which is more accurate than the first convolution, as in the paper.
    """

    expansion = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Callable[..., Module] | None = None,
    ) -> None:
        super().__init__()
        norm = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = _conv1x1(inplanes, width)
        self.bn1 = norm(width)
        self.conv2 = _conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm(width)
        self.conv3 = _conv1x1(width, planes * self.expansion)
        self.bn3 = norm(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Any:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """A stem, four stages of blocks, and a linear classifier of the mean of their output.

    Args:
        block: ``BasicBlock`` or ``Bottleneck``.
        layers: the number of blocks in each stage.
        num_classes: size of the output.
        zero_init_residual: initialise the blocks so that they change nothing.
        groups, width_per_group: of the 3x3 convolutions of a ``Bottleneck``.
        replace_stride_with_dilation: whether the second, third and fourth stage leave the picture's size and dilate convolutions instead.
        norm_layer: makes a normalization for so many channels. Default: ``nn.BatchNorm2d``.

    Shapes: (N, 3, H, W) gives (N, num_classes).

    Source: He et al., Deep Residual Learning for Image Recognition, https://arxiv.org/abs/1512.03385
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        layers: list[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: list[bool] | None = None,
        norm_layer: Any = None,
    ) -> None:
        super().__init__()
        norm = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation = 64, 1
        dilated = replace_stride_with_dilation or [False, False, False]
        if len(dilated) != 3:
            raise ValueError(
                f"replace_stride_with_dilation should be None or a 3-element tuple, got {replace_stride_with_dilation}"
            )
        self.groups, self.base_width = groups, width_per_group
        self.conv1 = nn.Conv2d(3, self.inplanes, 7, stride=2, padding=3, bias=False)
        self.bn1 = norm(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._stage(block, 64, layers[0], 1, norm, False)
        self.layer2 = self._stage(block, 128, layers[1], 2, norm, dilated[0])
        self.layer3 = self._stage(block, 256, layers[2], 2, norm, dilated[1])
        self.layer4 = self._stage(block, 512, layers[3], 2, norm, dilated[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(module.weight, 1)
                nn.init.constant_(module.bias, 0)
        if zero_init_residual:
            for module in self.modules():
                last = getattr(module, "bn3", None) or getattr(module, "bn2", None)
                if isinstance(module, (BasicBlock, Bottleneck)) and last is not None and last.weight is not None:
                    nn.init.constant_(last.weight, 0)

    def _stage(
        self,
        block: type[BasicBlock | Bottleneck],
        planes: int,
        count: int,
        stride: int,
        norm: Callable[..., Module],
        dilated: bool,
    ) -> nn.Sequential:
        """Blocks of one width; the first block makes the picture smaller, or else all after it look at pixels further apart."""
        dilation = self.dilation
        if dilated:
            self.dilation *= stride
            stride = 1
        outputs = planes * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != outputs:
            downsample = nn.Sequential(_conv1x1(self.inplanes, outputs, stride), norm(outputs))
        groups, base = self.groups, self.base_width
        blocks = [block(self.inplanes, planes, stride, downsample, groups, base, dilation, norm)]
        self.inplanes = outputs
        blocks += [
            block(outputs, planes, groups=groups, base_width=base, dilation=self.dilation, norm_layer=norm)
            for _ in range(1, count)
        ]
        return nn.Sequential(*blocks)

    def forward(self, x: Tensor) -> Any:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))  # (N, 64, H/4, W/4)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))  # (N, C, H/32, W/32)
        return self.fc(self.avgpool(x).flatten(1))  # (N, num_classes)


ResNet18_Weights = weights_enum("ResNet18_Weights", __name__, IMAGENET1K_V1=("resnet18-f37072fd.pth", 11689512))
ResNet34_Weights = weights_enum("ResNet34_Weights", __name__, IMAGENET1K_V1=("resnet34-b627a593.pth", 21797672))
ResNet50_Weights = weights_enum(
    "ResNet50_Weights",
    __name__,
    IMAGENET1K_V1=("resnet50-0676ba61.pth", 25557032),
    IMAGENET1K_V2=("resnet50-11ad3fa6.pth", 25557032, {"resize_size": 232}),
)


def _later(name: str, parameters: int, first: str, second: str) -> type:
    """An enum of two sets of weights, the second trained by torchvision's newer recipe."""
    newer = {"resize_size": 232}
    return weights_enum(name, __name__, IMAGENET1K_V1=(first, parameters), IMAGENET1K_V2=(second, parameters, newer))


ResNet101_Weights = _later("ResNet101_Weights", 44549160, "resnet101-63fe2227.pth", "resnet101-cd907fc2.pth")
ResNet152_Weights = _later("ResNet152_Weights", 60192808, "resnet152-394f9c45.pth", "resnet152-f82ba261.pth")
ResNeXt50_32X4D_Weights = _later(
    "ResNeXt50_32X4D_Weights", 25028904, "resnext50_32x4d-7cdf4587.pth", "resnext50_32x4d-1a0047aa.pth"
)
ResNeXt101_32X8D_Weights = _later(
    "ResNeXt101_32X8D_Weights", 88791336, "resnext101_32x8d-8ba56ff5.pth", "resnext101_32x8d-110c445d.pth"
)
ResNeXt101_64X4D_Weights = weights_enum(
    "ResNeXt101_64X4D_Weights",
    __name__,
    IMAGENET1K_V1=("resnext101_64x4d-173b62eb.pth", 83455272, {"resize_size": 232}),
)
Wide_ResNet50_2_Weights = _later(
    "Wide_ResNet50_2_Weights", 68883240, "wide_resnet50_2-95faca4d.pth", "wide_resnet50_2-9ba9bcbe.pth"
)
Wide_ResNet101_2_Weights = _later(
    "Wide_ResNet101_2_Weights", 126886696, "wide_resnet101_2-32ee1156.pth", "wide_resnet101_2-d733dc28.pth"
)


def _resnet(
    block: type[BasicBlock | Bottleneck],
    layers: list[int],
    kind: type,
    weights: object,
    progress: bool,
    options: dict[str, object],
    **fixed: int,
) -> ResNet:
    """A model; ``fixed`` says what makes it one of its kind, which ``options`` may not change."""
    for name, value in fixed.items():
        if options.setdefault(name, value) != value:
            raise ValueError(f"The parameter '{name}' expected value {value} but got {options[name]} instead.")
    return built(lambda **arguments: ResNet(block, layers, **arguments), kind, weights, progress, options)


def resnet18(*, weights: object = None, progress: bool = True, **kwargs: object) -> ResNet:
    """ResNet with 18 layers.

    Args:
        weights: None, a member of ``ResNet18_Weights`` or its name, a file, or an address.
        progress: show a bar while they are downloaded.
        kwargs: for ``ResNet``.

    >>> from torchlike.vision.models import resnet18
    >>> resnet18(num_classes=10).fc
    Linear(in_features=512, out_features=10, bias=True)

    Source: https://docs.pytorch.org/vision/stable/models/generated/torchvision.models.resnet18.html
    """
    return _resnet(BasicBlock, [2, 2, 2, 2], ResNet18_Weights, weights, progress, kwargs)


def resnet34(*, weights: object = None, progress: bool = True, **kwargs: object) -> ResNet:
    """ResNet with 34 layers; arguments as for ``resnet18``."""
    return _resnet(BasicBlock, [3, 4, 6, 3], ResNet34_Weights, weights, progress, kwargs)


def resnet50(*, weights: object = None, progress: bool = True, **kwargs: object) -> ResNet:
    """ResNet with 50 layers, of bottleneck blocks; arguments as for ``resnet18``."""
    return _resnet(Bottleneck, [3, 4, 6, 3], ResNet50_Weights, weights, progress, kwargs)


def resnet101(*, weights: object = None, progress: bool = True, **kwargs: object) -> ResNet:
    """ResNet with 101 layers; arguments as for ``resnet18``."""
    return _resnet(Bottleneck, [3, 4, 23, 3], ResNet101_Weights, weights, progress, kwargs)


def resnet152(*, weights: object = None, progress: bool = True, **kwargs: object) -> ResNet:
    """ResNet with 152 layers; arguments as for ``resnet18``."""
    return _resnet(Bottleneck, [3, 8, 36, 3], ResNet152_Weights, weights, progress, kwargs)


def resnext50_32x4d(*, weights: object = None, progress: bool = True, **kwargs: object) -> ResNet:
    """ResNeXt with 50 layers: 32 groups of 4 channels; arguments as for ``resnet18``."""
    return _resnet(
        Bottleneck, [3, 4, 6, 3], ResNeXt50_32X4D_Weights, weights, progress, kwargs, groups=32, width_per_group=4
    )


def resnext101_32x8d(*, weights: object = None, progress: bool = True, **kwargs: object) -> ResNet:
    """ResNeXt with 101 layers: 32 groups of 8 channels; arguments as for ``resnet18``."""
    return _resnet(
        Bottleneck, [3, 4, 23, 3], ResNeXt101_32X8D_Weights, weights, progress, kwargs, groups=32, width_per_group=8
    )


def resnext101_64x4d(*, weights: object = None, progress: bool = True, **kwargs: object) -> ResNet:
    """ResNeXt with 101 layers: 64 groups of 4 channels; arguments as for ``resnet18``."""
    return _resnet(
        Bottleneck, [3, 4, 23, 3], ResNeXt101_64X4D_Weights, weights, progress, kwargs, groups=64, width_per_group=4
    )


def wide_resnet50_2(*, weights: object = None, progress: bool = True, **kwargs: object) -> ResNet:
    """ResNet with 50 layers, twice as wide within its blocks; arguments as for ``resnet18``."""
    return _resnet(Bottleneck, [3, 4, 6, 3], Wide_ResNet50_2_Weights, weights, progress, kwargs, width_per_group=128)


def wide_resnet101_2(*, weights: object = None, progress: bool = True, **kwargs: object) -> ResNet:
    """ResNet with 101 layers, twice as wide within its blocks; arguments as for ``resnet18``."""
    return _resnet(Bottleneck, [3, 4, 23, 3], Wide_ResNet101_2_Weights, weights, progress, kwargs, width_per_group=128)
