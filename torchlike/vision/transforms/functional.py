"""The transforms as functions. Images are PIL images or tensors of shape ``(..., C, H, W)``."""

from . import _colours, _geometry, _images
from ._colours import *
from ._geometry import *
from ._images import *
from ._images import (
    PILLOW_FILTERS as PILLOW_FILTERS,
    mode_of as mode_of,
    normalized as normalized,
    per_channel as per_channel,
)

__all__ = [name for name in (*_images.__all__, *_geometry.__all__, *_colours.__all__) if name != "unit_range"]
for _name in __all__:
    globals()[_name].__module__ = __name__
