"""torch.onnx: modules as ONNX models, where ``torchlike[onnx]`` is installed."""

from __future__ import annotations

from typing import NoReturn

from ._export import (
    OperatorExportTypes as OperatorExportTypes,
    TrainingMode as TrainingMode,
    export as export,
    is_in_onnx_export as is_in_onnx_export,
)
from ._jax2onnx import OnnxExporterError as OnnxExporterError
from ._program import ONNXProgram as ONNXProgram

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


class ExportableModule:
    """A module that says itself how it is exported.

    Raises:
        NotImplementedError: always.
    """

    def __init__(self, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError("torchlike does not support torch.onnx.ExportableModule: export takes any module")


_symbolic: dict[tuple[str, int], object] = {}


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: object, opset_version: int) -> None:
    """Keeps how an operator is to be written to a file. Libraries say so when they are imported; ``export`` does not need it."""
    _symbolic[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forgets what ``register_custom_op_symbolic`` keeps."""
    _symbolic.pop((symbolic_name, opset_version), None)
