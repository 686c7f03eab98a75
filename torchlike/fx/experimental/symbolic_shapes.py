"""The error for sizes that contradict what a program says about them. torchlike has no symbolic sizes."""

from __future__ import annotations

__all__ = ["ConstraintViolationError"]


class ConstraintViolationError(RuntimeError):
    """A size is not what ``dynamic_shapes`` says."""
