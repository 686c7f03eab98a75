"""Nested tuples, lists and dictionaries as flat lists of leaves, in the order they were written."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Shape", "flatten", "map_leaves"]


class Shape:
    """How a nested structure hangs together. Two are equal if one's leaves can stand in the other's places."""

    __slots__ = ("kind", "keys", "parts")

    def __init__(self, kind: Any, keys: tuple[object, ...], parts: tuple[Shape, ...]) -> None:
        self.kind, self.keys, self.parts = kind, keys, parts

    @property
    def count(self) -> int:
        """The number of leaves."""
        return 1 if self.kind is None else sum(part.count for part in self.parts)

    def build(self, leaves: Sequence[object]) -> Any:
        """The structure with these leaves."""
        return self._take(iter(leaves))

    def _take(self, leaves: Any) -> Any:
        if self.kind is None:
            return next(leaves)
        parts = [part._take(leaves) for part in self.parts]
        if self.kind is tuple or self.kind is list:
            return self.kind(parts)
        if issubclass(self.kind, tuple):
            return self.kind(*parts)
        named = zip(self.keys, parts, strict=True)
        return dict(named) if self.kind is defaultdict else self.kind(named)

    def spread(self, prefix: object) -> list[Any] | None:
        """The leaves of a structure that may end earlier than this one: a leaf there stands for all below. None if it does not fit."""
        if self.kind is None:
            return None if _is_inner(prefix) else [prefix]
        if not _is_inner(prefix):
            return [prefix] * self.count
        top = _top(prefix)
        if top is None or top[0] is not self.kind or len(top[2]) != len(self.parts):
            return None
        leaves = []
        for part, below in zip(self.parts, top[2], strict=True):
            one = part.spread(below)
            if one is None:
                return None
            leaves += one
        return leaves

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shape) and (self.kind, self.keys, self.parts) == (other.kind, other.keys, other.parts)

    def __hash__(self) -> int:
        return hash((self.kind, self.keys, self.parts))

    def __repr__(self) -> str:
        return self._text(0)

    def _text(self, indent: int) -> str:
        if self.kind is None:
            return "*"
        indent += 2
        below = (",\n" + " " * indent).join(part._text(indent) for part in self.parts)
        return f"TreeSpec({self.kind.__name__}, {list(self.keys) or None}, [{below}])"


_LEAF = Shape(None, (), ())


def _is_inner(tree: object) -> bool:
    return isinstance(tree, (tuple, list, dict))


def _top(tree: Any) -> tuple[Any, tuple[Any, ...], list[Any]] | None:
    if type(tree) in (tuple, list):
        return type(tree), (), list(tree)
    if type(tree) in (dict, OrderedDict, defaultdict):
        return type(tree), tuple(tree), list(tree.values())
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree), (), list(tree)
    return None


def flatten(tree: object) -> tuple[list[Any], Shape]:
    """The leaves, and how they hang together."""
    top = _top(tree)
    if top is None:
        return [tree], _LEAF
    kind, keys, below = top
    leaves = []
    parts = []
    for part in below:
        more, shape = flatten(part)
        leaves += more
        parts.append(shape)
    return leaves, Shape(kind, keys, tuple(parts))


def map_leaves(function: Callable[[object], object], tree: object) -> Any:
    leaves, shape = flatten(tree)
    return shape.build([function(leaf) for leaf in leaves])
