"""Models for pictures, with torchvision's names for them and for their parts, so that its weights fit."""

from ._weights import Weights as Weights, WeightsEnum as WeightsEnum
from .mobilenetv3 import *
from .resnet import *
from .vgg import *
from .vision_transformer import *

for _each in (Weights, WeightsEnum):
    _each.__module__ = __name__
