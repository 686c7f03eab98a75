"""The exceptions of PyTorch's tracer, for programs that catch them. torchlike raises InvalidBackend and UserError."""

from ..compiler._compile import InvalidBackend as InvalidBackend, TorchDynamoException as TorchDynamoException

__all__ = [
    "BackendCompilerFailed",
    "InternalTorchDynamoError",
    "InvalidBackend",
    "RecompileError",
    "ShortenTraceback",
    "TorchDynamoException",
    "Unsupported",
    "UserError",
]


class InternalTorchDynamoError(TorchDynamoException):
    """A fault of the tracer."""


class ShortenTraceback(TorchDynamoException):
    """An error that is shown from the user's lines on."""


class BackendCompilerFailed(ShortenTraceback):
    """A fault of the compiler."""


class Unsupported(TorchDynamoException):
    """Something that the tracer cannot trace."""


class UserError(TorchDynamoException):
    """A fault of the program."""


class RecompileError(TorchDynamoException):
    """Something was compiled again where that was forbidden."""
