"""Keys: one step of the path from the root of a tree to a leaf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

K = TypeVar("K")
T = TypeVar("T")


class KeyEntry(Protocol):
    """The methods of every kind of key."""

    def __hash__(self) -> int: ...

    def __eq__(self, other: object) -> bool: ...

    def __str__(self) -> str: ...

    def get(self, parent: object) -> Any:
        """The child of ``parent`` under this key."""
        ...


@dataclass(frozen=True)
class SequenceKey(Generic[T]):
    """A place in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Sequence[T]) -> T:
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey(Generic[K, T]):
    """A key of a dictionary."""

    key: K

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Mapping[K, T]) -> T:
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """An attribute of an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: object) -> Any:
        return getattr(obj, self.name)


KeyPath: TypeAlias = tuple[KeyEntry, ...]


def keystr(kp: KeyPath) -> str:
    """A path as the text that would follow the tree's name in a program: ``['a'][0].x``."""
    return "".join(str(key) for key in kp)


def key_get(obj: object, kp: KeyPath) -> Any:
    """The part of ``obj`` at the end of a path."""
    for key in kp:
        obj = key.get(obj)
    return obj
