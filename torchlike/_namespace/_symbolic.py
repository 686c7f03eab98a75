"""Numbers that PyTorch's tracer keeps symbolic: sizes are numbers here, so these functions are Python's on numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NoReturn, TypeVar

from .._core.size import SymInt as SymInt

__all__ = [
    "SymBool", "SymFloat", "SymInt", "sym_float", "sym_fresh_size", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt",
    "sym_sum",
]  # fmt: skip

_T = TypeVar("_T")


class SymFloat:
    """A float that a tracer keeps symbolic. There are none."""

    def __init__(self, node: object) -> None:
        raise NotImplementedError("torchlike does not support symbolic sizes: sizes are numbers")


class SymBool:
    """A truth that a tracer keeps symbolic. There are none."""

    def __init__(self, node: object) -> None:
        raise NotImplementedError("torchlike does not support symbolic sizes: sizes are numbers")


def sym_int(a: float) -> int:
    """``int(a)``.

    >>> torch.sym_int(-3.7)
    -3
    """
    return int(a)


def sym_float(a: float) -> float:
    """``float(a)``."""
    return float(a)


def sym_not(a: object) -> bool:
    """``not a``."""
    return not a


def _extreme(choose: Callable[[float, float], float], name: str, *args: float) -> float:
    if len(args) < 2:
        missing = "1 required positional argument: 'b'" if args else "2 required positional arguments: 'a' and 'b'"
        raise TypeError(f"{name}() missing {missing}")
    result = args[0]
    for number in args[1:]:
        result = choose(result, number)
    return float(result) if any(isinstance(number, float) for number in args) else result


def sym_max(*args: float) -> float:
    """The greatest number: a float if any is.

    >>> torch.sym_max(3, 2.0)
    3.0
    """
    return _extreme(max, "sym_max", *args)


def sym_min(*args: float) -> float:
    """The least number: a float if any is."""
    return _extreme(min, "sym_min", *args)


def sym_sum(args: Iterable[int]) -> int:
    """``sum(args)``."""
    return sum(args)


def sym_sqrt(a: float) -> float:
    """The square root.

    >>> torch.sym_sqrt(4)
    2.0
    """
    return math.sqrt(a)


def sym_ite(b: bool, t: _T, f: _T) -> _T:
    """``t if b else f``.

    Raises:
        AssertionError: ``b`` is no bool, or the others are of two types.
    """
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


def sym_fresh_size(expr: object) -> NoReturn:
    """Raises: there are no symbolic sizes."""
    raise NotImplementedError("torchlike does not support symbolic sizes: sizes are numbers")
