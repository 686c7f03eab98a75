"""torch.onnx: names for programs that import them. torchlike writes no ONNX files, and export raises an error that says so."""

from __future__ import annotations

import enum
from typing import Any, NoReturn

__all__ = [
    "ExportableModule",
    "ONNXProgram",
    "OnnxExporterError",
    "OperatorExportTypes",
    "TrainingMode",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]


class OnnxExporterError(RuntimeError):
    """The base class of errors of an export."""


class OperatorExportTypes(enum.IntEnum):
    """The modes in which PyTorch exports operators."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TrainingMode(enum.IntEnum):
    """Whether a model is exported as it trains or as it is evaluated."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(
        f"torchlike does not support {what}: it writes no ONNX files. torch.save writes the weights, which PyTorch loads and exports"
    )


def export(model: object, args: object = (), f: object = None, **options: object) -> Any:
    """Raises NotImplementedError: ONNX files are not written here."""
    _refuse("torch.onnx.export")


class ONNXProgram:
    """The result of PyTorch's export.

    Raises:
        NotImplementedError: always.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        _refuse("torch.onnx.ONNXProgram")


class ExportableModule:
    """The options of PyTorch's export.

    Raises:
        NotImplementedError: always.
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        _refuse("torch.onnx.ExportableModule")


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: never."""
    return False


_symbolic: dict[tuple[str, int], object] = {}


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: object, opset_version: int) -> None:
    """Keeps how an operator is to be written to a file. Libraries say so when they are imported; ``export`` would read it."""
    _symbolic[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forgets what ``register_custom_op_symbolic`` keeps."""
    _symbolic.pop((symbolic_name, opset_version), None)
