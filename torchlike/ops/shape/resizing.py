"""Another size for a memory that tensors lie in: ``UntypedStorage.resize_``."""

from __future__ import annotations

import gc
import math
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from ..._core.fields import move_to_storage, steps_of, storage_of, view_record
from ..._core.storage import DetachedStorage, Storage
from ..._core.tensor import Tensor, from_value
from ..._core.views import DEFAULT, View
from ...engine.aval import META, Aval
from ...engine.value import Value
from .reshape import view_as_shape
from .slicing import window

__all__ = ["holders_of", "resize", "shrunk"]

T = TypeVar("T")

# The bytes that a memory has left for the program, where it has been made shorter than its tensors are.
shrunk: WeakKeyDictionary[Storage, int] = WeakKeyDictionary()


def resize(root: Storage, size: int) -> None:
    """Gives a memory so many bytes.

    If it gets longer, its value is replaced by a longer one, of which the tensors over the memory become views. If it gets shorter, the
    tensors keep their shapes, as PyTorch's do, so their elements stay; without any byte they are dropped.
    """
    aval = root.value.aval
    item = aval.dtype.itemsize
    count = math.prod(aval.shape)
    if size < count * item:
        shrunk[root] = size
        if not size:
            _replace(root, _zeros(aval.shape, aval))
        return
    shrunk.pop(root, None)
    if size // item > count:
        _lengthen(root, count, size // item)


def _zeros(shape: tuple[int, ...], aval: Aval) -> Value:
    if aval.placement is META:
        return Value.without_data(Aval(shape, aval.dtype, META))
    return Value.on_host(np.zeros(shape, aval.dtype), aval.placement)


def _replace(root: Storage, value: Value) -> None:
    """Puts a value into a memory without counting a write."""
    root.value = value
    root.host = None
    root.content_version += 1


def _lengthen(root: Storage, count: int, longer: int) -> None:
    before = root.read()
    shape, aval = before.aval.shape, before.aval
    if aval.placement is META:
        value = Value.without_data(Aval((longer,), aval.dtype, META))
    else:
        array = np.zeros(longer, aval.dtype)
        array[:count] = before.numpy().reshape(-1)
        value = Value.on_host(array, aval.placement)
    holders = [(tensor, view_record(tensor)) for tensor in _tensors_over(root)]
    current = [view is None or view.content_version == root.content_version for _, view in holders]
    prefix = steps_of(view_as_shape(window(from_value(value), ((count, 1),), (0,)), shape))
    _replace(root, value)
    for (tensor, view), is_current in zip(holders, current, strict=True):
        base, origin = (None, DEFAULT) if view is None else (view.base, view.origin)
        steps = (*prefix, *steps_of(tensor))
        storage = storage_of(tensor)
        shown = before if view is None else view.value
        version = root.content_version if is_current else -1
        move_to_storage(tensor, storage, View(steps, shown, version, base, origin, storage.version))


def _tensors_over(root: Storage) -> list[Tensor]:
    """All tensors that lie in a memory, also those that only views or graph nodes refer to."""
    gc.collect()
    storages: list[Storage] = [root, *holders_of(root, DetachedStorage)]
    return [holder for one in storages for holder in holders_of(one, Tensor)]


def holders_of(held: object, kinds: type[T] | tuple[type[T], ...]) -> list[T]:
    """The objects of these kinds that have an object among their attributes. Python may keep these in a dictionary beside the object."""
    found = []
    for holder in gc.get_referrers(held):
        if isinstance(holder, kinds):
            found.append(holder)
        elif type(holder) is dict:
            found += [owner for owner in gc.get_referrers(holder) if isinstance(owner, kinds)]
    return found
