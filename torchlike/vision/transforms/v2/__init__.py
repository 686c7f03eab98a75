"""The second version of the transforms: for pictures, videos, masks and boxes together, in samples of any structure."""

from ..autoaugment import AutoAugmentPolicy as AutoAugmentPolicy
from . import functional as functional
from ._color import *
from ._geometry import *
from ._misc import *
from ._transform import *
from .functional import InterpolationMode as InterpolationMode

for _name, _each in list(globals().items()):
    if isinstance(_each, type) and _each.__module__.startswith(f"{__name__}._"):
        _each.__module__ = __name__
