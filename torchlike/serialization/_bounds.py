"""Limits for reading an untrusted pickle: the cost stays in proportion to its length, whatever it contains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Each level of a saved object needs one or two marks. The recursion of pickle itself ends long before this number.
MOST_MARKS = 2**16
# The number of tuples within a key. Hashing a tuple recurses into all of them, one call for each level.
MOST_PARTS_OF_A_KEY = 1000
# The budget of each pickle, and what it gets in addition for each of its bytes.
_FREE = 2**20
_FOR_A_BYTE = 16
_SIZED = (str, bytes, bytearray, list, tuple, dict, set)
_PLAIN = (int, float, bool, type(None), type, str)


class Budget:
    """Counts the cost of calls and keys. With the memo, three bytes of a pickle can request a copy of everything before them.

    Args:
        length: returns how many bytes of the pickle have been read.
    """

    def __init__(self, length: Callable[[], int]) -> None:
        self._length = length
        self._spent = 0

    def spend(self, count: int) -> None:
        """Adds to the cost. Raises a ValueError if the sum is out of proportion to the length."""
        self._spent += count
        if self._spent > _FREE and self._spent > _FREE + _FOR_A_BYTE * self._length():
            raise ValueError("it asks for far more than it holds")

    def key(self, key: object) -> None:
        """Spends the cost of a key before it is hashed: hashing tuples that share parts takes for ever, and deep ones crash the process."""
        if type(key) is not tuple:
            return
        todo, parts = [key], 0
        while todo:
            nested = todo.pop()
            parts += len(nested)
            if parts > MOST_PARTS_OF_A_KEY:
                raise ValueError(f"a key has more than {MOST_PARTS_OF_A_KEY} parts")
            todo += [part for part in nested if type(part) is tuple]
        self.spend(parts)

    def arguments(self, arguments: Any) -> None:
        """Spends the cost of a call, which may copy its arguments."""
        self.spend(sum(len(argument) for argument in arguments if isinstance(argument, _SIZED)))

    def keys(self, pairs: bool, arguments: Any) -> None:
        """Spends the cost of a call that hashes parts of its arguments: a set's members, the keys of an OrderedDict."""
        for argument in arguments:
            if isinstance(argument, (list, tuple)):
                for element in argument:
                    self.key(element[0] if pairs else element)


def described(obj: object) -> str:
    """A short text for an object from a file. It never shows a whole container, which may be larger than the memory."""
    if isinstance(obj, (list, tuple)) and len(obj) < 100 and all(type(element) in _PLAIN for element in obj):
        return str(obj)
    if isinstance(obj, _SIZED) and not isinstance(obj, (str, bytes)):
        return f"a {type(obj).__name__} of {len(obj)}"
    text = str(obj)
    return text if len(text) <= 200 else f"{text[:200]}..."
