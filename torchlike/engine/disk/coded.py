"""Keys and traces as bytes. What they consist of is written down by kind; anything else is refused, so nothing is kept by its looks.

No pickles: what is read back are numbers, strings, arrays, sequences, and classes of the libraries named below. Reading runs no code.
"""

from __future__ import annotations

import functools
import importlib
import marshal
import os
import sys
from collections.abc import Callable
from enum import Enum
from types import FunctionType
from typing import Any, NoReturn

import ml_dtypes
import numpy as np
from jax.dtypes import float0

# Written by ``marshal`` as they are, and read back as equal ones.
_SIMPLE = frozenset((type(None), type(...), bool, int, float, complex, str, bytes))
# Classes are named by module and name. Those of others may mean something else in the next process.
_LIBRARIES = frozenset(("builtins", "jax", "jaxlib", "ml_dtypes", "numpy", "torchlike", "types"))
PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The version of marshal's format in which equal values have equal bytes: later ones write an object that occurs twice only once.
_CANONICAL = 0


class NotKept(Exception):
    """A value has no form as bytes, or the bytes are not those of a value."""


class _Absent:
    """Stands for something that is not kept. Whoever looks at it is told so."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        raise NotKept("it is absent")

    def _refuse(self, *_: object) -> NoReturn:
        raise NotKept("it is absent")

    __call__ = __iter__ = __bool__ = __len__ = __getitem__ = _refuse


ABSENT = _Absent()
# Values of other classes in keys: by class, a name for it and the value as a simpler one. Entered by the files that put them into keys.
described: dict[type, tuple[str, Callable[[Any], object]]] = {}


def name_in_package(thing: object) -> str:
    """Module and name of a function or class that this package's files define on their top level; empty for others."""
    name = getattr(thing, "__qualname__", "")
    # The module's name may be "torch.optim.adam", where this package is called so.
    module = sys.modules.get(getattr(thing, "__module__", ""))
    if module is None or not (getattr(module, "__file__", None) or "").startswith(PACKAGE + os.sep):
        return ""
    return f"{module.__name__}.{name}" if getattr(module, name, None) is thing else ""


def known_name(thing: object) -> str:
    """The same name.

    Raises:
        NotKept: it has none.
    """
    name = name_in_package(thing)
    if not name:
        raise NotKept(f"{thing!r}")
    return name


def key_bytes(key: object) -> bytes:
    """A key as bytes: equal ones for equal keys.

    Raises:
        NotKept: something in it has no such form.
    """
    return marshal.dumps(coded(key), _CANONICAL)


def coded(value: Any) -> Any:
    """A value as numbers, strings, bytes and tuples, which ``marshal`` writes. What is a tuple then begins with the letter of its kind.

    Raises:
        NotKept: it is of another kind.
    """
    kind = value.__class__
    if kind in _SIMPLE:
        return value
    if kind is tuple:
        parts = tuple([part if part.__class__ in _SIMPLE else coded(part) for part in value])
        for part, before in zip(parts, value, strict=True):
            if part.__class__ is tuple and not (part[0] == "s" and part[1] is before):
                return "t", *parts
        return "s", value
    if kind is type:
        return _coded_class(value)
    if isinstance(value, np.dtype):
        return _coded_dtype(value)
    if kind is FunctionType:
        return "f", known_name(value)
    if kind is list:
        return "l", *map(coded, value)
    if kind is dict:
        return "d", tuple(value), *map(coded, value.values())
    if kind in described:
        name, simpler = described[kind]
        return "o", name, coded(simpler(value))
    if kind is np.ndarray:
        return "a", _coded_dtype(value.dtype), value.shape, value.tobytes()
    if isinstance(value, np.generic):
        return "g", _coded_dtype(value.dtype), value.tobytes()
    if isinstance(value, type):
        return _coded_class(value)
    if isinstance(value, Enum):
        return "e", _coded_class(kind), value.name
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return "n", _coded_class(kind), *map(coded, value)
    if value is ABSENT:
        return ("x",)
    raise NotKept(f"a {kind.__module__}.{kind.__qualname__}")


@functools.cache
def _coded_dtype(dtype: np.dtype) -> tuple[str, str]:
    name = "float0" if dtype == float0 else dtype.name
    if _dtype(name) != dtype:
        raise NotKept(f"the dtype {dtype}")
    return "y", name


@functools.cache
def _dtype(name: str) -> np.dtype:
    return np.dtype(float0 if name == "float0" else getattr(ml_dtypes, name, name))


@functools.cache
def _coded_class(kind: type) -> tuple[str, str, str]:
    if kind is type(None):
        return "c", "types", "NoneType"  # it says "builtins", where it is not
    if kind in described:
        return "c", "", described[kind][0]
    module, name = kind.__module__, kind.__qualname__
    if _class(module, name) is not kind:
        raise NotKept(f"the class {kind!r}")
    return "c", module, name


@functools.cache
def _class(module: str, name: str) -> type:
    if module.partition(".")[0] not in _LIBRARIES:
        raise NotKept(f"the module {module}")
    found: Any = sys.modules.get(module) or importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        raise NotKept(f"{module}.{name} is no class")
    return found


def value_of(code: Any) -> Any:
    """The value that ``coded`` has written so.

    Raises:
        NotKept: a class is not there.
    """
    if code.__class__ is not tuple:
        return code
    if code[0] == "s":
        return code[1]
    return _READERS[code[0]](*code[1:])


def _array(dtype: object, shape: tuple[int, ...], content: bytes) -> np.ndarray:
    return np.ndarray(shape, value_of(dtype), content).copy()


def _number(dtype: object, content: bytes) -> object:
    return np.ndarray((), value_of(dtype), content)[()]


def _member(kind: object, member: str) -> object:
    enumeration = value_of(kind)
    if not issubclass(enumeration, Enum):
        raise NotKept(f"{enumeration} is no enumeration")
    return enumeration[member]


def _named_tuple(kind: object, *entries: object) -> object:
    named = value_of(kind)
    if not issubclass(named, tuple):
        raise NotKept(f"{named} is no tuple")
    return tuple.__new__(named, map(value_of, entries))


_READERS: dict[str, Callable[..., object]] = {
    "t": lambda *entries: tuple([entry if entry.__class__ is not tuple else value_of(entry) for entry in entries]),
    "l": lambda *entries: [*map(value_of, entries)],
    "d": lambda names, *entries: dict(zip(names, map(value_of, entries), strict=True)),
    "y": _dtype,
    "a": _array,
    "g": _number,
    "c": _class,
    "e": _member,
    "n": _named_tuple,
    "x": lambda: ABSENT,
}
