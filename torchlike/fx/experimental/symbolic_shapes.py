"""Errors of sizes and elements on which an exported program would depend, and which sizes are none. Tracers keep no symbolic sizes."""

from __future__ import annotations

from ..._core.size import SymInt

__all__ = ["ConstraintViolationError", "GuardOnDataDependentSymNode", "is_nested_int"]


class ConstraintViolationError(RuntimeError):
    """A size is not what ``dynamic_shapes`` says."""


class GuardOnDataDependentSymNode(RuntimeError):
    """What an exported program does would depend on an element of a tensor."""


def is_nested_int(val: object) -> bool:
    """Whether a size is that of the dimension along which the parts of a jagged tensor differ.

    >>> n = torch.nested.nested_tensor([[1], [2, 3]], layout=torch.jagged)
    >>> [torch.fx.experimental.symbolic_shapes.is_nested_int(length) for length in n.shape]
    [False, True]
    """
    return isinstance(val, SymInt)
