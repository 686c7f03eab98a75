"""torch.compile: changes nothing about how a function runs, because the engine compiles whatever runs a second time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["BACKENDS", "MODULES", "InvalidBackend", "TorchDynamoException", "compile", "given_back"]

# The class of modules, and that of the modules around them. Modules are in a layer above, which enters them.
MODULES: dict[type, Callable[[object], object]] = {}

# Names that PyTorch takes for ``backend``. Here all mean XLA.
BACKENDS = ("cudagraphs", "inductor", "openxla", "tvm")
_DEBUG_BACKENDS = ("aot_eager", "aot_eager_decomp_partition", "eager", "onnxrt", "tensorrt", "torch_tensorrt")
MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


class TorchDynamoException(RuntimeError):
    """An error of the tracer."""


class InvalidBackend(TorchDynamoException):
    """There is no backend of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


TorchDynamoException.__module__ = InvalidBackend.__module__ = "torchlike._dynamo.exc"


def given_back(function: object = None) -> Any:
    """A function itself, or a decorator that gives it back."""
    return (lambda function_to_run: function_to_run) if function is None else function


def compile(
    model: Callable[..., object] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., object] | None = None,
    mode: str | None = None,
    options: dict[str, object] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: object = None,
) -> Any:
    """The function itself, a module around the module, or a decorator: steps are compiled whole without being told.

    Args:
        model: what to compile.
        fullgraph, dynamic, mode, options, name, disable, recompile_limit, isolate_recompiles, shapes_spec: how PyTorch would.
        backend: by which of PyTorch's compilers; here always by XLA.

    Raises:
        RuntimeError: both a mode and options, or a mode or a backend that PyTorch does not have.
        AssertionError: the argument is not callable.
        NotImplementedError: a backend of your own.

    >>> torch.compile(torch.exp)(torch.zeros(1))
    tensor([1.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.compile.html
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if callable(backend):
        raise NotImplementedError("torchlike does not support torch.compile with a backend of your own: XLA compiles")
    if backend is not None and backend not in BACKENDS + _DEBUG_BACKENDS:
        raise InvalidBackend(backend)
    if model is not None and not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if disable:
        return given_back(model)
    return _around if model is None else _around(model)


def _around(model: object) -> object:
    for kind, around in MODULES.items():
        if isinstance(model, kind):
            return around(model)
    return model
