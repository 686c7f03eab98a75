"""What an export raises."""

from __future__ import annotations

__all__ = ["OnnxExporterError"]


class OnnxExporterError(RuntimeError):
    """A model cannot be exported, or what exports it is not installed."""


OnnxExporterError.__module__ = "torchlike.onnx"
