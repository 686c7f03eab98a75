"""Makes the public functions call ``__torch_function__``, from the moment on at which a program could override them.

A call of a public function is on the hot path of every program, and hardly any program overrides one. So the functions know nothing of
overriding until the first object of a subclass of Tensor that overrides is made, a mode is entered, an operator meets another object that
overrides, or ``torch.overrides`` is imported: ``activate``. Then each function
gets the code of ``_overridable`` below in place of its own, which it keeps as a copy. The function object stays the same: ``from torch
import add`` and tables by function, made before or after, hold what ``__torch_function__`` is given.
"""

from __future__ import annotations

import inspect
import threading
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from .._missing import DEFINED_IN, when_loaded
from ..engine.threads import held_by_forks
from .modes import DISPATCHED, dispatch_state, hooks, undispatched
from .python_functions import (
    BY_KEYWORD,
    FORMS_OF_OPERATORS,
    FORWARDED_TO_METHOD,
    IN_NN,
    MODES_ALONE,
    NEVER,
    PYTHON,
    RENAMED,
    REORDERED,
)
from .signatures import Args, Function, Kwargs
from .size import Size
from .torch_function import (
    ALL_OFF,
    PLAIN,
    ask,
    disabled_torch_function_impl,
    not_implemented,
    overloaded_arguments,
    overrides,
    refuse_dispatch,
    refuse_plainly,
    settings,
    take_slow_way,
    take_usual_way,
)

__all__ = [
    "MODES_ALONE",
    "OPERATORS",
    "activate",
    "defines_dispatch",
    "disabled_torch_dispatch_impl",
    "home_of",
    "is_active",
    "meet",
    "offer",
    "overridable_namespaces",
    "original_of",
    "overridable",
    "own_copy",
    "pop_dispatch_mode",
    "push_dispatch_mode",
    "route_of",
]

_offered: Kwargs = {}  # PyTorch's name of a namespace -> the namespace, which is a dict or a class
_routes: dict[FunctionType, Route] = {}
_activating = held_by_forks(threading.RLock())
active = False


def offer(name: str, namespace: object) -> None:
    """Makes the functions of a namespace overridable. ``name``: that of the namespace in PyTorch."""
    _offered[name] = namespace
    if active:
        _take(name, namespace)


def overridable_namespaces() -> Kwargs:
    """The namespaces with overridable functions."""
    return _offered


def own_copy(function: FunctionType) -> FunctionType:
    """A copy of a function, for a second public name that ``__torch_function__`` must be able to tell from the first."""
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(function.__dict__)
    copy.__doc__, copy.__annotations__ = function.__doc__, function.__annotations__
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy


def is_active() -> bool:
    """Whether ``activate`` has been called."""
    return active


def activate() -> None:
    """Makes public functions ask their arguments and the active modes from now on."""
    global active
    with _activating:
        if active:
            return
        active = True
        for name, namespace in _offered.items():
            _take(name, namespace)


def meet(kind: type) -> None:
    """Called before the first object of a subclass of Tensor is made: activates overriding if the subclass overrides."""
    if kind in _met:
        return
    if not active and kind not in PLAIN and overrides(kind):
        activate()
    if defines_dispatch(kind):
        meet_dispatching(kind)
    _met.add(kind)


_met: set[type] = set()


def disabled_torch_dispatch_impl(func: Function, types: object, args: Args = (), kwargs: Kwargs | None = None) -> Any:
    """Computes as for plain tensors. As ``__torch_dispatch__`` of a class: its objects are computed with as those are."""
    with undispatched():
        return func(*args, **(kwargs or {}))


def defines_dispatch(kind: Any) -> bool:
    """Whether objects of a subclass of Tensor see the operators that are called with them."""
    function = getattr(kind.__torch_dispatch__, "__func__", kind.__torch_dispatch__)
    return function is not disabled_torch_dispatch_impl


def meet_dispatching(kind: type) -> None:
    """Notes that there is an object of a subclass that defines ``__torch_dispatch__``."""
    hooks.load()
    activate()
    bases = kind.__mro__[: [base.__name__ for base in kind.__mro__].index("Tensor")]
    if not any("__torch_function__" in vars(base) for base in bases):
        kind.__torch_function__ = disabled_torch_function_impl  # pyright: ignore[reportAttributeAccessIssue]  # as in PyTorch
    with _activating:
        hooks.on += not DISPATCHED
        DISPATCHED.add(kind)


def push_dispatch_mode(mode: object) -> None:
    """Makes a mode of ``__torch_dispatch__`` the innermost of this thread."""
    hooks.load()
    activate()
    take_slow_way()
    with _activating:
        hooks.on += 1
    dispatch_state.stack = (*dispatch_state.stack, mode)


def pop_dispatch_mode() -> Any:
    """Takes the innermost mode of this thread off, and returns it."""
    *outer, mode = dispatch_state.stack
    dispatch_state.stack = tuple(outer)
    with _activating:
        hooks.on -= 1
    take_usual_way()
    return mode


def _take(space: str, namespace: object) -> None:
    names = namespace if isinstance(namespace, dict) else vars(namespace)
    for name, value in list(names.items()):
        if isinstance(value, FunctionType):
            _take_function(space, name, value, names)
        elif isinstance(value, property) and overridable(space, name, value):
            for part, function in (("__get__", value.fget), ("__set__", value.fset), ("__delete__", value.fdel)):
                if f"{space}.{name}.{part}" in NEVER:
                    continue
                if isinstance(function, FunctionType) and function not in _routes:
                    _redirect(function, Route(space, name, getattr(value, part), part))


def _take_function(space: str, name: str, function: FunctionType, names: Any) -> None:
    if function not in _routes and overridable(space, name, function):
        _redirect(function, Route(space, name, _function_for_override(space, name, function, names)))


def _take_later(module: str, name: str, value: object) -> None:
    """The same for a function that a module got after ``activate``, when a program first asked for it."""
    space = module.replace("torchlike", "torch", 1)
    with _activating:
        if active and space in _offered and isinstance(value, FunctionType):
            _take_function(space, name, value, _offered[space])


when_loaded(_take_later)


def overridable(space: str, name: str, value: object) -> bool:
    """Whether PyTorch asks ``__torch_function__`` when this is called."""
    if f"{space}.{name}" in NEVER or (name.startswith("_") and not name.startswith(("__", "_foreach_", "_assert"))):
        return f"{space}.{name}" in ("torch.Tensor._base", "torch.Tensor._version", "torch.Tensor._is_view")
    if space == "torch.nn.init":
        return name in PYTHON[space]
    # Names that a module gets when it is first asked for are Python's own functions in PyTorch, but for those of ``_VF``.
    if DEFINED_IN.get(space.replace("torch", "torchlike", 1), {}).get(name, "_VF") != "_VF":
        return False
    home = value.fget.__module__ if isinstance(value, property) else value.__module__
    return not home.startswith(("torchlike.engine", "torchlike.interop", "torchlike._missing"))


def _function_for_override(space: str, name: str, function: object, names: Any) -> Any:
    """The function that ``__torch_function__`` receives: the function itself, or for ``a + b`` the method ``Tensor.add``."""
    if space == "torch.Tensor":
        return names[FORMS_OF_OPERATORS.get(name, name)]
    if space == "torch.nn.functional" and name in FORWARDED_TO_METHOD:
        return vars(_offered["torch.Tensor"])[name]
    return function


class Route:
    """The slow way of one function: who is asked, with which arguments."""

    __slots__ = ("space", "name", "public", "part", "original", "python", "modes_alone", "unanswered", "parameters")

    def __init__(self, space: str, name: str, public: object, part: str = "") -> None:
        self.space, self.name, self.public, self.part = space, name, public, part
        self.python = name in PYTHON.get(space, ())
        self.modes_alone = f"{space}.{name}" in MODES_ALONE
        self.original: Any = None
        self.parameters: Any = None
        if name in OPERATORS:
            self.unanswered: Any = not_implemented
        elif self.python:
            self.unanswered = refuse_plainly(f"{home_of(space, name)}.{name}")
        else:
            self.unanswered = refuse_dispatch(_internal_name(space, name, part))

    def call(self, args: Args, kwargs: Kwargs) -> Any:
        off = settings.off
        if off == ALL_OFF:
            return self.run(args, kwargs)
        overloading = []
        if not off and not self.modes_alone:
            overloading = overloaded_arguments((*args, *kwargs.values()) if kwargs else args)
        if not overloading and not settings.stack:
            return self.run(args, kwargs)
        if self.python:
            arguments = self._as_python_gives_them(args, kwargs)
            if arguments is None:
                return self.original(*args, **kwargs)  # which raises the error for arguments that do not fit
            # PyTorch's Python counts Tensor itself among the types that override.
            several = [] if off else overloaded_arguments((*args, *kwargs.values()), _WITHOUT_TENSOR)
            kinds = tuple(map(type, several))
            implementations = several if overloading else overloading
            return ask(self.public, implementations, kinds, *arguments, self.unanswered, python=True)
        kinds = (type(args[0]),) if self.part else tuple(map(type, overloading))
        return ask(self.public, overloading, kinds, args, kwargs or None, self.unanswered)

    def run(self, args: Args, kwargs: Kwargs) -> Any:
        """What the function does where nobody overrides it, which a mode of ``__torch_dispatch__`` may see."""
        return hooks.call(self, args, kwargs) if hooks.on else self.original(*args, **kwargs)

    def _as_python_gives_them(self, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs] | None:
        """Required arguments by position, the others by keyword, defaults included: PyTorch's Python functions pass them on like this."""
        if self.parameters is None:
            self.parameters = inspect.signature(self.original)
        if self.name == "einsum" and len(args) == 2 and isinstance(args[1], (list, tuple)):
            args = (args[0], *args[1])
        try:
            bound_arguments = self.parameters.bind(*args, **kwargs)
        except TypeError:
            return None
        bound_arguments.apply_defaults()
        by_position: list[Any] = []
        by_keyword: Kwargs = {}
        all_by_keyword = self.space in BY_KEYWORD
        for name, value in bound_arguments.arguments.items():
            parameter = self.parameters.parameters[name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                by_position.extend(value)
            elif parameter.kind is parameter.VAR_KEYWORD:
                by_keyword.update(value)
            elif (
                parameter.default is parameter.empty
                and parameter.kind is not parameter.KEYWORD_ONLY
                and not all_by_keyword
            ):
                by_position.append(value)
            else:
                by_keyword[name] = value
        order = REORDERED.get(f"{self.space}.{self.name}")
        if order is not None:
            by_keyword = {name: by_keyword.get(name) for name in order}
        return tuple(by_position), by_keyword


OPERATORS = {
    f"__{prefix}{word}__"
    for word in (
        "add", "sub", "mul", "truediv", "div", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift", "matmul",
    )
    for prefix in ("", "r", "i")
} | {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}  # fmt: skip

_WITHOUT_TENSOR: set[type] = {int, float, bool, complex, str, type(None)}


def home_of(space: str, name: str) -> str:
    """The module that PyTorch says such a function is from."""
    python = name in PYTHON.get(space, ())
    if space == "torch" and python:
        return "torch.functional"
    if space == "torch.Tensor" and python:
        return "torch._tensor"
    return space


def _internal_name(space: str, name: str, part: str) -> str:
    """The name under which PyTorch's C++ knows a function, which its message gives."""
    if part:
        return f"{space}.{name}.{part}"
    if space in ("torch.linalg", "torch.fft", "torch.special"):
        return f"{space}.{space.removeprefix('torch.')}_{name}"
    if space == "torch.nn.functional":
        return f"torch.{'nn.' * (name in IN_NN)}{RENAMED.get(name, name)}"
    return f"{space}.{FORMS_OF_OPERATORS.get(name, name)}"


# Types of what is plain where its elements are.
_ROWS = frozenset({tuple, list, Size})


def _redirect(function: FunctionType, route: Route) -> None:
    """Puts the check before a function's own code, into the same function object."""
    route.original = own_copy(function)
    if not hasattr(function, "__wrapped__"):
        function.__wrapped__ = route.original  # pyright: ignore[reportFunctionMemberAccess]  # the signature is read from it
    _routes[function] = route
    code = _check_before(len(function.__code__.co_freevars)).replace(
        co_freevars=function.__code__.co_freevars, co_name=function.__name__, co_qualname=function.__qualname__
    )
    function.__kwdefaults__ = {
        "_plain": PLAIN, "_rows": _ROWS, "_kind": type, "_call": route.original, "_ask": route.call
    }  # fmt: skip
    function.__code__ = code


# The code of this function becomes the code of others and runs with their globals, so it may name nothing but its own parameters. It
# has as many free variables as the other has: without them it would not fill their cells, and who looks at the frame would crash.
_line = inspect.currentframe().f_lineno  # pyright: ignore[reportOptionalMemberAccess]  # so that tracebacks show it
_OVERRIDABLE = """
def outer({cells}):
    def _overridable(*args, _plain, _rows, _kind, _call, _ask, **kwargs):
        for arg in args:
            if arg.__class__ not in _plain and not (arg.__class__ in _rows and _plain.issuperset(map(_kind, arg))):
                return _ask(args, kwargs)
        if kwargs:
            for arg in kwargs.values():
                if arg.__class__ not in _plain and not (arg.__class__ in _rows and _plain.issuperset(map(_kind, arg))):
                    return _ask(args, kwargs)
        if not _plain:  # a mode is active somewhere
            return _ask(args, kwargs)
        return _call(*args, **kwargs)
        {cells}
    return _overridable
"""


@cache
def _check_before(count: int) -> CodeType:
    """The code that asks, with this many free variables."""
    cells = ", ".join(f"cell_{n}" for n in range(count))
    defined: dict[str, Any] = {}
    exec(compile("\n" * _line + _OVERRIDABLE.replace("{cells}", cells), __file__, "exec"), defined)
    return defined["outer"](*range(count)).__code__


def route_of(function: Any) -> Route | None:
    """The route by which a function asks; None where it does not ask, or not yet."""
    return _routes.get(function)


def original_of(function: Function) -> Function:
    """What a function does when nobody overrides it."""
    route = _routes.get(function)  # pyright: ignore[reportArgumentType]
    return function if route is None else route.original
