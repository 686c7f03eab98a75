"""Models for tests, made by torchlike's `vision.models` or by torchvision: the whole ones by name, and small ones to run."""

from __future__ import annotations

import hashlib
from typing import Any

NAMES = (
    "resnet18", "resnet34", "resnet50", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn",
    "mobilenet_v3_small", "mobilenet_v3_large", "vit_b_16", "alexnet", "squeezenet1_0", "squeezenet1_1", "resnet101", "resnet152",
    "resnext50_32x4d", "resnext101_32x8d", "resnext101_64x4d", "wide_resnet50_2", "wide_resnet101_2", "vit_b_32", "vit_l_16", "vit_l_32",
    "mobilenet_v2", "densenet121", "densenet161", "densenet169", "densenet201", "efficientnet_b0", "efficientnet_b1", "efficientnet_b2",
    "efficientnet_b3", "efficientnet_b4", "efficientnet_b5", "efficientnet_b6", "efficientnet_b7", "efficientnet_v2_s",
    "efficientnet_v2_m", "efficientnet_v2_l",
)  # fmt: skip


def _basic(models: Any, torch: Any) -> Any:
    return models.resnet.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=5)


def _bottleneck(models: Any, torch: Any) -> Any:
    return models.resnet.ResNet(models.resnet.Bottleneck, [1, 2, 1, 1], num_classes=5, zero_init_residual=True)


def _transformer(models: Any, torch: Any) -> Any:
    model = models.VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=5, representation_size=8)
    model.heads.head = torch.nn.Identity()  # which otherwise begin as zeros
    return model


def _squeezing(models: Any, torch: Any) -> Any:
    return models.SqueezeNet("1_1", num_classes=5)


def _dilated(models: Any, torch: Any) -> Any:
    options = {"groups": 2, "width_per_group": 16, "replace_stride_with_dilation": [False, True, True]}
    return models.resnet.ResNet(models.resnet.Bottleneck, [1, 1, 2, 1], num_classes=5, **options)


def _inverted(models: Any, torch: Any) -> Any:
    return models.MobileNetV2(5, 0.35, [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 1, 2]])


def _dense(models: Any, torch: Any) -> Any:
    return models.DenseNet(8, (2, 3), 16, num_classes=5)


def _beginning(model: Any, count: int, torch: Any) -> Any:
    """Returns the first layers of a model, whose weights were drawn together with all of its weights."""
    return torch.nn.Sequential(model.features[:count], torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())


def _efficient(models: Any, torch: Any) -> Any:
    return _beginning(models.efficientnet_b0(num_classes=5), 3, torch)


def _efficient2(models: Any, torch: Any) -> Any:
    return _beginning(models.efficientnet_v2_s(num_classes=5), 5, torch)


# The results follow from a seed, so they also show that the weights are drawn in the same order.
SMALL = {
    "basic": _basic, "bottleneck": _bottleneck, "transformer": _transformer, "squeezing": _squeezing,
    "dilated": _dilated, "inverted": _inverted, "dense": _dense, "efficient": _efficient, "efficient2": _efficient2,
}  # fmt: skip


def picture(torch: Any) -> Any:
    return torch.linspace(-1, 1, 3 * 32 * 32).reshape(1, 3, 32, 32)


def structure(model: Any) -> str:
    """Returns a hash of all names, shapes and dtypes of a model's state, in order."""
    lines = [f"{name} {list(tensor.shape)} {tensor.dtype}" for name, tensor in model.state_dict().items()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
