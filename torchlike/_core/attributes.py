"""The fields of a tensor and of its storage, and the attributes that a program sets on a tensor.

Compiled, fields lie in C structures (``attributes.pxd``). Interpreted, they are in the dict of the object, and class attributes hold the
values that most objects share, so that making an object stays cheap: slots have no defaults, and each would have to be filled.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from ..engine.value import Value
    from .node import AccumulateGrad, Node

__all__ = [
    "DICT", "FIELDS", "Contents", "Fields", "Instance", "UsersAttributes", "copy_fields", "new", "new_storage", "next_period",
]  # fmt: skip

_period = 0


def next_period() -> int:
    """Begins another period, as a transform does: what its function finds that was made in an earlier one, the function has captured."""
    global _period
    _period += 1
    return _period


class Fields:
    """The fields that every tensor has. All but the first have a value that most tensors share."""

    __slots__ = ()

    _storage: Any  # a Storage
    _view: Any  # a View, or None
    _requires_grad: bool  # a leaf that requires a gradient, or a result with a history
    _grad_fn: Node | None
    _output_nr: int
    _grad: Any  # a tensor, or None
    _accumulator: AccumulateGrad | None
    _leaf_hooks: dict[int, object] | None
    _post_accumulate_hooks: dict[int, Any] | None
    _retains_grad: bool
    _inference: bool
    _is_param: bool  # an object of a subclass that a Module takes as a parameter


class Contents:
    """The fields that every storage has: see ``Storage``. All but the first have a value that most storages share.

    A subclass may define properties of these names. So whoever reads the fields of the C structure checks first that the class is
    ``Storage`` itself.
    """

    __slots__ = ()

    value: Value
    version: int
    content_version: int
    host: Any  # HostMemory, or None
    writes_by_index: int
    writer: Any
    made_in: int  # the period that it was made in, see ``next_period``

    def __cinit__(self) -> None:  # compiled, it is called for each object
        self.made_in = _period


_SHARED: dict[str, object] = {
    "_view": None, "_requires_grad": False, "_grad_fn": None, "_output_nr": 0, "_grad": None, "_accumulator": None,
    "_leaf_hooks": None, "_post_accumulate_hooks": None, "_retains_grad": False, "_inference": False, "_is_param": False,
}  # fmt: skip
_SHARED_BY_STORAGES: dict[str, object] = {
    "version": 0, "content_version": 0, "host": None, "writes_by_index": 0, "writer": None,
}  # fmt: skip
FIELDS = ("_storage", *_SHARED)
_interpreted = not hasattr(Fields, "_view")
if _interpreted:
    for _class, _shared in (Fields, _SHARED), (Contents, _SHARED_BY_STORAGES):
        for _name, _value in _shared.items():
            setattr(_class, _name, _value)

    def _made(cls: type[Contents], *args: object) -> Any:  # what ``__cinit__`` does
        storage: Any = object.__new__(cls)
        storage.made_in = _period
        return storage

    Contents.__new__ = _made
# The slot for a dict, for classes whose objects need one only for fields.
DICT = ("__dict__",) if _interpreted else ()


# These make a tensor or a storage without calling its class. ``object.__new__`` refuses to where the fields lie in a C structure.
new = Fields.__new__
new_storage = Contents.__new__


def copy_fields(source: Fields, target: Fields) -> None:
    """Gives one tensor the fields of another."""
    for name in FIELDS:
        setattr(target, name, getattr(source, name))


class Instance(Fields):
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
