"""AlexNet: five convolutions and three linear layers."""

from __future__ import annotations

from ... import nn
from ..._core.tensor import Tensor
from ._weights import built, weights_enum

__all__ = ["AlexNet", "AlexNet_Weights", "alexnet"]


class AlexNet(nn.Module):
    """Five convolutions, a mean over 6x6 fields, and a classifier of three linear layers.

    Args:
        num_classes: size of the output.
        dropout: in the classifier.

    Shapes: (N, 3, H, W) gives (N, num_classes).

    Source: Krizhevsky, One weird trick for parallelizing convolutional neural networks, https://arxiv.org/abs/1404.5997
    """

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, kernel_size=11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(64, 192, kernel_size=5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(192, 384, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


AlexNet_Weights = weights_enum("AlexNet_Weights", __name__, IMAGENET1K_V1=("alexnet-owt-7be5be79.pth", 61100840))


def alexnet(*, weights: object = None, progress: bool = True, **kwargs: object) -> AlexNet:
    """AlexNet.

    Args:
        weights: None, a member of ``AlexNet_Weights`` or its name, a file, or an address.
        progress: show a bar while they are downloaded.
        kwargs: for ``AlexNet``.

    Source: https://docs.pytorch.org/vision/stable/models/generated/torchvision.models.alexnet.html
    """
    return built(AlexNet, AlexNet_Weights, weights, progress, kwargs)
