"""Models for pictures. They and their parts have torchvision's names, so that its weights can be loaded."""

from ._catalog import (
    get_model as get_model,
    get_model_builder as get_model_builder,
    get_model_weights as get_model_weights,
    get_weight as get_weight,
    list_models as list_models,
)
from ._weights import Weights as Weights, WeightsEnum as WeightsEnum
from .alexnet import *
from .densenet import *
from .efficientnet import *
from .mobilenetv2 import *
from .mobilenetv3 import *
from .resnet import *
from .squeezenet import *
from .vgg import *
from .vision_transformer import *

for _each in (Weights, WeightsEnum, get_model, get_model_builder, get_model_weights, get_weight, list_models):
    _each.__module__ = __name__
