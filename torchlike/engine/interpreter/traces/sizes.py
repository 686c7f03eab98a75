"""Sizes that stand for any number: a function traced with them holds for all sizes for which it decides the same."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any

import numpy as np

# An expression of the sizes ``s``, as Python source.
Expression = str


class Sizes:
    """The sizes of one trace. It notes what was asked of them, and how that was answered.

    ``values``: an example of each. While a function is traced, every comparison is answered for the example, and noted.
    ``excludes``: whether it was noted that something is not a certain number, or another size.
    """

    def __init__(self, values: Sequence[int], number: int = 0) -> None:
        """``number``: a part of the hashes."""
        self.answers: dict[Expression, bool] = {}
        self.excludes, self.number = False, number
        self.traced = False  # from then on nothing may be asked any more, since the answer would not be noted in time
        self._thread = get_ident()
        self.sizes = [Size(self, f"s[{number}]", value) for number, value in enumerate(values)]

    def ask(self, question: Expression, answer: bool) -> bool:
        """Notes an answer, which must be the same for other sizes."""
        if self.foreign:
            raise TypeError("a size is read outside of the trace that it belongs to")
        self.answers[question] = answer
        return answer

    @property
    def foreign(self) -> bool:
        """Whether the trace that runs now is another one: later, or in another thread."""
        return self.traced or self._thread != get_ident()

    def condition(self) -> Expression:
        """That everything that was asked has the same answer for other sizes."""
        conditions = [question if answer else f"not {question}" for question, answer in self.answers.items()]
        return " and ".join(conditions) or "True"


def _called_by_jax(frames: int) -> bool:
    """Whether the function that stands so many frames above this one on the stack is JAX's."""
    return sys._getframe(frames).f_globals.get("__name__", "").startswith("jax.")


class Size:
    """A size of an array that may be another number in the next call: arithmetic gives such sizes again.

    It never becomes a plain number, or text. What needs one (a range, a list's index, an array of sizes) raises TypeError, and so does
    looking it up in a set or dictionary, where a comparison would go unnoticed; JAX's own tables are the exception, since JAX supports
    dimensions that are not numbers. JAX recognizes them by ``dimension_as_value``.

    To ``isinstance`` it is an int, so that a function does with it what it does with numbers. ``type`` tells the difference: no function
    that is traced may decide by it.
    """

    __slots__ = ("_sizes", "expression", "_value")
    __array_ufunc__ = None  # so that NumPy's numbers leave arithmetic to this class

    def __init__(self, sizes: Sizes, expression: Expression, value: int) -> None:
        self._sizes = sizes
        self.expression = expression
        self._value = value

    def dimension_as_value(self) -> Size:
        """JAX asks for it before it computes with a size. It is no array: whoever needs one raises TypeError."""
        return self

    def _combined(self, operator: str, other: object, reflected: bool, value: Callable[[int, int], int]) -> Any:
        if isinstance(other, Size):
            if other._sizes is not self._sizes:
                raise TypeError("sizes of two traces meet")
            text, number = other.expression, other._value
        elif isinstance(other, (int, np.integer)):
            number = int(other)
            text = f"({number})"
        else:
            return NotImplemented
        if reflected:
            return Size(self._sizes, f"({text}{operator}{self.expression})", value(number, self._value))
        return Size(self._sizes, f"({self.expression}{operator}{text})", value(self._value, number))

    def _compared(self, operator: str, other: object, answer: Callable[[int, int], bool]) -> Any:
        if self._sizes.foreign and _called_by_jax(3):
            return NotImplemented  # JAX has a shape of this trace in a table, and looks for another one
        if isinstance(other, Size):
            if other._sizes is not self._sizes:  # from an entry that JAX still has of another trace
                return NotImplemented
            if other.expression == self.expression:
                return answer(0, 0)
            text, number = other.expression, other._value
        elif isinstance(other, (int, np.integer)):
            number = int(other)
            text = f"({number})"
        elif other is None:
            return NotImplemented
        else:  # where both sides return NotImplemented Python says that they differ
            raise TypeError(f"a size is compared with {other!r}")
        result = answer(self._value, number)
        if operator == "==" and not result and (number > 1 or isinstance(other, Size)):
            self._sizes.excludes = True
        return self._sizes.ask(f"({self.expression}{operator}{text})", result)

    def __add__(self, other: object) -> Any:
        return self._combined("+", other, False, int.__add__)

    def __radd__(self, other: object) -> Any:
        return self._combined("+", other, True, int.__add__)

    def __sub__(self, other: object) -> Any:
        return self._combined("-", other, False, int.__sub__)

    def __rsub__(self, other: object) -> Any:
        return self._combined("-", other, True, int.__sub__)

    def __mul__(self, other: object) -> Any:
        return self._combined("*", other, False, int.__mul__)

    def __rmul__(self, other: object) -> Any:
        return self._combined("*", other, True, int.__mul__)

    def __floordiv__(self, other: object) -> Any:
        return self._combined("//", other, False, int.__floordiv__)

    def __rfloordiv__(self, other: object) -> Any:
        return self._combined("//", other, True, int.__floordiv__)

    def __mod__(self, other: object) -> Any:
        return self._combined("%", other, False, int.__mod__)

    def __rmod__(self, other: object) -> Any:
        return self._combined("%", other, True, int.__mod__)

    def __divmod__(self, other: object) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> Any:
        return other // self, other % self

    def __neg__(self) -> Size:
        return Size(self._sizes, f"(-{self.expression})", -self._value)

    def __eq__(self, other: object) -> Any:
        return self._compared("==", other, int.__eq__)

    def __ne__(self, other: object) -> Any:
        return self._compared("!=", other, int.__ne__)

    def __lt__(self, other: object) -> Any:
        return self._compared("<", other, int.__lt__)

    def __le__(self, other: object) -> Any:
        return self._compared("<=", other, int.__le__)

    def __gt__(self, other: object) -> Any:
        return self._compared(">", other, int.__gt__)

    def __ge__(self, other: object) -> Any:
        return self._compared(">=", other, int.__ge__)

    def __bool__(self) -> bool:
        return self != 0

    @property
    def __class__(self) -> type:
        return int

    def __repr__(self) -> str:
        if not self._sizes.traced:
            raise TypeError("a size is read as text")
        return self.expression

    def __hash__(self) -> int:
        if not _called_by_jax(2):
            raise TypeError("a size is looked up")
        return hash((self._sizes.number, self.expression))

    # what JAX asks of its own symbolic dimensions

    def min(self, other: Any) -> Any:
        return min(self, other)

    def max(self, other: Any) -> Any:
        return max(self, other)

    rmin, rmax = min, max
