"""torch.compiler: what programs say about compiling. The engine compiles whatever runs a second time, so nothing changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import ContextDecorator, contextmanager
from types import SimpleNamespace
from typing import Any, NoReturn

from ._compile import BACKENDS, compile as compile, given_back

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "config", "cudagraph_mark_step_begin", "disable", "get_default_backend",
    "is_compiling", "is_dynamo_compiling", "is_exporting", "keep_portable_guards_unsafe", "keep_tensor_guards_unsafe", "list_backends",
    "load_cache_artifacts", "load_compiled_function", "nested_compile_region", "reset", "save_cache_artifacts", "set_default_backend",
    "set_enable_guard_collectives", "set_stance", "skip_all_guards_unsafe", "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe", "skip_guard_on_inbuilt_nn_modules_unsafe", "substitute_in_graph", "wrap_numpy",
]  # fmt: skip

# Settings of PyTorch's compiler. They are kept, and nothing reads them.
config = SimpleNamespace(job_id=None, dynamic_sources="", force_disable_caches=False, cudagraphs=False)


class _Exporting(threading.local):
    """Whether ``torch.export.export`` runs a module in this thread."""

    on = False


_exporting = _Exporting()


@contextmanager
def while_exporting() -> Iterator[None]:
    """Within it ``is_exporting`` is True."""
    before, _exporting.on = _exporting.on, True
    try:
        yield
    finally:
        _exporting.on = before


def is_compiling() -> bool:
    """Whether ``torch.export.export`` runs the program: ``torch.compile`` traces nothing.

    >>> torch.compiler.is_compiling()
    False
    """
    return _exporting.on


def is_dynamo_compiling() -> bool:
    """False: there is no such compiler."""
    return False


def is_exporting() -> bool:
    """Whether ``torch.export.export`` runs the program.

    >>> torch.compiler.is_exporting()
    False
    """
    return _exporting.on


def disable(
    fn: Callable[..., object] | None = None, recursive: bool = True, *, reason: str | None = None, **options: object
) -> Any:
    """The function itself, or a decorator. To run without the engine's compiling, use ``torch.op_by_op()``."""
    return given_back(fn)


def allow_in_graph(fn: Callable[..., object]) -> Any:
    """The function itself."""
    return fn


def assume_constant_result(fn: Callable[..., object]) -> Any:
    """The function itself."""
    return fn


def substitute_in_graph(original_fn: Callable[..., object], **options: object) -> Any:
    """A decorator that gives the function back: what runs is not traced, so nothing is put in another's place."""
    return given_back()


def nested_compile_region(fn: Callable[..., object] | None = None, **options: object) -> Any:
    """The function itself, or a decorator."""
    return given_back(fn)


def wrap_numpy(fn: Callable[..., object]) -> Callable[..., Any]:
    """A function over NumPy arrays as one over tensors. Gradients do not pass through it."""
    import functools

    from ..ops.creation.from_data import from_numpy

    @functools.wraps(fn)
    def wrapped(*args: object, **kwargs: object) -> Any:
        def array(value: Any) -> Any:
            return value.numpy() if hasattr(value, "numpy") else value

        result = fn(*map(array, args), **{name: array(value) for name, value in kwargs.items()})
        return tuple(map(from_numpy, result)) if isinstance(result, tuple) else from_numpy(result)

    return wrapped


def list_backends(exclude_tags: object = ("debug", "experimental")) -> list[str]:
    """The names that ``torch.compile`` takes for ``backend``. All mean XLA here."""
    return list(BACKENDS)


_default_backend = "inductor"


def set_default_backend(backend: str) -> None:
    """Sets what ``get_default_backend`` gives; XLA compiles in any case."""
    global _default_backend
    _default_backend = backend


def get_default_backend() -> str:
    """The backend that ``set_default_backend`` has set."""
    return _default_backend


class set_stance(ContextDecorator):
    """Says how PyTorch's compiler shall behave. It may be a context or a decorator, and changes nothing.

    Args:
        stance: "default", "eager_on_recompile", "fail_on_recompile", "force_eager" and so on.
    """

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: object = None
    ) -> None:
        if force_backend is not None and not isinstance(force_backend, str):
            raise NotImplementedError("torchlike does not support a backend of your own: XLA compiles")
        self.stance = stance

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Does nothing, and returns what it was: False."""
    return False


def cudagraph_mark_step_begin() -> None:
    """Does nothing: steps are found without being marked."""


def save_cache_artifacts() -> None:
    """None, as in PyTorch where nothing was compiled: programs are kept by JAX's compilation cache, if that is set."""


def load_cache_artifacts(serialized_artifacts: bytes) -> None:
    """None: there is nothing to be loaded."""


def load_compiled_function(file: object, **options: object) -> NoReturn:
    """Raises: torchlike writes no compiled functions."""
    raise NotImplementedError("torchlike does not support torch.compiler.load_compiled_function")


def _no_guards(guard_entries: Collection[object]) -> list[bool]:
    """Keeps no guards, since there are none."""
    return [False for _ in guard_entries]


keep_portable_guards_unsafe = keep_tensor_guards_unsafe = skip_all_guards_unsafe = _no_guards
skip_guard_on_all_nn_modules_unsafe = skip_guard_on_globals_unsafe = skip_guard_on_inbuilt_nn_modules_unsafe = (
    _no_guards
)


def reset() -> None:
    """Forgets the recorded paths and the programs compiled for them."""
    from ..engine.recorder import forget

    forget()
