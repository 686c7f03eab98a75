"""torch.return_types: the named tuples that ops with several results return."""

from .dispatch.return_types import *  # noqa: F403  # one name an op, in the table there
