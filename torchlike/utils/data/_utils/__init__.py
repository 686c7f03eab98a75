"""torch.utils.data._utils: the parts of the loader that libraries take by name."""

from . import collate as collate
