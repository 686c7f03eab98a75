"""The exceptions of PyTorch's tracer, for programs that catch them. torchlike raises InvalidBackend and UserError."""

from __future__ import annotations

from ..compiler._compile import InvalidBackend as InvalidBackend

__all__ = [
    "BackendCompilerFailed",
    "InternalTorchDynamoError",
    "InvalidBackend",
    "RecompileError",
    "TorchDynamoException",
    "Unsupported",
    "UserError",
]


class TorchDynamoException(RuntimeError):
    """An error of the tracer."""


class InternalTorchDynamoError(TorchDynamoException):
    """A fault of the tracer."""


class BackendCompilerFailed(TorchDynamoException):
    """A fault of the compiler."""


class Unsupported(TorchDynamoException):
    """Something that the tracer cannot trace."""


class UserError(Unsupported):
    """A fault of the program."""


class RecompileError(TorchDynamoException):
    """Something was compiled again where that was forbidden."""
