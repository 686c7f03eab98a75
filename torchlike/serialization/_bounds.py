"""What bounds the reading of a pickle from anywhere: its cost stays in proportion to its length, whatever it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Each level of an object that is saved takes a mark or two; pickle's own recursion ends long before so many.
MOST_MARKS = 2**16
# Tuples within tuples, of one key. Hashing a tuple goes down into all of them, by as many calls as they are deep.
MOST_PARTS_OF_A_KEY = 1000
# What every pickle may spend, and what it may spend for each byte that it is long.
_FREE = 2**20
_FOR_A_BYTE = 16
_SIZED = (str, bytes, bytearray, list, tuple, dict, set)
_PLAIN = (int, float, bool, type(None), type, str)


class Budget:
    """Counts what is spent on calls and keys: by the memo, three bytes of a pickle can ask for a copy of all that came before.

    Args:
        length: how many bytes of the pickle have been read.
    """

    def __init__(self, length: Callable[[], int]) -> None:
        self._length = length
        self._spent = 0

    def spend(self, count: int) -> None:
        """Raises ValueError where all that was spent is out of proportion."""
        self._spent += count
        if self._spent > _FREE and self._spent > _FREE + _FOR_A_BYTE * self._length():
            raise ValueError("it asks for far more than it holds")

    def key(self, key: object) -> None:
        """For a key, before it is hashed: tuples that share their parts take for ever, and deep ones end the process."""
        if type(key) is not tuple:
            return
        todo, parts = [key], 0
        while todo:
            each = todo.pop()
            parts += len(each)
            if parts > MOST_PARTS_OF_A_KEY:
                raise ValueError(f"a key has more than {MOST_PARTS_OF_A_KEY} parts")
            todo += [part for part in each if type(part) is tuple]
        self.spend(parts)

    def arguments(self, arguments: Any) -> None:
        """For the arguments of a call, which may copy them."""
        self.spend(sum(len(each) for each in arguments if isinstance(each, _SIZED)))

    def keys(self, pairs: bool, arguments: Any) -> None:
        """For the arguments of a call that makes keys of what they hold: a set's members, the first of an OrderedDict's pairs."""
        for argument in arguments:
            if isinstance(argument, (list, tuple)):
                for each in argument:
                    self.key(each[0] if pairs else each)


def described(thing: Any) -> str:
    """A thing from a file, as messages have it: never all of a container, which may be larger than all memory."""
    if isinstance(thing, (list, tuple)) and len(thing) < 100 and all(type(each) in _PLAIN for each in thing):
        return str(thing)
    if isinstance(thing, _SIZED) and not isinstance(thing, (str, bytes)):
        return f"a {type(thing).__name__} of {len(thing)}"
    text = str(thing)
    return text if len(text) <= 200 else f"{text[:200]}..."
