"""Stands in for what PyTorch has and torchlike lacks: it can be imported, named and derived from, and raises where it is used.

Libraries import many names that a program never uses. With these a program comes as far as what it does itself, and the error then says
which name it was, and at which line.
"""

from __future__ import annotations

import contextlib
import enum
import sys
import typing
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

from .. import func
from .._missing import pytorch_names
from ..func import _deprecated as functorch
from ..nn.modules._optimized import OptimizedModule
from ..serialization._plain_pickles import PLAIN_PICKLES
from .dispatch_keys import DispatchKeySet
from .names import exports, is_module, kinds

__all__ = ["AbsentAttribute", "find", "spec_of_stand_in"]

PACKAGE = __name__.partition(".")[0]
# Replacements for names in PyTorch's inner modules, by module and name.
OWN: dict[tuple[str, str], object] = {
    **PLAIN_PICKLES,
    ("torch._C", "DispatchKeySet"): DispatchKeySet,
    **{
        ("torch._functorch.deprecated", name): getattr(func, name) for name in func.__all__
    },  # `from functorch import vmap`
    **{
        (f"torch._functorch.{module}", name): getattr(functorch, name)
        for module in ("deprecated", "make_functional")
        for name in functorch.__all__
    },
    ("torch._vmap_internals", "vmap"): func.vmap,
    ("torch._dynamo.eval_frame", "OptimizedModule"): OptimizedModule,
}


class AbsentAttribute(NotImplementedError, AttributeError):
    """The error for an attribute. It is an AttributeError as well, so that ``hasattr`` says what is there."""


def refuse(address: str, error: type[NotImplementedError] = NotImplementedError) -> NoReturn:
    """Raises the error for a use of what torchlike lacks."""
    raise error(
        f"{address}: PyTorch {pytorch_names()['version']} has it, torchlike does not support it yet (docs/coverage.md says what is "
        f"there). It was used in {_where()}"
    )


def _where() -> str:
    """The line of the program that led here: the innermost one outside torchlike."""
    frame = sys._getframe(1)
    while frame.f_back is not None and (frame.f_globals.get("__name__") or "").partition(".")[0] == PACKAGE:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}"


class _Loader:
    """Makes the module that stands in for one of PyTorch's."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module: Any = ModuleType(spec.name, "Of PyTorch; torchlike does not support it yet.")
        # What torchlike has in another place is found all the same.
        module.__path__, module.__getattr__ = [], partial(find, spec.name)
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


def spec_of_stand_in(name: str) -> ModuleSpec:
    """The import spec of the module that stands in for PyTorch's module of that name."""
    return ModuleSpec(name, _Loader(), is_package=True)  # pyright: ignore[reportArgumentType]


# ---- finding what a name means


def find(module: str, name: str) -> Any:
    """Finds or makes an object for a name that PyTorch's module has and torchlike's module lacks.

    Raises:
        AttributeError: PyTorch has nothing of that name either.
    """
    if name not in kinds(module) and is_module(f"{module}.{name}"):
        return import_module(f"{module}.{name}")
    if (module, name) in OWN:
        return OWN[module, name]
    if module == "torch._C" and name in ("_VariableFunctions", "_VariableFunctionsClass"):
        return sys.modules["torch"]  # where PyTorch's own functions come from, and what pickles of them say
    if name.startswith("_") or module.rpartition("._")[1]:  # imported only now: it needs much
        with contextlib.suppress(KeyError):
            return import_module(f"{__package__}.private_names").private_name(module, name)
    if name not in kinds(module):
        if not kinds(module) and (member := _above(module, name)) is not None:
            return member  # of this module nothing was recorded
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name, obj=sys.modules.get(module))
    return _stand_in(module, name)


def _above(module: str, name: str) -> Any:
    """Looks in the enclosing packages: ``torch.utils.tensorboard.writer.SummaryWriter`` is ``torch.utils.tensorboard.SummaryWriter``."""
    ours = sys.modules.get(f"{PACKAGE}{module.rpartition('.')[0].removeprefix('torch')}")
    return None if ours is None or name not in getattr(ours, "__all__", ()) else vars(ours)[name]


@cache  # so that the name means one object, wherever it is asked for
def _stand_in(module: str, name: str) -> Any:
    kind, more = kinds(module)[name]
    if kind in ("module", "from"):
        home, own = (more, None) if kind == "module" else more
        if not is_module(home):
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        return import_module(home) if own is None else getattr(import_module(home), own)
    replacement = _elsewhere(module, name)
    if replacement is None and kind in ("class", "error"):
        replacement = _above(module, name)
    return MAKERS[kind](module, name, more) if replacement is None else replacement


def _elsewhere(module: str, name: str) -> Any:
    """Looks in the modules that re-export a name: PyTorch defines ``InstanceNorm1d`` in ``torch.nn.modules.instancenorm``."""
    for place, known_as in exports().get((module, name), ()):
        ours = sys.modules.get(f"{PACKAGE}{place.removeprefix('torch')}")
        if ours is not None and known_as in vars(ours):
            return vars(ours)[known_as]
    return None


# ---- the kinds


def _class(module: str, name: str, more: object) -> type:
    def __new__(cls: type, *args: object, **kwargs: object) -> Any:
        refuse(f"{module}.{name}")

    def __class_getitem__(cls: type, item: object) -> type:  # in annotations
        return cls

    body = {"__new__": __new__, "__class_getitem__": classmethod(__class_getitem__), "__module__": module}
    return type(name, (), body | {"__doc__": "Of PyTorch; torchlike does not support it yet."})


def _error(module: str, name: str, base: str) -> type:
    import builtins

    return type(name, (getattr(builtins, base),), {"__module__": module})


def _enum(module: str, name: str, members: str) -> Any:
    return enum.Enum(name, members, module=module)


def _named(function: Callable[..., object], module: str, name: str) -> Callable[..., Any]:
    function.__module__, function.__name__, function.__qualname__ = module, name, name
    return function


def _is_predicate(name: str) -> bool:
    """Whether the name asks if something is there, as ``is_available`` does. Without it the answer is no."""
    return name.lstrip("_").startswith(("is_", "has_"))


def _function(module: str, name: str, more: object) -> Callable[..., Any]:
    is_predicate = _is_predicate(name)

    def refused(*args: object, **kwargs: object) -> Any:
        # What is asked of an argument, only PyTorch's function knows: whether two tensors share memory, say.
        if is_predicate and not args and not kwargs:
            return False
        refuse(f"{module}.{name}")

    return _named(refused, module, name)


def _decorator(module: str, name: str, more: object) -> Callable[..., Any]:
    def decorate(*args: object, **kwargs: object) -> Any:
        if len(args) == 1 and callable(args[0]):
            return args[0]
        refuse(f"{module}.{name}")

    return _named(decorate, module, name)


def _factory(module: str, name: str, more: object) -> Callable[..., Any]:
    def make(*args: object, **kwargs: object) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else lambda function: function

    return _named(make, module, name)


def _value(module: str, name: str, value: object) -> object:
    return False if isinstance(value, bool) and _is_predicate(name) else value


class StandInObject:
    """An object of PyTorch's: a logger, a dtype of quantized numbers."""

    def __init__(self, address: str) -> None:
        self.__dict__["_address"] = address

    def __repr__(self) -> str:
        return self._address

    def __getitem__(self, item: object) -> StandInObject:
        """The same, for annotations: ``BroadcastingList2[int]``."""
        return self

    def __call__(self, *args: object, **kwargs: object) -> Any:
        refuse(self._address)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{self._address} has no attribute {name!r}", name=name)
        refuse(f"{self._address}.{name}", AbsentAttribute)


MAKERS: dict[str, Callable[[str, str, Any], Any]] = {
    "class": _class,
    "error": _error,
    "enum": _enum,
    "function": _function,
    "decorator": _decorator,
    "factory": _factory,
    "value": _value,
    "type": lambda module, name, more: getattr(typing, name, Any),
    "thing": lambda module, name, more: StandInObject(f"{module}.{name}"),
}
