"""Basic indexing: the views that integers, slices, None and ... make, and ``select`` and ``narrow``."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import Array

from ..._core.dtypes import INTEGER
from ..._core.fields import requires_grad_flag, storage_of, view_record
from ..._core.modes import modes
from ..._core.strided import whole
from ..._core.tensor import Tensor, from_host, wrap_dim
from ..._core.views import ViewStep
from ...dispatch.apply import static_of, view_of
from ...dispatch.arguments import check_value
from ...dispatch.bindings import DISPATCHER_OF
from ...dispatch.lowering import TENSOR
from ...dispatch.register import Category, Form, Promote, Sample, Saves, composite, op
from ...engine.recorder import recorder
from ...engine.value import Value
from ...numerics.windows import FULL, TAKE, Entry, read_slices

if TYPE_CHECKING:
    from ...engine.aval import Aval


def _backward_name(input: Aval, index: tuple[Entry, ...], starts: Sequence[int]) -> str:
    if not index:
        return "AliasBackward0"
    # PyTorch makes a node for each dimension that is indexed, and a view shows the last of them.
    last = index[-1]
    return "UnsqueezeBackward0" if last is None else "SelectBackward0" if last == TAKE else "SliceBackward0"


@op(
    name="_slice",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    view=True,
    backward=_backward_name,
    saves=Saves.NOTHING,
    samples=[
        Sample(shapes=((3, 4),), args=((TAKE, (2, 2)), (1, 0))),
        Sample(shapes=((3, 4),), args=((None, FULL, (3, 1)), (1,))),
    ],
)
def basic_index(input: Array, index: Any, starts: Any) -> Array:
    """Selects the elements of a basic index. ``torchlike/numerics/windows.py`` describes entries and starts."""
    return read_slices(input, index, starts)


def window(input: Tensor, index: tuple[Entry, ...], starts: tuple[int, ...]) -> Tensor:
    """The view at ``starts``.

    Where a loop walks along a tensor, the starts become an input, so that one program serves all of its rounds: that is the
    case once a place in the trace has shown more than three, or the whole program many.
    """
    on_host = _window_on_host(input, index, starts)
    if on_host is not None:
        return on_host
    if not starts:
        return basic_index(input, index, starts)
    if recorder().varies((index, input._aval), starts):
        return basic_index(input, index, from_host(np.asarray(starts, np.int64)))
    return basic_index(input, index, starts)


def _window_on_host(input: Tensor, index: tuple[Entry, ...], starts: tuple[int, ...]) -> Tensor | None:
    """The view, read at once from memory that lies on the host: a dataset's samples never pass through a program.

    None where there is a history to record, the elements lie on a device, or the input is a view itself.
    """
    if view_record(input) is not None:
        return None
    storage = storage_of(input)
    host, value = storage.host, storage.value
    if (host is None and value.array is None) or requires_grad_flag(input) or modes.duals is not None:
        return None
    shared = host is not None and host.shared
    memory = host.array if host is not None and shared else value.array
    if memory.__class__ is not np.ndarray or not memory.flags.c_contiguous:
        return None
    args = (TENSOR, index, starts)
    step = ViewStep(DISPATCHER_OF["_slice"], static_of(args), args, 0)
    piece = step.layout(whole(memory.shape)).window(memory)
    # Where NumPy shares the memory it may be written to at any time, and values never change, so the value gets a copy.
    window = Value.on_host(piece.copy() if shared else piece, value.aval.placement)
    return view_of(input, step, window)


def slice_entry(item: slice, size: int) -> tuple[Entry, int]:
    """The entry of a slice along a dimension of this size, and its start."""
    for bound in (item.start, item.stop, item.step):
        if bound is not None and not hasattr(bound, "__index__"):
            raise TypeError("slice indices must be integers or None or have an __index__ method")
    step = 1 if item.step is None else int(item.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step < 0:
        raise ValueError("step must be greater than zero")
    start = 0 if item.start is None else int(item.start)
    stop = size if item.stop is None else int(item.stop)
    start = min(max(start + size if start < 0 else start, 0), size)
    stop = min(max(stop + size if stop < 0 else stop, start), size)
    if step == 1 and stop - start == size:
        return FULL, 0
    return (-(-(stop - start) // step), step), start


def index_step(index: Any, shape: tuple[int, ...]) -> ViewStep:
    """The step of ``x[index]`` for integers and slices that are known to be valid."""
    entries: list[Entry] = []
    starts: list[int] = []
    for item, size in zip(index if index.__class__ is tuple else (index,), shape, strict=False):
        if item.__class__ is int:
            entries.append(TAKE)
            starts.append(item + size if item < 0 else item)
            continue
        entry, start = slice_entry(item, size)
        entries.append(entry)
        if entry != FULL:
            starts.append(start)
    args = (TENSOR, tuple(entries), tuple(starts))
    return ViewStep(DISPATCHER_OF["_slice"], static_of(args), args, 0)


def wrap_index(index: int, dim: int, size: int) -> int:
    """An index as a non-negative one; IndexError in PyTorch's words where there is no such element."""
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {size}")
    return index + size if index < 0 else index


@composite(forms=Form.FUNCTION | Form.METHOD)
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The slice at one index of a dimension, without that dimension, as a view.

    >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 1, 0)
    tensor([1, 3])
    """
    shape = input.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim, index = wrap_dim(dim, len(shape)), int(index)
    size = shape[dim]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return window(input, (FULL,) * dim + (TAKE,), (index + size if index < 0 else index,))


@composite(forms=Form.FUNCTION | Form.METHOD)
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """``length`` elements of a dimension from ``start`` on, as a view.

    >>> torch.narrow(torch.tensor([1, 2, 3, 4]), 0, 1, 2)
    tensor([2, 3])
    """
    shape = input.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if not isinstance(start, Tensor):
        check_value("narrow", "start", None, "int", start)
    length = operator.index(length)  # a tensor is read here, before anything is recorded
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if isinstance(start, Tensor) and (start.dim() or start.dtype.category != INTEGER):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    dim, start, length = wrap_dim(dim, len(shape)), int(start), int(length)
    size = shape[dim]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start = start + size if start < 0 else start
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return window(input, (FULL,) * dim + ((length, 1),), (start,))


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT)
def narrow_copy(input: Tensor, dim: int, start: object, length: int) -> Tensor:
    """As ``narrow``, with memory of its own."""
    check_value("narrow_copy", "start", None, "int", start)
    return narrow(input, dim, start, length).clone()
