"""torch.utils.hooks: the handle that registering a hook gives."""

from .._core.node import RemovableHandle as RemovableHandle

__all__ = ["RemovableHandle"]
