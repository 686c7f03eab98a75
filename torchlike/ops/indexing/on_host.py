"""Writes single elements, rows and windows straight into host memory, for tensors that a program uses as tables."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..._core.fields import inference_flag, requires_grad_flag, storage_of, view_record
from ..._core.modes import modes
from ..._core.storage import Storage
from ..._core.tensor import Tensor
from ...engine import checks
from ...engine.recorder import recorder
from ...engine.value import Value
from ...numerics.numbers import number_for

# The first writes into a tensor are recorded like other ops: they may be part of a step that is compiled as a whole. A tensor that is
# written to more often than this is a table. Its value is computed before the write, if it is pending.
RECORDED_WRITES = 4


def write_on_host(tensor: Tensor, index: object, value: object) -> bool:
    """Whether ``tensor[index] = value`` was done here: by NumPy, in the memory of the tensor itself.

    Values are immutable, so that may only be where nothing but the tensor's storage can reach the value, and nothing but the value
    its array: the reference counts of both say so. A graph that saved the value, a program that is to read it, a view of the
    array, each holds a reference.
    """
    storage = storage_of(tensor)
    if (
        storage.__class__ is not Storage
        or view_record(tensor) is not None
        or requires_grad_flag(tensor)
        or inference_flag(tensor)
        or storage.host is not None
        or not _is_basic(index)
        or modes.any_slow_mode
        or recorder().op_by_op
    ):
        return False
    if storage.writes_by_index < RECORDED_WRITES:
        storage.writes_by_index += 1
        return False
    number = None
    if isinstance(value, Tensor):
        source = _computed_array(value)
        if source is None or storage_of(value) is storage or value.dtype is not tensor.dtype:
            return False
    else:
        source = number = number_for(value, tensor.dtype, alone=True)
    if not _make_owned(storage):
        return False
    # No write may happen after a wrong index. So while a check is pending, this write is recorded behind it.
    if recorder().segment.cursor.checked:
        return False
    checks.raise_failed()
    array = storage.value.array
    try:
        if number is None and array[index].shape != source.shape:
            return False
        storage.content_version += 1  # first, so that no view misses a write that is interrupted
        array[index] = source
    except (IndexError, OverflowError, TypeError, ValueError):  # reported in PyTorch's words where it is recorded
        return False
    storage.version += 1
    return True


def _is_basic(index: Any) -> bool:
    """Whether NumPy and PyTorch read the index alike: integers, and slices that go forward."""
    for item in index if index.__class__ is tuple else (index,):
        kind = item.__class__
        if kind is slice:
            step = item.step
            if (item.start.__class__ not in _ENDS or item.stop.__class__ not in _ENDS) or not (
                step is None or (step.__class__ is int and step > 0)
            ):
                return False
        elif kind is not int:
            return False
    return index.__class__ is not tuple or bool(index)


_ENDS = (int, type(None))


def _computed_array(tensor: Tensor) -> Any:
    """The elements of a tensor that needs no gradient, if they lie on the host already."""
    if requires_grad_flag(tensor):
        return None
    array = tensor._value().array
    return array if array.__class__ is np.ndarray else None


def _make_owned(storage: Storage) -> bool:
    """Whether the storage's value is on the host, in writable memory that nothing else can reach. Brings it there if need be."""
    value = storage.value
    if value.traced or value.aval.placement.platform != "cpu" or value.aval.dtype.kind == "V":
        return False
    if value.finish().__class__ is not np.ndarray:
        storage.value = Value.on_host(np.array(value.array), value.aval.placement)
    del value
    if _references(storage) != _OWNED:
        # Something else holds the value and must keep it unchanged, so the storage continues with a copy.
        storage.value = Value.on_host(storage.value.array.copy(), storage.value.aval.placement)
    return _references(storage) == _OWNED


def _references(storage: Storage) -> tuple[int, int, bool]:
    """How many references there are to a storage's value and to its array, and whether the array may be written to."""
    value = storage.value
    array = value.array
    return sys.getrefcount(value), sys.getrefcount(array), array.flags.owndata and array.flags.writeable


# The reference counts of a value that nothing else holds. They are measured, since they depend on the version of Python.
_OWNED = _references(Storage(Value.on_host(np.zeros(1))))
