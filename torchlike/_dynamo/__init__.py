"""torch._dynamo: what programs tell PyTorch's tracer. The engine compiles what runs, so there is nothing to be told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NoReturn

from ..compiler import (
    allow_in_graph as allow_in_graph,
    assume_constant_result as assume_constant_result,
    disable as disable,
    is_compiling as is_compiling,
    list_backends as list_backends,
    reset as reset,
    set_stance as set_stance,
    substitute_in_graph as substitute_in_graph,
)
from ..compiler._compile import given_back
from . import config as config, exc as exc, utils as utils

__all__ = [
    "allow_in_graph", "assume_constant_result", "disable", "disallow_in_graph", "error_on_graph_break", "explain", "export",
    "forbid_in_graph", "graph_break", "is_compiling", "is_dynamo_supported", "is_inductor_supported", "list_backends", "lookup_backend",
    "mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic", "nonstrict_trace", "optimize", "optimize_assert",
    "register_backend", "reset", "run", "set_stance", "substitute_in_graph",
]  # fmt: skip


def optimize(*args: object, **kwargs: object) -> Callable[..., Any]:
    """The old form of ``torch.compile``: a decorator that gives the function back."""
    return given_back()


def optimize_assert(*args: object, **kwargs: object) -> Callable[..., Any]:
    """As ``optimize``."""
    return given_back()


def run(fn: object = None) -> Any:
    """The function itself, or a decorator."""
    return given_back(fn)


def disallow_in_graph(fn: object) -> Any:
    """The function itself."""
    return fn


def forbid_in_graph(fn: object) -> Any:
    """The function itself."""
    return fn


def nonstrict_trace(traceable_fn: object) -> Any:
    """The function itself."""
    return traceable_fn


def graph_break(msg: str = "") -> None:
    """Does nothing: what runs is not traced."""


def error_on_graph_break(error_on_graph_break: bool) -> nullcontext[None]:
    """A context that changes nothing."""
    return nullcontext()


def mark_dynamic(
    t: object,
    index: object,
    *,
    hint_override: object = None,
    min: object = None,
    max: object = None,
    specialize_on: object = None,
) -> None:
    """Does nothing: every new shape is compiled for itself once that pays."""


def maybe_mark_dynamic(t: object, index: object) -> None:
    """As ``mark_dynamic``."""


def mark_static(t: object, index: object = None) -> Any:
    """Does nothing; a class is given back."""
    return t if isinstance(t, type) else None


def mark_static_address(t: object, guard: bool = False) -> None:
    """Does nothing."""


def is_dynamo_supported() -> bool:
    """False: nothing is traced."""
    return False


def is_inductor_supported() -> bool:
    """False: XLA compiles."""
    return False


def register_backend(compiler_fn: object = None, name: str | None = None, tags: object = ()) -> NoReturn:
    """Raises: XLA compiles."""
    raise NotImplementedError("torchlike does not support torch._dynamo.register_backend: XLA compiles")


def lookup_backend(compiler_fn: object) -> NoReturn:
    """Raises: XLA compiles."""
    raise NotImplementedError("torchlike does not support torch._dynamo.lookup_backend: XLA compiles")


def explain(f: object, *extra_args: object, **extra_kwargs: object) -> NoReturn:
    """Raises: ``torch.explain()`` says what the engine has compiled."""
    raise NotImplementedError(
        "torchlike does not support torch._dynamo.explain: torch.explain() says what was compiled"
    )


def export(f: object, *extra_args: object, **extra_kwargs: object) -> NoReturn:
    """Raises: there is no traced graph. ``torch.fx.symbolic_trace`` makes one."""
    raise NotImplementedError("torchlike does not support torch._dynamo.export: torch.fx.symbolic_trace makes a graph")
