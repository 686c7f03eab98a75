"""torch.overrides: functions for programs that implement or inspect ``__torch_function__``."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from typing import Any, Self

from ._core import overridable as _overridable, torch_function as _protocol
from ._core.signatures import Args, Function, Kwargs
from ._core.subclasses import nowrap_functions
from ._core.tensor import Tensor
from ._core.torch_function import push_mode as _push_mode
from ._missing import DEFINED_IN

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

_enable_torch_function = _protocol.EnableTorchFunction
_overridable.activate()  # who imports this is about to override functions


def has_torch_function(relevant_args: Iterable[object]) -> bool:
    """Whether one of the arguments overrides functions, or a mode is active.

    Source: https://docs.pytorch.org/docs/stable/torch.overrides.html#torch.overrides.has_torch_function
    """
    if not hasattr(relevant_args, "__iter__"):
        raise TypeError("expected a sequence")
    settings = _protocol.settings
    if settings.off == _protocol.ALL_OFF:
        return False
    if settings.stack:
        return True
    return not settings.off and any(_is_override(type(arg)) for arg in relevant_args)


def _is_override(kind: type) -> bool:
    # A strided nested tensor is a plain tensor in PyTorch, and a class of its own here.
    return kind is not Tensor and not getattr(kind, "_plain_elsewhere", False) and _protocol.overrides(kind)


def has_torch_function_unary(argument: object) -> bool:
    """``has_torch_function`` for one argument."""
    return has_torch_function((argument,))


def has_torch_function_variadic(*arguments: object) -> bool:
    """``has_torch_function`` for several arguments."""
    return has_torch_function(arguments)


def handle_torch_function(
    public_api: Function, relevant_args: Iterable[object], *args: object, **kwargs: object
) -> Any:
    """Lets the active mode, or the arguments that override functions, answer a call of a function of yours.

    Args:
        public_api: the function, as they are given it.
        relevant_args: the arguments that may override.
        args, kwargs: those of the call.

    Raises:
        TypeError: none of them has an answer.

    Source: https://docs.pytorch.org/docs/stable/torch.overrides.html#torch.overrides.handle_torch_function
    """
    overloading = _get_overloaded_args(relevant_args)
    name = f"{_module_of(public_api)}.{getattr(public_api, '__name__', public_api)}"
    kinds = tuple(map(type, overloading))
    return _protocol.ask(public_api, overloading, kinds, args, kwargs, _protocol.refuse_plainly(name), python=True)


def _module_of(function: object) -> str:
    route = _overridable.route_of(function) if isinstance(function, types.FunctionType) else None
    if route is not None:
        return _overridable.home_of(route.space, route.name)
    return str(getattr(function, "__module__", None)).replace("torchlike", "torch", 1)


def _get_overloaded_args(relevant_args: Iterable[object], get_type_fn: Callable[..., type] = type) -> list[object]:
    if _protocol.settings.off:
        return []
    unique: list[object] = []
    for arg in relevant_args:
        if _protocol.overrides(get_type_fn(arg)):
            _protocol.add_overloading(unique, arg)
    return unique


def wrap_torch_function(dispatcher: Callable[..., Iterable[object]]) -> Function:
    """Makes a function of yours overridable.

    Args:
        dispatcher: takes the function's arguments, and returns those that may override.

    >>> @torch.overrides.wrap_torch_function(lambda a: (a,))
    ... def doubled(a):
    ...     return a + a
    >>> doubled(torch.ones(1))
    tensor([2.])

    Source: https://docs.pytorch.org/docs/stable/torch.overrides.html#torch.overrides.wrap_torch_function
    """

    def inner(func: Function) -> Function:
        @functools.wraps(func)
        def wrapped(*args: object, **kwargs: object) -> Any:
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                return handle_torch_function(wrapped, relevant_args, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return inner


def is_tensor_like(inp: object) -> bool:
    """Whether it is a tensor, or of a class that defines ``__torch_function__``."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


@functools.cache
def get_ignored_functions() -> set[Function]:
    """The public functions of which ``__torch_function__`` is not asked."""
    ignored: set[Any] = set()
    for space, name, value in _public():
        alone = f"{space}.{name}" in _overridable.MODES_ALONE
        if isinstance(value, types.FunctionType) and (alone or not _overridable.overridable(space, name, value)):
            ignored.add(value)
    return ignored


def _public() -> Iterable[tuple[str, str, Any]]:
    """Namespace, name and object of everything that could be overridden."""
    for name, module in DEFINED_IN["torchlike"].items():  # what ``torch`` gets when it is first asked for
        if module == "_VF":
            getattr(_home("torch"), name)
    for space, namespace in _overridable.overridable_namespaces().items():
        for name, value in (namespace if isinstance(namespace, dict) else vars(namespace)).items():
            if space == "torch.nn.init" and not name.endswith("_"):
                continue  # what that file imports
            if isinstance(value, (types.FunctionType, property)):
                yield space, name, value


@functools.cache
def _names() -> dict[object, str]:
    """The public name of each overridable function. Of several names it is the first."""
    names: dict[object, str] = {}
    for space, name, value in _public():
        if isinstance(value, property):
            for part, function in (("__get__", value.fget), ("__set__", value.fset), ("__delete__", value.fdel)):
                if function is not None:
                    names[getattr(value, part)] = f"{space}.{name}.{part}"
        else:
            home = "torch.functional" if space == "torch" and _overridable.home_of(space, name) != space else space
            names.setdefault(value, f"{home}.{name}")
    return names


def resolve_name(f: Function | str) -> str | None:
    """The name under which users know a function: ``torch.Tensor.add``. None where it is not one of PyTorch's.

    >>> torch.overrides.resolve_name(torch.Tensor.shape.__get__)
    'torch.Tensor.shape.__get__'
    """
    if isinstance(f, str):
        return f
    try:
        return _names().get(f)
    except TypeError:
        return None


def get_overridable_functions() -> dict[Any, list[Function]]:
    """The functions that can be overridden, by the module or the class that has them.

    Source: https://docs.pytorch.org/docs/stable/torch.overrides.html#torch.overrides.get_overridable_functions
    """
    functions: dict[Any, list[Any]] = {}
    for space, name, value in _public():
        if f"{space}.{name}" in _overridable.MODES_ALONE or not _overridable.overridable(space, name, value):
            continue
        if isinstance(value, property):
            functions.setdefault(value, []).append(value.__get__)
        else:
            functions.setdefault(_home(space), []).append(value)
    return functions


def _home(space: str) -> object:
    """The module or the class that programs know by this name; that of ``torch`` is not torchlike itself after ``alias()``."""
    if space == "torch.Tensor":
        return Tensor
    torch = sys.modules.get("torch")
    if space == "torch" and torch is not None and vars(torch).get("Tensor") is Tensor:
        return torch
    return sys.modules[space.replace("torch", "torchlike", 1)]


def get_testing_overrides() -> dict[Function, Function]:
    """For each function that can be overridden, one of the same parameters that returns -1.

    Source: https://docs.pytorch.org/docs/stable/torch.overrides.html#torch.overrides.get_testing_overrides
    """
    return {
        function: _stand_in(function) for functions in get_overridable_functions().values() for function in functions
    }


def _stand_in(function: Any) -> Function:
    import inspect

    def stand_in(*args: object, **kwargs: object) -> int:
        return -1

    try:
        stand_in.__signature__ = inspect.signature(function)  # pyright: ignore[reportFunctionMemberAccess]
    except (TypeError, ValueError):
        stand_in.__signature__ = inspect.Signature(  # pyright: ignore[reportFunctionMemberAccess]
            [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        )
    return stand_in


def is_tensor_method_or_property(func: Function) -> bool:
    """Whether a function that ``__torch_function__`` was given is a method of Tensor, or the getter of a property."""
    return getattr(func, "__name__", "") == "__get__" or str(resolve_name(func)).startswith("torch.Tensor.")


def get_default_nowrap_functions() -> set[Function]:
    """The functions whose result ``Tensor.__torch_function__`` does not turn into an object of the subclass."""
    return nowrap_functions()


def redispatch_function(func: Function, types: object, args: Args = (), kwargs: Any = None) -> Any:
    """Calls a function from within ``__torch_function__`` as if no subclass overrode it."""
    with _protocol.DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


@contextmanager
def enable_reentrant_dispatch() -> Any:
    """Raises: it is for ``__torch_dispatch__``, which nothing calls here."""
    raise RuntimeError("Accessing torch dispatch state outside of '__torch_dispatch__' is not allowed.")
    yield


class TorchFunctionMode:
    """A context in which ``__torch_function__`` of this object is asked about every call of a public function.

    >>> class Loud(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(torch.overrides.resolve_name(func))
    ...         return func(*args, **(kwargs or {}))
    >>> with Loud():
    ...     x = torch.zeros(2) + 1
    torch.zeros
    torch.Tensor.add

    Source: https://docs.pytorch.org/docs/stable/torch.overrides.html#torch.overrides.TorchFunctionMode
    """

    inner: TorchFunctionMode

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Function, types: object, args: Args = (), kwargs: Kwargs | None = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        _push_mode(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _protocol.pop_mode()

    @classmethod
    def push(cls, *args: object, **kwargs: object) -> Self:
        """An object of the class. PyTorch keeps this for old programs, with a warning."""
        import warnings

        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Function, types: object, args: Args = (), kwargs: Kwargs | None = None) -> Any:
        return func(*args, **(kwargs or {}))


def _len_torch_function_stack() -> int:
    return len(_protocol.settings.stack)


def _get_function_stack_at(at: int) -> Any:
    return _protocol.settings.stack[at]


def _get_current_function_mode() -> TorchFunctionMode | None:
    stack = _protocol.settings.stack
    return stack[-1] if stack else None


def _get_current_function_mode_stack() -> list[object]:
    return list(_protocol.settings.stack)


def _is_torch_function_mode_enabled() -> bool:
    return bool(_protocol.settings.stack) and _protocol.settings.off != _protocol.ALL_OFF


def _pop_mode() -> Any:
    return _protocol.pop_mode()


@contextmanager
def _pop_mode_temporarily() -> Any:
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)
