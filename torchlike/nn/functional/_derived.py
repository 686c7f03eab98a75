"""The functions of this namespace that follow from the declarations of operators alone."""

from ...dispatch.bindings import functional

_functions = functional()
globals().update(_functions)
__all__ = [*_functions]  # pyright: ignore[reportUnsupportedDunderAll]  # the stub lists them
