"""Reads and writes elements, rows and windows straight in host memory, for tensors that a program uses as tables."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.fields import inference_flag, requires_grad_flag, storage_of, tensor_at, view_record
from .._core.modes import modes
from .._core.storage import Storage
from .._core.tensor import Tensor
from .._core.views import DEFAULT, IN_INFERENCE, IN_NO_GRAD, ONE_OF_SEVERAL, HostView, ViewStep, with_dots
from ..engine import checks
from ..engine.aval import Aval, known_aval
from ..engine.recorder import recorder
from ..engine.value import Value
from ..numerics.numbers import number_for

# The first writes into a tensor are recorded like other ops: they may be part of a step that is compiled as a whole. A tensor that is
# written to more often than this is a table. Its value is computed before the write, if it is pending.
RECORDED_WRITES = 4
# An operation on a view of a table is computed at once if no more than this is pending before.
MAX_PENDING = 4 * RECORDED_WRITES
# From so many rows on, a loop over a tensor has it computed before.
MANY_ROWS = 64


MakeStep = Callable[[Any, tuple[int, ...]], ViewStep]


def _readable(tensor: Tensor, several: bool) -> tuple[np.ndarray, Value, Storage, object, int, bool] | None:
    """Of a tensor whose elements lie on the host: what all views of it have in common.

    That is the memory, the value, the storage, the base, its ``origin``, and whether NumPy may write to the memory. None where there is a
    history to record, or the elements lie on a device; also for a view of memory that NumPy shares.
    """
    storage, parent = storage_of(tensor), view_record(tensor)
    host = storage.host
    if host is None and not several and (storage if parent is None else parent).value.array is None:
        return None  # pending, as in most programs
    shared = host is not None and host.shared
    if parent is None:
        value, base, origin = storage.value, tensor, DEFAULT
    elif shared:
        return None
    else:
        value, base, origin = tensor._value(), tensor if parent.base is None else parent.base, parent.origin
    if modes.duals is not None:  # the view's tangent is to be a view too
        return None
    if requires_grad_flag(tensor):  # of a view not before it was read: its base may have a history since
        return None
    memory = host.array if host is not None and shared else value.array
    if memory.__class__ is not np.ndarray:
        if not several or memory is None or value.traced or value.aval.placement.platform != "cpu":
            return None
        memory = np.array(memory)  # of its own, since a program may write over that of a JAX array
    if several:
        origin = ONE_OF_SEVERAL
    if not modes.grad_enabled:
        origin = IN_INFERENCE if modes.inference else IN_NO_GRAD
    return memory, value, storage, base, origin, shared


def read_on_host(tensor: Tensor, place: object, make_step: MakeStep) -> Tensor | None:
    """The view ``tensor[place]`` for a basic index, read at once from memory that lies on the host. None where it has to be recorded.

    Args:
        make_step: makes the step of the view for a place and the shape of the tensor.
    """
    found = _readable(tensor, False)
    # The usual index first, without a call.
    dotted = (place, ...) if place.__class__ is int else with_dots(place) if is_basic(place) else None
    if found is None or dotted is None:
        return None
    memory, value, storage, base, origin, copied = found
    try:
        piece = memory[dotted]  # pyright: ignore[reportArgumentType, reportCallIssue]
    except IndexError:  # reported in PyTorch's words where it is recorded
        return None
    shape, placement = value.aval.shape, value.aval.placement
    aval = known_aval((piece.shape, piece.dtype, placement))
    if aval is None:
        aval = Aval(piece.shape, piece.dtype, placement.decided)
    parent, step = view_record(tensor), (make_step, place, shape)
    window = Value.over(aval, piece.copy() if copied else piece)
    if parent is None:
        view = HostView((), (step,), window, storage, base, origin)
    else:
        view = HostView.of(parent, step, window, storage, base, origin)
    return tensor_at(storage, view, inference_flag(tensor))


def rows_on_host(tensor: Tensor, make_step: MakeStep) -> list[Tensor] | None:
    """The views ``tensor[0], tensor[1], ...``, which come from one call, as ``read_on_host`` reads them.

    Many rows are many operations, for whatever is done with them. So what is pending is run before them, instead of being part of
    a program of so many outputs.
    """
    if tensor._aval.shape[0] >= MANY_ROWS and not requires_grad_flag(tensor):
        value = tensor._value()
        if not value.traced and value.aval.placement.platform == "cpu":
            value.finish()
    found = _readable(tensor, several=True)
    if found is None:
        return None
    memory, value, storage, base, origin, copied = found
    if copied:
        memory = memory.copy()
    parent, inference, shape = view_record(tensor), inference_flag(tensor), value.aval.shape
    aval = Aval(shape[1:], memory.dtype, value.aval.placement.decided)
    over, view_of = Value.over, HostView.of
    # Python's collector looks through all that exists, again and again, while many objects are made: three quarters of the time.
    collects = gc.isenabled()
    try:
        gc.disable()
        return [
            tensor_at(
                storage,
                view_of(parent, (make_step, i, shape), over(aval, memory[i, ...]), storage, base, origin),
                inference,
            )
            for i in range(shape[0])
        ]
    finally:
        if collects:
            gc.enable()


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
        or not is_basic(index)
        or modes.any_slow_mode
        or recorder().op_by_op
    ):
        return False
    if storage.writes_by_index < RECORDED_WRITES:
        storage.writes_by_index += 1
        return False
    number = None
    if isinstance(value, Tensor):
        if storage_of(value) is storage:
            return False
        source = _computed_array(value)
        if source is None or value.dtype is not tensor.dtype:
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


def write_window_on_host(tensor: Tensor, result: Tensor) -> bool:
    """Whether the result of an in-place operation (``table[i] += 1``) was written into a view here, in the memory of its storage.

    The result is computed first, unless that would cut a step of a loop in two: if other operations are pending whose inputs come out
    of a program.
    """
    storage, view = storage_of(tensor), view_record(tensor)
    if (
        view is None
        or storage.__class__ is not Storage
        or requires_grad_flag(tensor)
        or requires_grad_flag(result)
        or (modes.grad_enabled and view.base is not None and requires_grad_flag(view.base))
        or inference_flag(tensor)
        or storage.host is not None
        or modes.any_slow_mode
        or recorder().op_by_op
        or view.value.aval.dtype is not storage.value.aval.dtype
        or result._aval is not view.value.aval
        or view.computes
        or view.overlaps(storage)
    ):
        return False
    if storage.writes_by_index < RECORDED_WRITES:
        storage.writes_by_index += 1
        return False
    segment = recorder().segment
    cursor = segment.cursor
    if (
        cursor.depth > MAX_PENDING
        or cursor.checked
        or cursor.group is not None
        or not _are_on_host(map(type, segment.leaf_arrays))
    ):
        return False
    value = result._value()
    array = value.numpy()
    view.value = value  # since the value that it had refers to the storage's memory
    view.content_version = -1
    if not _make_owned(storage) or not storage.value.array.flags.c_contiguous:
        return False
    storage.content_version += 1  # first, so that no view misses a write that is interrupted
    np.copyto(view.window(storage), array)
    storage.version += 1
    view.content_version = storage.content_version
    return True


def is_basic(index: Any) -> bool:
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
_are_on_host = frozenset({np.ndarray}).issuperset
_NOTHING: set[object] = set()


def _computed_array(tensor: Tensor) -> Any:
    """The elements of a tensor that needs no gradient, if they lie on the host already."""
    array = tensor._value().array  # first, since reading a view may give it a history
    return array if array.__class__ is np.ndarray and not requires_grad_flag(tensor) else None


def _make_owned(storage: Storage) -> bool:
    """Whether the storage's value is on the host, in writable memory that nothing else can reach. Brings it there if need be.

    What is known of its elements is forgotten, since they are about to change.
    """
    value = storage.value
    if value.traced or value.aval.placement.platform != "cpu" or value.aval.dtype.kind == "V":
        return False
    if value.finish().__class__ is not np.ndarray:
        storage.value = Value.on_host(np.array(value.array), value.aval.placement)
    del value
    if _references(storage) != _OWNED:
        # Something else holds the value and must keep it unchanged, so the storage continues with a copy.
        storage.value = Value.on_host(storage.value.array.copy(), storage.value.aval.placement)
    storage.value.passed = _NOTHING
    return _references(storage) == _OWNED


def _references(storage: Storage) -> tuple[int, int, bool]:
    """How many references there are to a storage's value and to its array, and whether the array may be written to."""
    value = storage.value
    array = value.array
    return sys.getrefcount(value), sys.getrefcount(array), array.flags.owndata and array.flags.writeable


# The reference counts of a value that nothing else holds. They are measured, since they depend on the version of Python.
_OWNED = _references(Storage(Value.on_host(np.zeros(1))))
