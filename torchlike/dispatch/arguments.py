"""Reads the parameters of a function, binds the arguments of calls to them, and raises PyTorch's errors for bad arguments."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .._core.tensor import Tensor
from .overloads import OF_FUNCTIONS, SEVERAL, invalid_combination
from .signature_lists import LISTED, invalid_arguments
from .type_names import type_name

# NumPy's names for parameters, which every function that PyTorch has in C++ takes for its own: whatever has a ``dim`` has an ``axis``.
ALIASES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
# One parameter here, which in PyTorch has a name for each type that it may have.
ALIASES |= {"indices": "indices_or_sections", "sections": "indices_or_sections"}
ALIASES |= {"element": "elements", "test_element": "test_elements"}


# ``are_integers(map(type, sequence))``: whether all elements are plain ints, and no bools or NumPy numbers.
are_integers = frozenset({int}).issuperset


class Parameters:
    """The parameters of a function, read from its signature once, and prepared so that binding arguments to them is fast."""

    __slots__ = (
        "names",
        "index",
        "defaults",
        "annotations",
        "positional",
        "total",
        "required",
        "variadic",
        "open",
        "_tails",
        "_places",
    )

    def __init__(self, function: Callable[..., object]) -> None:
        parameters = list(inspect.signature(function).parameters.values())
        self.names = tuple(p.name for p in parameters)
        self.index = {name: i for i, name in enumerate(self.names)}
        self.defaults = tuple(p.default for p in parameters)
        self.annotations = tuple(p.annotation for p in parameters)
        self.total = len(parameters)
        self.positional = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)  # these come first
        self.required = sum(p.default is p.empty for p in parameters)
        # ``x.view(2, 3)`` may be written for ``x.view((2, 3))``
        dims_parameters = [i for i, a in enumerate(self.annotations) if a in ("Dims", "Dims | None")]
        self.variadic = dims_parameters[0] if dims_parameters else 0
        self.open = any(p.kind is p.VAR_KEYWORD for p in parameters)
        self._tails = [self.defaults[n:] for n in range(self.total + 1)]
        # Where arguments by name belong, by the number of the others and these names, in calls that have all they need.
        self._places: dict[tuple[object, ...], list[int]] = {}

    @property
    def tails(self) -> dict[int, tuple[object, ...]]:
        """By the number of arguments given by position, if these are enough: the defaults of the others."""
        return {count: self._tails[count] for count in range(self.required, self.positional + 1)}

    def complete(self, name: str, args: tuple[object, ...]) -> tuple[Any, ...]:
        """Positional arguments, filled up with defaults. ``name``: of the function, for messages."""
        at = self.variadic
        if at and len(args) > at and (len(args) > self.positional or _is_int(args[at])):
            args = (*args[:at], tuple(args[at:]))
        count = len(args)
        if self.required <= count <= self.positional:
            return args + self._tails[count]
        return self.bind(name, args, {})

    def bind(self, name: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> tuple[Any, ...]:
        """One argument for each parameter, in their order.

        Raises:
            TypeError: the arguments do not fit the parameters, in PyTorch's words.
        """
        at = self.variadic
        if at and len(args) > at and _is_int(args[at]):
            args = (*args[:at], tuple(args[at:]))
        given = len(args), *kwargs
        places = self._places.get(given)
        if places is not None:
            arguments = [*args, *self._tails[len(args)]]
            for i, value in zip(places, kwargs.values(), strict=True):
                arguments[i] = value
            return tuple(arguments)
        if len(args) > self.positional:
            spread = self.gathered(args)
            if spread is not None:
                return self.bind(name, spread, kwargs)
            least, most = sum(d is inspect.Parameter.empty for d in self.defaults[: self.positional]), self.positional
            bounds = f"from {least} to {most}" if least < most else f"{most}"
            raise TypeError(
                f"{name}() takes {bounds} positional argument{'s' * (bounds != '1')} but {len(args)} were given"
            )
        arguments, places = [*args, *self._tails[len(args)]], []
        for key, value in kwargs.items():
            i = self.index.get(key)
            if i is None:
                i = self.index.get(ALIASES.get(key, ""))
            if i is None or (key not in self.index and self.names[i] in kwargs):
                raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
            if i < len(args):
                raise TypeError(f"{name}() got multiple values for argument '{key}'")
            arguments[i] = value
            places.append(i)
        for value in arguments:
            if value is inspect.Parameter.empty:
                if name in SEVERAL and args and self.annotations[0] in ("Array", "Operand"):
                    types = ", ".join([type_name(a) for a in args] + [f"{k}={type_name(v)}" for k, v in kwargs.items()])
                    expected = (
                        f"({self.expected()})" if name not in OF_FUNCTIONS else f"one of:\n * ({self.expected()})\n"
                    )
                    raise TypeError(
                        f"{name}() received an invalid combination of arguments - got ({types}), but expected {expected}"
                    )
                raise missing(
                    name, [n for n, v in zip(self.names, arguments, strict=True) if v is inspect.Parameter.empty]
                )
        if len(self._places) < 64:
            self._places[given] = places
        return tuple(arguments)

    def gathered(self, args: tuple[object, ...]) -> tuple[object, ...] | None:
        """The arguments with sizes as one, where the function takes nothing else: ``squeeze((0, 1))`` for ``squeeze(0, 1)``. Else None."""
        if self.positional != 2 or len(args) < 3 or _SIZES.isdisjoint(str(self.annotations[1]).split(" | ")):
            return None
        return (args[0], args[1:]) if all(map(_is_int, args[1:])) else None

    @contextlib.contextmanager
    def named_as_given(self, kwargs: Mapping[str, object]) -> Iterator[None]:
        """Lets an error that lists the types of arguments name them as the call did, and not as ``renamed`` does."""
        try:
            yield
        except TypeError as error:
            text = str(error)
            for key, value in kwargs.items():
                if key in ALIASES and key not in self.index:
                    kind = type_name(value)
                    text = text.replace(f"{ALIASES[key]}={kind}", f"{key}={kind}")
            error.args = (text,)
            raise

    def renamed(self, kwargs: Mapping[str, object]) -> dict[str, object] | None:
        """The keyword arguments under PyTorch's names where they have NumPy's. None: they have none of NumPy's."""
        found = {key: ALIASES[key] for key in kwargs if key in ALIASES and key not in self.index}
        wanted = [name for name in found.values() if (self.open or name in self.index) and name not in kwargs]
        if not found or len(wanted) < len(found):
            return None
        return {found.get(key, key): value for key, value in kwargs.items()}

    def split(self, args: Sequence[object]) -> tuple[Sequence[Any], dict[str, Any]]:
        """Splits bound arguments, one for each parameter, into positional and keyword arguments."""
        count = self.positional
        return args[:count], dict(zip(self.names[count:], args[count:], strict=True))

    def expected(self) -> str:
        """The signature in PyTorch's words: ``Tensor input, Tensor other, *, Number alpha = 1``."""
        parts = []
        for i, (name, default, annotation) in enumerate(zip(self.names, self.defaults, self.annotations, strict=True)):
            if i == self.positional:
                parts.append("*")
            kind = str(annotation).split(" | ")[0]
            parts.append(
                f"{_KINDS.get(kind, kind)} {name}" + ("" if default is inspect.Parameter.empty else f" = {default}")
            )
        return ", ".join(parts)


def missing(name: str, parameters: list[str]) -> TypeError:
    """PyTorch's error for missing arguments. Like PyTorch's, it has singular and plural the wrong way round."""
    names = ", ".join(f'"{n}"' for n in parameters)
    return TypeError(
        f"{name}() missing {len(parameters)} required positional argument{'s' * (len(parameters) == 1)}: {names}"
    )


def check_call(
    name: str,
    function: Callable[..., object],
    args: tuple[object, ...],
    kwargs: dict[str, object],
    method: bool = False,
) -> None:
    """Raises PyTorch's error for a call of a plain function if an argument is missing, or is no tensor and should be one."""
    parameters = Parameters(function)
    names = parameters.names[: parameters.positional]
    arguments = dict(zip(names, args, strict=False)) | kwargs
    described = list(enumerate(zip(names, parameters.defaults, parameters.annotations, strict=False)))
    absent = [p for _, (p, default, _) in described if default is inspect.Parameter.empty and p not in arguments]
    if absent:
        if name in LISTED:
            raise TypeError(invalid_arguments(name, method or names[0] == "self", args, kwargs)) from None
        raise missing(name, absent) from None
    for i, (parameter, default, annotation) in described:
        value = arguments.get(parameter, default)
        if annotation not in ("Tensor", "Tensor | None") or isinstance(value, Tensor) or parameter not in arguments:
            continue
        if value is not None or annotation == "Tensor":
            place = "" if parameter in kwargs else f" (position {i + (not method and names[0] != 'self')})"
            words = f"{name}(): argument '{parameter}'{place} must be Tensor, not {type(value).__name__}"
            raise TypeError(
                invalid_combination(words, method or names[0] == "self", args, kwargs, parameters.expected())
            ) from None


# ---- numbers of other types than a parameter takes

_SIZES = {"Dims", "Sequence[int]", "IntOrInts", "Pair", "tuple[int, ...]"}  # annotations of one or several ints
_FLOATS = {"float", "complex"}
_NUMBERS = {"int", *_FLOATS, *_SIZES}
# Parameters that take no None: by their annotation, what PyTorch's errors call the type.
# Parameters that take one number, or a tensor without dimensions that requires no gradient.
ONE_NUMBER = {"int": "int", "float": "float", "complex": "Number", "Number": "Number"}
_NO_NONE = {"Tensor": "Tensor", "int": "int", "float": "float", "complex": "Number"}
_OF_CREATION = (
    "pin_memory",
    "requires_grad",
)  # flags of functions that make tensors, for which PyTorch takes None as well
NUMPY_NUMBERS = frozenset(kind for kind in np.sctypeDict.values() if issubclass(kind, (np.number, np.bool_)))


def misfit(annotation: object, value: object) -> str | None:
    """What PyTorch says about a value that a parameter of this annotation does not take; None if it does, or if that is seen later.

    For sizes, dimensions and flags PyTorch takes only ints and bools: neither floats for ints, nor the one for the other, nor NumPy's
    bool. It does take NumPy's ints.
    """
    kind, *others = str(annotation).split(" | ")
    if isinstance(value, Tensor):
        expected = ONE_NUMBER.get(kind) if others in ([], ["None"]) else None
        as_number = expected is None or not (value.requires_grad or value.dim())
        return None if as_number else f"must be {expected}, not {type_name(value)}"
    if value is None and kind in _NO_NONE and _NO_NONE.keys() >= set(others):
        return f"must be {_NO_NONE[kind]}, not NoneType"
    if kind == "float" and others in ([], ["None"]):
        wrong = isinstance(value, (complex, str, list, np.complexfloating))
        return f"must be float, not {type_name(value)}" if wrong else None
    if (kind not in ("bool", "int") and kind not in _SIZES) or "np.bool_" in others:
        return None  # of the latter kind are flags of functions that PyTorch has in Python: it takes whatever has a truth value
    if value is None:
        return None if "None" in others or kind != "bool" else "must be bool, not NoneType"
    if isinstance(value, (int, float, complex, np.number, np.bool_)):
        if kind == "bool":
            fits = isinstance(value, bool)
        else:
            fits = (isinstance(value, (int, np.integer)) and not isinstance(value, bool)) or others not in (
                [],
                ["None"],
            )
        expected = "tuple of ints" if kind in _SIZES else kind
        return None if fits else f"must be {expected}, not {type_name(value)}"
    if kind not in _SIZES:
        return None
    if isinstance(value, np.ndarray):
        return "must be tuple of ints, not numpy.ndarray"
    for i, element in enumerate(value) if isinstance(value, (list, tuple)) else ():
        if i == 0 and isinstance(element, (bool, float, np.bool_, np.inexact)):
            return f"must be tuple of ints, but found element of type {type_name(element)} at pos 0"
        if isinstance(element, (float, np.inexact)):
            return f'failed to unpack the object at pos {i + 1} with error "type must be tuple of ints,but got {type_name(element)}"'
    return None


def misfit_error(name: str, parameter: str, position: int | None, words: str) -> TypeError:
    """The error for what ``misfit`` says. ``position``: of the argument, if it was given by position."""
    place = "" if position is None or words.startswith("failed") else f" (position {position})"
    return TypeError(f"{name}(): argument '{parameter}'{place} {words}")


def check_value(name: str, parameter: str, position: int | None, annotation: str, value: object) -> None:
    """Raises PyTorch's error unless a parameter of this annotation takes the value."""
    words = misfit(annotation, value)
    if words is not None:
        raise misfit_error(name, parameter, position, words)


def check_tensors(name: str, tensors: object) -> None:
    """Raises PyTorch's error unless this is a list or tuple of tensors, or of the arrays in their place."""
    if not isinstance(tensors, (list, tuple)):
        kind = "Tensor" if hasattr(tensors, "shape") else type(tensors).__name__
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {kind}")
    for position, tensor in enumerate(tensors):
        if not hasattr(tensor, "shape"):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type(tensor).__name__}")


def check_flags(name: str, **flags: tuple[int | None, object]) -> None:
    """Raises PyTorch's error for the first of the flags, each with its position or None, that is no Python bool."""
    for parameter, (position, value) in flags.items():
        check_value(name, parameter, position, "bool", value)


class NumbersOf:
    """The parameters of a plain function that take numbers: what is given for them is checked, and NumPy's numbers become Python's.

    The types of a call's arguments decide what is to be done, so it is found out once for each combination of types.
    """

    __slots__ = ("name", "needed", "parameters", "method", "annotations", "plans")

    def __init__(self, name: str, function: Callable[..., object], method: bool = False) -> None:
        self.parameters = Parameters(function)
        self.name = name
        self.method = method or self.parameters.names[:1] == ("self",)
        self.annotations = dict(zip(self.parameters.names, map(str, self.parameters.annotations), strict=True))
        kinds = {part for annotation in self.annotations.values() for part in annotation.split(" | ")}
        self.needed = not kinds.isdisjoint({"bool", *_NUMBERS})
        # By the names of keyword arguments and the types of all: the arguments whose values must be looked at in every such call, by
        # position or by name. Most calls have none.
        self.plans: dict[tuple[object, ...], tuple[int | str, ...]] = {}

    def checked(
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """The arguments with Python's numbers.

        Raises:
            TypeError: PyTorch does not take one of them.
        """
        kinds = (*map(type, args), *kwargs, *map(type, kwargs.values()))
        plan = self.plans.get(kinds)
        if plan is None:
            try:
                plan = self._plan(args, kwargs)
            except TypeError as error:
                self.reword(error, args, kwargs)
                raise
            if len(self.plans) < 256:
                self.plans[kinds] = plan
        if plan:
            checked_args = list(args)
            for at in plan:
                value = kwargs[at] if isinstance(at, str) else checked_args[at]
                if isinstance(value, (tuple, list)) and are_integers(map(type, value)):
                    continue  # sizes, as most are
                if isinstance(at, str):
                    kwargs[at] = self._checked(at, kwargs[at], None)
                else:
                    checked_args[at] = self._checked(self.parameters.names[at], checked_args[at], at)
            return tuple(checked_args), kwargs
        return args, kwargs

    def reword(self, error: Exception, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
        """Gives an error about an argument the words that PyTorch has for it where the function has several signatures."""
        words = str(error)
        if isinstance(error, TypeError) and words.startswith(f"{self.name}()"):
            expected = self.parameters.expected()
            error.args = (invalid_combination(words, self.method, args, kwargs, expected),)

    def _plan(self, args: tuple[object, ...], kwargs: dict[str, object]) -> tuple[int | str, ...]:
        """Checks all arguments, and returns those that must be checked in every call with arguments of these types."""
        count = self.parameters.positional
        places: list[tuple[int | str, str, object]] = [
            (i, parameter, value)
            for i, (parameter, value) in enumerate(zip(self.parameters.names[:count], args, strict=False))
        ]
        places += [(parameter, parameter, value) for parameter, value in kwargs.items()]
        looked_at: list[int | str] = []
        for at, parameter, value in places:
            self._checked(parameter, value, None if isinstance(at, str) else at)
            takes = self.annotations.get(parameter, "").split(" | ")
            if isinstance(value, np.number):
                if _becomes_pythons(value, takes):
                    looked_at.append(at)
            elif isinstance(value, Tensor):
                if takes[0] in ONE_NUMBER:
                    looked_at.append(at)
            elif isinstance(value, (list, tuple)) and not _SIZES.isdisjoint(takes):
                looked_at.append(at)
        return tuple(looked_at)

    def _checked(self, parameter: str, value: object, position: int | None) -> object:
        annotation = self.annotations.get(parameter, "")
        words = misfit(annotation, value)
        if words is not None and not (value is None and parameter in _OF_CREATION):
            place = None if position is None else position + (not self.method)
            raise misfit_error(self.name, parameter, place, words)
        if isinstance(value, np.number) and _becomes_pythons(value, annotation.split(" | ")):
            return value.item()
        return value


def _becomes_pythons(value: np.number, kinds: list[str]) -> bool:
    """Whether a parameter of these kinds takes the number as Python's; what it refuses keeps its type for the message."""
    return not (_NUMBERS if isinstance(value, np.integer) else _FLOATS).isdisjoint(kinds)


_KINDS = {
    "Array": "Tensor",
    "Operand": "Tensor",
    "Indices": "Tensor",
    "Number": "Number",
    "list[Array]": "tuple of Tensors",
    "Dims": "tuple of ints",
    "IntOrInts": "tuple of ints",
    "Sequence[int]": "tuple of ints",
    "Dtype": "torch.dtype",
    "DeviceLike": "torch.device",
    "Layout": "torch.layout",
    "MemoryFormat": "torch.memory_format",
}


def _is_int(value: object) -> bool:
    return (
        (isinstance(value, int) and not isinstance(value, bool))
        or (isinstance(value, Tensor) and value.dim() == 0)
        or (hasattr(value, "__index__") and not isinstance(value, (bool, Tensor, np.ndarray)))
    )
