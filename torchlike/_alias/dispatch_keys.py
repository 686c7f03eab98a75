"""torch._C.DispatchKeySet: libraries with operators of their own build such sets where they are imported."""

from __future__ import annotations

__all__ = ["DispatchKeySet"]


class DispatchKeySet:
    """A set of PyTorch's dispatch keys. Nothing here is dispatched by them."""

    __module__ = "torch._C"

    def __init__(self, *keys: object) -> None:
        self._keys = frozenset(keys)

    def _of(self, keys: frozenset[object]) -> DispatchKeySet:
        return DispatchKeySet(*keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self._keys | other._keys)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self._keys & other._keys)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._of(self._keys - other._keys)

    def add(self, key: object) -> DispatchKeySet:
        return self._of(self._keys | {key})

    def remove(self, key: object) -> DispatchKeySet:
        return self._of(self._keys - {key})

    def has(self, key: object) -> bool:
        return key in self._keys

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self._keys == other._keys

    def __hash__(self) -> int:
        return hash(self._keys)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(sorted(str(key).rpartition('.')[2] for key in self._keys))})"
