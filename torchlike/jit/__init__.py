"""torch.jit: returns functions and modules unchanged, since the engine compiles what is run."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace, UnionType
from typing import (  # noqa: UP035  # programs take some from here
    Any,
    Final as Final,
    List,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from ..futures import Future as Future
from ..nn import Module
from ._archive import (
    ScriptFunction as ScriptFunction,
    ScriptModule as ScriptModule,
    as_script,
    load as load,
    save as save,
)
from ._traced import _Fixed as _Fixed, is_tracing as is_tracing, traced, traced_module, while_tracing

__all__ = [
    "Attribute",
    "Error",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]


def _get_trace_graph(f: Any, *args: Any, **kwargs: Any) -> Any:
    """The graph of a call and what it returns: see ``_trace_graph.py``."""
    from . import _trace_graph  # it overrides functions: from its import on each call asks whether one is overridden

    return _trace_graph._get_trace_graph(f, *args, **kwargs)


_T = TypeVar("_T")
_ModuleT = TypeVar("_ModuleT", bound=Module)


def script(
    obj: object, optimize: None = None, _frames_up: int = 0, _rcb: object = None, example_inputs: object = None
) -> Any:
    """A function, module or class itself: it runs as Python, recorded and compiled as everything is.

    Functions and modules then have ``save``, and are instances of ``ScriptFunction`` and ``ScriptModule``.

    >>> torch.jit.script(torch.nn.ReLU())(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.jit.script.html
    """
    return as_script(obj)


def trace(
    func: Any, example_inputs: object = None, *args: object, example_kwarg_inputs: Any = None, **options: object
) -> Any:
    """A function or module as it is now, after a run on the examples.

    A module is copied with the same parameters and buffers. It stays in training or evaluation, keeps the attributes that it has, and runs
    with the autocast under which it was traced. Unlike a trace it still takes all its branches, and ``no_grad`` in it is kept.

    Raises:
        RuntimeError: no examples.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.jit.trace.html
    """
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("example_inputs and example_kwarg_inputs cannot both be None")
    inputs = (
        example_inputs
        if builtins.isinstance(example_inputs, (tuple, list))
        else ()
        if example_inputs is None
        else (example_inputs,)
    )
    result = traced_module(func, ["forward"]) if builtins.isinstance(func, Module) else traced(func)
    with while_tracing({}):
        func(*inputs, **(example_kwarg_inputs or {}))
    return as_script(result)


def annotate(the_type: object, the_value: _T) -> _T:
    """The value itself: types say nothing to the engine."""
    return the_value


def freeze(mod: _ModuleT, preserved_attrs: object = None, optimize_numerics: bool = True) -> _ModuleT:
    """A module in evaluation mode, unchanged.

    Raises:
        RuntimeError: it is in training mode.
    """
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before freezing."
        )
    return mod


def optimize_for_inference(mod: _T, other_methods: object = None) -> _T:
    """A module, unchanged."""
    return mod


def ignore(drop: object = False, **kwargs: object) -> Any:
    """Decorates what a script leaves to Python: as all is left to Python, it stays as it is."""
    return drop if callable(drop) else lambda function: function


def export(fn: _T) -> _T:
    """Decorates what a script compiles as well: it stays as it is."""
    return fn


def unused(fn: _T) -> _T:
    """Decorates what a script must not call: it stays as it is."""
    return fn


def is_scripting() -> bool:
    """Whether this runs as a script: never."""
    return False


def trace_module(mod: Any, inputs: dict[str, object], *args: object, **options: object) -> Any:
    """A module as it is now, after a run of each method on its examples; see ``trace``.

    Args:
        inputs: the examples by the name of the method.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.jit.trace_module.html
    """
    result = traced_module(mod, list(inputs))
    with while_tracing({}):
        for method, examples in inputs.items():
            function = mod if method == "forward" else getattr(mod, method)
            function(*(examples if builtins.isinstance(examples, tuple) else (examples,)))
    return as_script(result)


def script_if_tracing(fn: _T) -> _T:
    """Decorates what a trace compiles as a script: it stays as it is."""
    return fn


def interface(obj: _T) -> _T:
    """Decorates an interface of modules for scripts: it stays as it is."""
    return obj


def fork(func: Callable[..., _T], *args: object, **kwargs: object) -> Future[_T]:
    """A future with what the function gives: it runs at once.

    >>> torch.jit.wait(torch.jit.fork(torch.add, torch.ones(1), 1))
    tensor([2.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.jit.fork.html
    """
    future: Future[_T] = Future()
    try:
        future.set_result(func(*args, **kwargs))
    except Exception as error:
        future.set_exception(error)
    return future


def wait(future: Future[_T]) -> _T:
    """The result of a forked function.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.jit.wait.html
    """
    return future.wait()


def isinstance(obj: object, target_type: Any) -> bool:
    """Whether an object is of a type, which may be a container with the types of its elements.

    >>> torch.jit.isinstance([1, 2], list[int]), torch.jit.isinstance([1, "a"], list[int])
    (True, False)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.jit.isinstance.html
    """
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, item) for item in target_type)
    origin, inner = get_origin(target_type), get_args(target_type)
    if origin is None:
        return obj is None if target_type is None else builtins.isinstance(obj, target_type)
    if origin in (Union, UnionType):
        return any(isinstance(obj, item) for item in inner)
    if not builtins.isinstance(obj, origin):
        return False
    if builtins.isinstance(obj, dict):
        return all(isinstance(key, inner[0]) and isinstance(value, inner[1]) for key, value in obj.items())
    if builtins.isinstance(obj, tuple):
        return len(obj) == len(inner) and all(isinstance(*pair) for pair in zip(obj, inner, strict=True))
    items: Any = obj
    return all(isinstance(item, inner[0]) for item in items)


@contextlib.contextmanager
def strict_fusion() -> Iterator[None]:
    """Does nothing: XLA fuses what runs."""
    yield


@contextlib.contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """Does nothing: the engine optimises what runs, scripted or not."""
    yield


@contextlib.contextmanager
def fuser(name: str) -> Iterator[None]:
    """Does nothing: XLA fuses what runs.

    Raises:
        Exception: PyTorch has no fuser of that name.
    """
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3", "none"):
        raise Exception(f"unrecognized fuser option (name: {name})")
    yield


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Keeps the setting, without effect; returns the one before."""
    before, _Strategy.chosen = _Strategy.chosen, strategy
    return before


class _Strategy:
    chosen: list[tuple[str, int]] = [("STATIC", 2), ("DYNAMIC", 10)]


def enable_onednn_fusion(enabled: bool) -> None:
    """Does nothing: how programs are compiled is the engine's choice."""


def onednn_fusion_enabled() -> bool:
    """False."""
    return False


class Error(RuntimeError):
    """PyTorch's error for a failed script. Here a scripted function raises its own errors."""


class TracerWarning(Warning):
    """PyTorch's warning about traces that are wrong for other inputs. torchlike never issues it: a trace takes all branches."""


class Attribute(NamedTuple):
    """A value of a module with its type for a script, which is not needed here."""

    value: Any
    type: Any


def script_method(fn: _T) -> _T:
    """Decorates a method that a script compiles: it stays as it is."""
    return fn


def _overload(func: _T) -> _T:
    """Decorates a signature for scripts, which another function of the same name follows."""
    return func


def _overload_method(func: _T) -> _T:
    """Decorates a signature for scripts, which another method of the same name follows."""
    return func


annotations = SimpleNamespace(List=List)  # noqa: UP006  # torch.jit.annotations, of which programs take this

for _public in (ScriptFunction, ScriptModule, is_tracing, load, save):
    _public.__module__ = __name__  # users find them here
