"""torch.export: raises errors, since torchlike does not make graphs of ATen operators."""

from __future__ import annotations

import enum
from typing import Any, NoReturn

__all__ = ["Dim", "ExportedProgram", "draft_export", "export", "load", "register_dataclass", "save", "unflatten"]


class _Hint(enum.Enum):
    AUTO = enum.auto()
    STATIC = enum.auto()
    DYNAMIC = enum.auto()


class Dim:
    """A dimension whose length is not known beforehand. It may be written down; ``export`` refuses.

    >>> torch.export.Dim("batch", min=1)
    Dim('batch', min=1, max=None)
    """

    AUTO, STATIC, DYNAMIC = _Hint.AUTO, _Hint.STATIC, _Hint.DYNAMIC

    def __init__(self, name: str, *, min: int | None = None, max: int | None = None) -> None:
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, min, max

    def __repr__(self) -> str:
        return f"Dim({self.__name__!r}, min={self.min}, max={self.max})"


class ExportedProgram:
    """The result of PyTorch's ``export``. torchlike makes none."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        _refuse("ExportedProgram")


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"torchlike does not support torch.export.{name}: it has no graphs of ATen operators. torch.fx.symbolic_trace makes a graph of "
        "PyTorch functions"
    )


def export(
    mod: object, args: object, kwargs: object = None, *, dynamic_shapes: object = None, **options: object
) -> NoReturn:
    """Raises: torchlike has no graphs of ATen operators."""
    _refuse("export")


def draft_export(mod: object, args: object, kwargs: object = None, **options: object) -> NoReturn:
    """Raises, as ``export``."""
    _refuse("draft_export")


def save(ep: object, f: object, **options: object) -> NoReturn:
    """Raises, as ``export``."""
    _refuse("save")


def load(f: object, **options: object) -> NoReturn:
    """Raises, as ``export``."""
    _refuse("load")


def unflatten(module: object, flat_args_adapter: object = None) -> NoReturn:
    """Raises, as ``export``."""
    _refuse("unflatten")


def register_dataclass(cls: object, *, serialized_type_name: str | None = None) -> None:
    """Does nothing: dataclasses need not be known beforehand where nothing is exported."""


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several dimensions."""
    return tuple(Dim(name, min=min, max=max) for name in names)
