"""Binds the arguments of a call to the parameters of an op, and raises PyTorch's errors for those that do not fit."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .._core.tensor import Tensor
from .type_names import type_name

# NumPy's names for parameters, which PyTorch accepts too.
ALIASES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "axes": "dims", "x2": "other"}


class Signature:
    """The parameters of an op, prepared so that binding arguments to them is fast."""

    __slots__ = (
        "name",
        "names",
        "index",
        "defaults",
        "positional",
        "total",
        "required",
        "variadic",
        "_tails",
        "_annotations",
    )

    def __init__(self, name: str, compute: Callable[..., Any]) -> None:
        parameters = list(inspect.signature(compute).parameters.values())
        self.name = name
        self.names = [p.name for p in parameters]
        self.index = {n: i for i, n in enumerate(self.names)}
        self.defaults = [p.default for p in parameters]
        self.total = len(parameters)
        self.positional = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
        self.required = sum(p.default is p.empty for p in parameters)
        self._annotations = [str(p.annotation) for p in parameters]
        # `x.view(2, 3)` may be written for `x.view((2, 3))`
        spread = [i for i, a in enumerate(self._annotations) if a in ("Dims", "Dims | None")]
        self.variadic = spread[0] if spread else 0
        self._tails = [tuple(self.defaults[n:]) for n in range(self.total + 1)]

    def complete(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Positional arguments, filled up with defaults."""
        at = self.variadic
        if at and len(args) > at and (len(args) > self.positional or _is_int(args[at])):
            args = (*args[:at], tuple(args[at:]))
        count = len(args)
        if self.required <= count <= self.positional:
            return args + self._tails[count]
        return self.bind(args, {})

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        at = self.variadic
        if at and len(args) > at and _is_int(args[at]):
            args = (*args[:at], tuple(args[at:]))
        if len(args) > self.positional:
            raise TypeError(
                f"{self.name}() takes {self.positional} positional argument{'s' * (self.positional != 1)} but {len(args)} were given"
            )
        bound = [*args, *self._tails[len(args)]]
        for key, value in kwargs.items():
            i = self.index.get(key)
            if i is None:
                i = self.index.get(ALIASES.get(key, ""))
            if i is None:
                raise TypeError(f"{self.name}() got an unexpected keyword argument '{key}'")
            if i < len(args):
                raise TypeError(f"{self.name}() got multiple values for argument '{key}'")
            bound[i] = value
        for value in bound:
            if value is inspect.Parameter.empty:
                if (
                    len(args) + len(kwargs)
                    and self._annotations[0] in ("Array", "Operand")
                    and isinstance(args[0] if args else None, Tensor)
                ):
                    got = ", ".join([type_name(a) for a in args] + [f"{k}={type_name(v)}" for k, v in kwargs.items()])
                    raise TypeError(
                        f"{self.name}() received an invalid combination of arguments - got ({got}), but expected ({self.expected()})"
                    )
                raise missing(
                    self.name, [n for n, v in zip(self.names, bound, strict=True) if v is inspect.Parameter.empty]
                )
        return tuple(bound)

    def expected(self) -> str:
        """The signature in PyTorch's words: ``Tensor input, Tensor other, *, Number alpha = 1``."""
        parts = []
        for i, (name, default, annotation) in enumerate(zip(self.names, self.defaults, self._annotations, strict=True)):
            if i == self.positional:
                parts.append("*")
            kind = _KINDS.get(annotation.split(" | ")[0], annotation.split(" | ")[0])
            parts.append(f"{kind} {name}" + ("" if default is inspect.Parameter.empty else f" = {default}"))
        return ", ".join(parts)


def missing(name: str, parameters: list[str]) -> TypeError:
    """PyTorch's error for missing arguments. Like PyTorch's, it has singular and plural the wrong way round."""
    names = ", ".join(f'"{n}"' for n in parameters)
    return TypeError(
        f"{name}() missing {len(parameters)} required positional argument{'s' * (len(parameters) == 1)}: {names}"
    )


def check_call(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises PyTorch's error for a call of a plain function if an argument is missing, or is no tensor and should be one."""
    parameters = list(inspect.signature(function).parameters.values())
    positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    arguments = dict(zip((p.name for p in positional), args, strict=False)) | kwargs
    absent = [p.name for p in positional if p.default is p.empty and p.name not in arguments]
    if absent:
        raise missing(name, absent) from None
    for i, p in enumerate(positional):
        value = arguments.get(p.name, p.default)
        if p.annotation not in ("Tensor", "Tensor | None") or isinstance(value, Tensor):
            continue
        if value is not None or p.annotation == "Tensor":
            place = "" if p.name in kwargs else f" (position {i + (positional[0].name != 'self')})"
            kind = type(value).__name__
            raise TypeError(f"{name}(): argument '{p.name}'{place} must be Tensor, not {kind}") from None


_KINDS = {
    "Array": "Tensor",
    "Operand": "Tensor",
    "Indices": "Tensor",
    "Number": "Number",
    "list[Array]": "tuple of Tensors",
    "Dims": "tuple of ints",
}


def _is_int(value: Any) -> bool:
    return (
        (isinstance(value, int) and not isinstance(value, bool))
        or (isinstance(value, Tensor) and value.dim() == 0)
        or (hasattr(value, "__index__") and not isinstance(value, (bool, Tensor)))
    )
