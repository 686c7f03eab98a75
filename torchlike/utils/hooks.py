"""torch.utils.hooks: the handle of a registered hook."""

from .._core.node import RemovableHandle as RemovableHandle

__all__ = ["RemovableHandle"]
