"""Models as tests make them, with torchlike's `vision.models` or torchvision's: the whole ones by name, and small ones to run."""

from __future__ import annotations

import hashlib
from typing import Any

NAMES = (
    "resnet18", "resnet34", "resnet50", "vgg11", "vgg11_bn", "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn",
    "mobilenet_v3_small", "mobilenet_v3_large", "vit_b_16", "alexnet", "squeezenet1_0", "squeezenet1_1",
)  # fmt: skip


def _basic(models: Any, torch: Any) -> Any:
    return models.resnet.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=5)


def _bottleneck(models: Any, torch: Any) -> Any:
    return models.resnet.ResNet(models.resnet.Bottleneck, [1, 2, 1, 1], num_classes=5, zero_init_residual=True)


def _transformer(models: Any, torch: Any) -> Any:
    model = models.VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=5, representation_size=8)
    model.heads.head = torch.nn.Identity()  # which would begin as zeros
    return model


def _squeezing(models: Any, torch: Any) -> Any:
    return models.SqueezeNet("1_1", num_classes=5)


# Seeded, so that what they give also says that their weights are drawn in the same order.
SMALL = {"basic": _basic, "bottleneck": _bottleneck, "transformer": _transformer, "squeezing": _squeezing}


def picture(torch: Any) -> Any:
    return torch.linspace(-1, 1, 3 * 32 * 32).reshape(1, 3, 32, 32)


def structure(model: Any) -> str:
    """A hash of all names, shapes and dtypes of a model's state, in order."""
    lines = [f"{name} {list(tensor.shape)} {tensor.dtype}" for name, tensor in model.state_dict().items()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
