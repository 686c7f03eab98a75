"""The attributes that a program sets on a tensor, without the fields of the class, although one dict holds both."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any, Self

__all__ = ["Instance", "UsersAttributes"]


class Instance:
    """The class that gives a tensor its dict. ``_fields`` are the names that users do not see."""

    _fields: frozenset[str] = frozenset()


_dict_of = Instance.__dict__["__dict__"].__get__


class UsersAttributes(MutableMapping, dict):  # pyright: ignore[reportGeneralTypeIssues]  # Python finds an order
    """``vars(tensor)``: what a program has set. Both always show the same attributes.

    It holds nothing itself: it shows the dict of the instance without the fields of the class. It is a ``dict`` for those who ask.
    """

    __slots__ = ("_all", "_fields")

    def __init__(self, owner: Instance) -> None:
        self._all: dict[str, object] = _dict_of(owner)
        self._fields = owner._fields

    def __getitem__(self, name: str) -> Any:
        if name in self._fields:
            raise KeyError(name)
        return self._all[name]

    def __setitem__(self, name: str, value: object) -> None:
        if name in self._fields:
            raise AttributeError(f"attribute {name!r} is a field of every tensor: it cannot be set through __dict__")
        self._all[name] = value

    def __delitem__(self, name: str) -> None:
        if name in self._fields:
            raise KeyError(name)
        del self._all[name]

    def __iter__(self) -> Iterator[str]:
        fields = self._fields
        return iter([name for name in self._all if name not in fields])

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))

    def __len__(self) -> int:
        return sum(name not in self._fields for name in self._all)

    def __contains__(self, name: object) -> bool:
        return name not in self._fields and name in self._all

    def copy(self) -> dict[str, Any]:
        return dict(self.items())

    __copy__ = copy

    # ``dict`` has methods of its own for these, which would find nothing.
    def __eq__(self, other: object) -> bool:
        return self.copy() == other

    def __ne__(self, other: object) -> bool:
        return self.copy() != other

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        return other | self.copy()

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    def __repr__(self) -> str:
        return repr(self.copy())

    def __reduce_ex__(self, protocol: object) -> Any:
        return dict, (self.copy(),)
