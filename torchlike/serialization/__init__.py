"""torch.save and torch.load: checkpoints in PyTorch's own format, and what a file may use when it is loaded."""

from collections.abc import Callable
from typing import Any, TypeAlias

from ._load import get_unsafe_globals_in_checkpoint as get_unsafe_globals_in_checkpoint, load as load
from ._safe import (
    add_safe_globals as add_safe_globals,
    clear_safe_globals as clear_safe_globals,
    get_safe_globals as get_safe_globals,
    safe_globals as safe_globals,
)
from ._save import save as save

# What ``load`` takes as ``map_location``, for annotations.
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | str | dict[str, str] | None

__all__ = [
    "add_safe_globals", "clear_safe_globals", "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load", "safe_globals",
    "save",
]  # fmt: skip

# The classes and functions are defined in private files. Their module is this one, where users find them.
for _name in __all__:
    globals()[_name].__module__ = __name__
