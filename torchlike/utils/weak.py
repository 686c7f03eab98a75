"""Dictionaries whose keys are objects by identity and do not keep them alive (``torch.utils.weak``)."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

from .._core.tensor import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to another one of the same object, whatever the object's ``==`` says."""

    __slots__ = ("_id",)

    def __init__(self, key: object, callback: Callable[[Any], object] | None = None) -> None:
        super().__init__(key, callback)  # pyright: ignore[reportCallIssue]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        own, others = self(), other() if isinstance(other, weakref.ref) else None
        return own is others if own is not None and others is not None else self is other


class WeakIdKeyDictionary(MutableMapping):
    """A dictionary with objects as keys, by identity. An entry goes when its key does.

    >>> from torchlike.utils.weak import WeakIdKeyDictionary
    >>> key = torch.ones(2)
    >>> names = WeakIdKeyDictionary({key: "ones"})
    >>> names[key], torch.ones(2) in names
    ('ones', False)
    >>> del key
    >>> len(names)
    0
    """

    def __init__(self, dict: Mapping[Any, Any] | None = None, ref_type: type[WeakIdRef] = WeakIdRef) -> None:
        self.data: dict_of[WeakIdRef, Any] = {}
        self.ref_type = ref_type
        own = weakref.ref(self)

        def remove(reference: WeakIdRef) -> None:
            alive = own()
            if alive is not None:
                alive.data.pop(reference, None)

        self._remove = remove
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: object) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: object, value: object) -> None:
        self.data[self.ref_type(key, self._remove)] = value

    def __delitem__(self, key: object) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # a key that can have no weak reference
            return False

    def __iter__(self) -> Iterator[Any]:
        return (key for reference in list(self.data) if (key := reference()) is not None)

    def __len__(self) -> int:
        return len(self.data)

    def keyrefs(self) -> list[WeakIdRef]:
        """The weak references to the keys."""
        return list(self.data)

    def copy(self) -> WeakIdKeyDictionary:
        """A dictionary with the same keys and values."""
        return type(self)(self, self.ref_type)

    __copy__ = copy

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"


dict_of = dict  # the name is an argument's above
WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: called, it gives the tensor, or None once it is gone."""

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"expected torch.Tensor, got {type(tensor)}.")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
