"""torch.export: a module and example arguments become a graph of operators. Sizes are those of the arguments."""

from __future__ import annotations

import enum
from typing import NoReturn

from ._archive import load as load, save as save
from ._program import (
    ArgumentSpec as ArgumentSpec,
    ExportedProgram as ExportedProgram,
    ExportGraphSignature as ExportGraphSignature,
    InputKind as InputKind,
    InputSpec as InputSpec,
    OutputKind as OutputKind,
    OutputSpec as OutputSpec,
    draft_export as draft_export,
    export as export,
)

__all__ = [
    "Dim",
    "ExportGraphSignature",
    "ExportedProgram",
    "draft_export",
    "export",
    "load",
    "register_dataclass",
    "save",
    "unflatten",
]


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


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(f"torchlike does not support torch.export.{name}")


def unflatten(module: object, flat_args_adapter: object = None) -> NoReturn:
    """Raises: a program is not made into modules again."""
    _refuse("unflatten")


def register_dataclass(cls: object, *, serialized_type_name: str | None = None) -> None:
    """Does nothing: dataclasses need not be known beforehand where nothing is exported."""


def dims(*names: str, min: int | None = None, max: int | None = None) -> tuple[Dim, ...]:
    """Several dimensions."""
    return tuple(Dim(name, min=min, max=max) for name in names)


for _public in (
    ExportGraphSignature,
    ExportedProgram,
    ArgumentSpec,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    export,
    load,
    save,
):
    _public.__module__ = __name__  # users find them here
