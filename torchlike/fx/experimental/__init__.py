"""torch.fx.experimental: transformations of whole modules."""

from . import optimization as optimization
