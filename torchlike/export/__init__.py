"""torch.export: a module and example arguments become a graph of operators. Sizes that vary are named by ``Dim``."""

from __future__ import annotations

from typing import NoReturn

from ._archive import load as load, save as save
from ._program import ExportedProgram as ExportedProgram, draft_export as draft_export, export as export
from ._signature import (
    ArgumentSpec as ArgumentSpec,
    ConstantArgument as ConstantArgument,
    ExportGraphSignature as ExportGraphSignature,
    InputKind as InputKind,
    InputSpec as InputSpec,
    OutputKind as OutputKind,
    OutputSpec as OutputSpec,
    TensorArgument as TensorArgument,
)
from ._to_jax import export_jax as export_jax
from .dynamic_shapes import Dim as Dim, dims as dims

__all__ = [
    "Dim",
    "ExportGraphSignature",
    "ExportedProgram",
    "dims",
    "draft_export",
    "export",
    "load",
    "register_dataclass",
    "save",
    "unflatten",
]


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(f"torchlike does not support torch.export.{name}")


def unflatten(module: object, flat_args_adapter: object = None) -> NoReturn:
    """Raises: a program is not made into modules again."""
    _refuse("unflatten")


def register_dataclass(cls: object, *, serialized_type_name: str | None = None) -> None:
    """Does nothing: dataclasses need not be known beforehand where nothing is exported."""


for _public in (
    ExportGraphSignature,
    ExportedProgram,
    ConstantArgument,
    TensorArgument,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    export,
    export_jax,
    load,
    save,
):
    _public.__module__ = __name__  # users find them here
