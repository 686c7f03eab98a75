"""Operations for detection, and building blocks of models."""

from .boxes import *
from .deform_conv import *
from .feature_pyramid_network import (
    FeaturePyramidNetwork as FeaturePyramidNetwork,
    MultiScaleRoIAlign as MultiScaleRoIAlign,
)
from .losses import *
from .misc import *
from .regions import *
from .stochastic_depth import *
