"""torch.jit: scripts and traces are the functions and modules themselves, since the engine compiles what is run."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final as Final, List, NamedTuple  # noqa: UP035  # programs take them from here

from .nn import Module

__all__ = [
    "Attribute",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "export",
    "freeze",
    "ignore",
    "is_scripting",
    "is_tracing",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_method",
    "trace",
    "unused",
]


def script(
    obj: object, optimize: None = None, _frames_up: int = 0, _rcb: object = None, example_inputs: object = None
) -> Any:
    """A function, module or class, unchanged: it runs as Python, recorded and compiled as everything is.

    >>> torch.jit.script(torch.nn.ReLU())(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.jit.script.html
    """
    return obj


def trace(
    func: Any, example_inputs: object = None, *args: object, example_kwarg_inputs: Any = None, **options: object
) -> Any:
    """A function or module, unchanged after a run on the examples. Unlike a trace it still takes all its branches.

    Raises:
        RuntimeError: no examples.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.jit.trace.html
    """
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("example_inputs and example_kwarg_inputs cannot both be None")
    inputs = (
        example_inputs
        if isinstance(example_inputs, (tuple, list))
        else ()
        if example_inputs is None
        else (example_inputs,)
    )
    func(*inputs, **(example_kwarg_inputs or {}))
    return func


def annotate(the_type: object, the_value: object) -> Any:
    """The value itself: types say nothing to the engine."""
    return the_value


def freeze(mod: Any, preserved_attrs: object = None, optimize_numerics: bool = True) -> Any:
    """A module in evaluation mode, unchanged.

    Raises:
        RuntimeError: it is in training mode.
    """
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before freezing."
        )
    return mod


def optimize_for_inference(mod: object, other_methods: object = None) -> Any:
    """A module, unchanged."""
    return mod


def ignore(drop: object = False, **kwargs: object) -> Any:
    """Decorates what a script leaves to Python: as all is left to Python, it stays as it is."""
    return drop if callable(drop) else lambda function: function


def export(fn: Callable[..., object]) -> Callable[..., Any]:
    """Decorates what a script compiles as well: it stays as it is."""
    return fn


def unused(fn: Callable[..., object]) -> Callable[..., Any]:
    """Decorates what a script must not call: it stays as it is."""
    return fn


def is_scripting() -> bool:
    """Whether this runs as a script: never."""
    return False


def is_tracing() -> bool:
    """Whether this runs under a trace: never."""
    return False


def save(m: object, f: object, _extra_files: object = None) -> None:
    """Raises NotImplementedError: there are no TorchScript archives. ``torch.save`` writes the module or its ``state_dict``."""
    raise NotImplementedError(
        "torchlike does not support TorchScript archives: torch.save writes a module or its state_dict"
    )


def load(f: object, map_location: object = None, _extra_files: object = None, _restore_shapes: bool = False) -> Any:
    """Raises NotImplementedError: TorchScript archives hold programs in a language that is not read here."""
    raise NotImplementedError(
        "torchlike does not support TorchScript archives: torch.load reads modules and state_dicts"
    )


class TracerWarning(Warning):
    """What PyTorch's tracer says of a trace that would be wrong for other inputs. There are no such traces here."""


class Attribute(NamedTuple):
    """A value of a module with its type for a script, which is not needed here."""

    value: Any
    type: Any


class ScriptModule(Module):
    """A module written for scripts: a module as all are."""


def script_method(fn: Callable[..., object]) -> Callable[..., Any]:
    """Decorates a method that a script compiles: it stays as it is."""
    return fn


def _overload(func: Callable[..., object]) -> Callable[..., Any]:
    """Decorates a signature for scripts, which another function of the same name follows."""
    return func


def _overload_method(func: Callable[..., object]) -> Callable[..., Any]:
    """Decorates a signature for scripts, which another method of the same name follows."""
    return func


annotations = SimpleNamespace(List=List)  # noqa: UP006  # torch.jit.annotations, of which programs take this
