"""Indexing: ``x[...]`` read and written, with integers, slices, masks and tensors of indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core import dtypes
from ..._core.fields import requires_grad_flag, storage_of, stored_value, view_record
from ..._core.meta import on_meta, refuse_meta
from ..._core.modes import modes
from ..._core.tensor import Tensor, alias, from_host
from ..._core.views import HostView
from ..._core.vmapped import levels_of
from ...dispatch.inplace import check_writable, write, write_in_turn
from ...dispatch.on_host import is_basic, read_on_host, rows_on_host, write_on_host
from ...dispatch.overlap import Inner, Reading, refuse_overlap, warn_of_expanded
from ...dispatch.register import (
    Category,
    Form,
    Indices,
    Number,
    Promote,
    Sample,
    Saves,
    Validation,
    ValueCheck,
    composite,
    op,
)
from ...dispatch.warned import warn
from ...engine.aval import Aval
from ...engine.value import Unreadable
from ...numerics.numbers import number_for
from ...numerics.picking import outside, picked, picked_once
from ...numerics.scatter import add_at, set_at
from ...numerics.windows import FULL, TAKE, Entry
from ..shape.reshape import TENSOR_TYPES, common_shape
from ..shape.slicing import index_step, slice_entry, window, wrap_index

INDEX_DTYPES = frozenset({"int64", "int32", "uint8", "bool"})
NOT_AN_INDEX = "tensors used as indices must be long, int, byte or bool tensors"


# ---- what an index means


class Selection(NamedTuple):
    """What an index selects from tensors of one shape.

    ``entries`` and ``starts`` describe the view that its integers, slices, None and ... select: see ``numerics/windows.py``. ``items``
    is the rest: an entry for each of the view's dimensions, None or a tensor of indices or a mask; or None where there is no such entry.
    """

    entries: tuple[Entry, ...]
    starts: tuple[int, ...]
    items: list[Any] | None


# The selections of indices that were met before, at most so many.
_known: dict[tuple[object, ...], Selection] = {}
MAX_KNOWN = 4096
_are_plain = frozenset({int, type(None), type(Ellipsis)}).issuperset


def parse(tensor: Tensor, index: object) -> tuple[Tensor, list[Any] | None]:
    """The view that an index selects, and the ``items`` of its ``Selection``."""
    shape = tensor._aval.shape
    key = _key_of_basic(shape, index)
    selection = None if key is None else _known.get(key)
    if selection is None:
        selection = _selection(shape, index)
        if key is not None:
            if len(_known) >= MAX_KNOWN:
                _known.clear()
            _known[key] = selection
    entries, starts, items = selection
    if items is not None and all(entry == FULL for entry in entries):
        return tensor, items
    return window(tensor, entries, starts), items


def _key_of_basic(shape: tuple[int, ...], index: Any) -> tuple[object, ...] | None:
    """The shape and a basic index, as a key; None for an index with anything but integers, slices of integers, None and ... in it.

    Equal keys are equal indices, since only objects of these classes are in it: True is equal to 1, and a tensor to nothing known.
    """
    key: list[object] = [shape]
    numbers: list[object] = []
    for item in index if index.__class__ is tuple else (index,):
        if item.__class__ is slice:
            bounds = item.start, item.stop, item.step
            numbers += bounds
            key.append(bounds)
        else:
            numbers.append(item)
            key.append(item)
    return tuple(key) if _are_plain(map(type, numbers)) else None


def _selection(shape: tuple[int, ...], index: object) -> Selection:
    items = items_of(index)
    indexed_dims = 0
    for item in items:
        if isinstance(item, Tensor):
            indexed_dims += item.dim() if item.dtype.name in ("bool", "uint8") else 1
        elif item is not None and item is not Ellipsis and item.__class__ is not bool:
            indexed_dims += 1
    if len(items) > 1 and all(item is Ellipsis for item in items):
        items = []
    rank = len(shape)
    if indexed_dims > rank:
        if rank == 0 and all(isinstance(item, (int, np.integer)) for item in items):
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
                "tensor to a number"
            )
        if rank == 0 and isinstance(items[0], slice):
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        raise IndexError(f"too many indices for tensor of dimension {rank}")
    entries = []  # of the view, as ``numerics/windows.py`` describes them
    starts: list[int] = []
    advanced_items = []  # by dimension of the view
    advanced = False
    dim = 0
    for position, item in enumerate(items):
        if isinstance(item, Tensor):
            masks = item.dtype.name in ("bool", "uint8")
            if item.dim() == 0 and item.dtype.category == dtypes.INTEGER and not masks and not levels_of(item._aval):
                item = item.item()  # within vmap each example may have another one: a tensor of indices
            else:
                if item.dtype.name not in INDEX_DTYPES:
                    raise IndexError(NOT_AN_INDEX)
                count = item.dim() if masks else 1
                entries += [FULL] * count if count else [None]
                advanced_items += [item] + [FULL] * (count - 1)
                dim += count
                advanced = True
                continue
        if item is None:
            entries.append(None)
            advanced_items.append(None)
        elif item is Ellipsis:
            count = rank - indexed_dims
            if position < len(items) - 1 or advanced:
                entries += [FULL] * count
                advanced_items += [None] * count
            dim += count
        elif item.__class__ is bool:
            entries.append(None)
            advanced_items.append(from_host(np.asarray(item)))
            advanced = True
        elif isinstance(item, slice):
            if dim >= rank:
                raise IndexError(
                    f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})"
                )
            entry, start = slice_entry(item, shape[dim])
            entries.append(entry)
            if entry != FULL:
                starts.append(start)
            advanced_items.append(None)
            dim += 1
        else:
            if dim >= rank:  # after a second ellipsis
                raise IndexError(f"index {_integer(item)} is out of bounds for dimension {position} with size 0")
            entries.append(TAKE)
            starts.append(wrap_index(_integer(item), position, shape[dim]))  # PyTorch names the place in the index
            dim += 1
    return Selection(tuple(entries), tuple(starts), advanced_items if advanced else None)


def items_of(index: object) -> list[Any]:
    """The entries of an index: lists and arrays made into tensors."""
    if isinstance(index, tuple):
        items = list(index)
    # PyTorch took the limit over from NumPy, along with this rule.
    elif isinstance(index, list) and len(index) < 32 and any(_stands_for_several(i) for i in index):
        items = index
    else:
        items = [index]
    return [_item(item) for item in items]


def _stands_for_several(item: object) -> bool:
    """Whether a list that holds such an item is read as a tuple is, as NumPy once did."""
    return item is None or item is Ellipsis or isinstance(item, (slice, Tensor, np.ndarray, Sequence))


def _item(item: Any) -> Any:
    if item is None or item is Ellipsis or isinstance(item, (int, slice, Tensor)):
        return item
    if isinstance(item, np.ndarray):
        return _as_indices(item)
    if isinstance(item, np.bool_):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got numpy.bool)"
        )
    if isinstance(item, str):
        raise TypeError("new(): invalid data type 'str'")
    if isinstance(item, Sequence):
        return _as_indices(_array_of(item))
    if hasattr(item, "__index__"):
        return item.__index__()
    raise IndexError(
        f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {type(item).__name__})"
    )


def _array_of(items: Sequence[object]) -> np.ndarray:
    def plain(item: object) -> Any:
        if isinstance(item, Tensor):
            return item._array()
        return [plain(i) for i in item] if isinstance(item, (list, tuple, range)) else item

    array = np.asarray(plain(items))
    return array.astype(np.int64) if array.size == 0 else array


def _as_indices(array: np.ndarray) -> Tensor:
    dtypes.from_numpy_dtype(array.dtype)
    return from_host(array.copy())


def _integer(item: Any) -> int:
    return item if item.__class__ is int else int(item)


def only_mask(items: Sequence[object]) -> Tensor | None:
    """The mask, of bools or bytes, if it is all there is and stands in front."""
    first, *others = items
    if (
        isinstance(first, Tensor)
        and first.dtype.name in ("bool", "uint8")
        and first.dim()
        and all(o is FULL or o is None for o in others)
    ):
        return first
    return None


def refuse_byte_mask(mask: Tensor) -> None:
    """Raises PyTorch's error where one number is written to the places of a mask of bytes."""
    if mask.dtype is dtypes.uint8:
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")


def expand_masks(shape: Sequence[int], items: list[Any]) -> list[Tensor | None]:
    """Index tensors alone: a mask becomes the positions of its true elements, for which it is read."""
    tensors = []
    dim = 0
    for item in items:
        if item is FULL:  # one of the dimensions that a mask before it covers
            continue
        if item is None or item.dtype.name not in ("bool", "uint8"):
            tensors.append(item)
            dim += 1
            continue
        array = _mask_array(item, shape, dim)
        if array.ndim == 0:
            tensors.append(from_host(np.zeros(int(array), np.int64)))
            dim += 1
        else:
            tensors += [from_host(column) for column in np.nonzero(array)]
            dim += array.ndim
    while tensors and tensors[-1] is None:
        tensors.pop()
    return tensors


def _mask_array(mask: Tensor, shape: Sequence[int], dim: int) -> np.ndarray:
    """The elements of a mask for the dimensions of this shape from ``dim`` on."""
    if mask.dtype is dtypes.uint8 and mask.dim():
        warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
    refuse_meta(mask, "nonzero")
    try:
        array = mask._array().astype(np.bool_, copy=False)
    except Unreadable:
        raise RuntimeError(
            "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a "
            "boolean mask."
        ) from None
    check_mask(array.shape, shape, dim)
    return array


def check_mask(mask: Sequence[int], shape: Sequence[int], dim: int) -> None:
    for k, n in enumerate(mask):
        if shape[dim + k] != n:
            raise IndexError(
                f"The shape of the mask {list(mask)} at index {k} does not match the shape of the indexed tensor {list(shape)} at "
                f"index {dim + k}"
            )


# ---- reading


def _number_of(index: Any) -> object:
    """The number in an integer without dimensions, which stands for it in an index (`_selection`); any other index as it is."""
    if index._aval.shape:
        return index
    dtype = index.dtype
    if dtype.category != dtypes.INTEGER or dtype is dtypes.uint8 or on_meta(index) or levels_of(index._aval):
        return index
    return index.item()


@composite(forms=Form.METHOD, name="__getitem__")
def getitem(self: Tensor, index: object) -> Tensor:
    """``x[index]``: a view for integers, slices, None and ...; a copy for masks and tensors of indices."""
    if index.__class__ is Tensor and self._aval.shape:
        index = _number_of(index)
    on_host = read_on_host(self, index, index_step)
    if on_host is not None:
        return on_host
    view, items = parse(self, index)
    if items is None:
        return view
    mask = only_mask(items)
    if mask is not None:
        array = _mask_array(mask, view.shape, 0)
        return index_places(view, from_host(np.flatnonzero(array)), array.ndim)
    return index_tensor(view, expand_masks(view.shape, items))


@composite(forms=Form.METHOD, name="_rows")
def rows(self: Tensor) -> Sequence[Tensor]:
    """``x[0], x[1], ...``: views, read at once where the elements lie on the host."""
    if self.__class__ is Tensor and not modes.any_slow_mode:
        on_host = rows_on_host(self, index_step)
        if on_host:
            return on_host
    return self.unbind(0)  # pyright: ignore[reportAttributeAccessIssue]


def _out_of_range(input: Array | Tensor, indices: Any, *others: object) -> tuple[object, object]:
    """Whether an index is out of range, and the first such: the number of its tensor and the index in one integer."""
    bad, value = False, 0
    dims = [dim for dim, i in enumerate(indices) if i is not None]
    index_shape = lax.broadcast_shapes(*[indices[dim].shape for dim in dims])
    if 0 in (*index_shape, *[n for dim, n in enumerate(input.shape) if dim not in dims]):
        return bad, value  # nothing is selected, so nothing is looked at
    # Backwards, so that the first tensor with a wrong index is the one that the error names.
    for number, dim in reversed(list(enumerate(dims))):
        index, size = indices[dim], input.shape[dim]
        if index.size == 0:
            continue
        any_wrong, first = outside(index, size, -size)
        first = first.astype(np.int64) + (number << 48)
        # ``where`` by arithmetic: the function runs on NumPy and JAX arrays alike.
        counts = any_wrong.astype(np.int64)
        value = counts * first + (1 - counts) * value
        bad = bad | any_wrong
    return bad, value


def _error(value: int, input: object, indices: Any, *others: object, avals: Sequence[Aval]) -> Exception:
    # An index may be negative and then has borrowed one from the number, which rounding puts back.
    number = (value + (1 << 47)) >> 48
    index = value - (number << 48)
    dim = [d for d, i in enumerate(indices) if i is not None][number]
    return IndexError(f"index {index} is out of bounds for dimension {number} with size {avals[0].shape[dim]}")


def _subscript(input: Array, indices: Sequence[Array]) -> tuple[object, ...]:
    shapes = [i.shape for i in indices if i is not None]
    try:
        lax.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join(str(list(s)) for s in shapes)
        ) from None
    for dim, index in enumerate(indices):
        if index is not None and index.size and input.shape[dim] == 0:
            raise IndexError("index is out of bounds for dimension with size 0")
    return tuple(slice(None) if i is None else i for i in indices)


@op(
    name="_index",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="IndexBackward0",
    saves=Saves.INPUTS,
    check=ValueCheck(_out_of_range, _error),
    samples=[Sample(shapes=((3, 4),), values=([0, 2, 2],))],
)
def index_tensor(input: Array, indices: list[Indices]) -> Array:
    """``input[indices]`` for tensors of indices, None standing for a whole dimension."""
    _subscript(input, indices)
    return picked(input, indices, from_end=True)


@op(
    name="_index_places",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="IndexBackward0",
    saves=Saves.INPUTS,
    samples=[],
)
def index_places(input: Array, places: Indices, dims: int) -> Array:
    """The elements that a mask of the first dimensions has read, by their places."""
    return picked_once(input, places, dims)


# ---- writing


@composite(forms=Form.METHOD, name="__setitem__")
def setitem(self: Tensor, index: object, value: object) -> None:
    """``x[index] = value``: writes in place, numbers and broadcast tensors alike."""
    if not isinstance(value, Tensor) and not isinstance(value, (int, float, complex, np.integer)):
        # Of NumPy's numbers PyTorch takes integers, and float64 and complex128, which are Python's too.
        raise TypeError(f"can't assign a {_type_name(value)} to a {_tensor_type(self)}")
    if index.__class__ is Tensor and self._aval.shape:
        index = _number_of(index)
    if index is False or write_on_host(self, index, value):
        return
    if on_meta(self) and isinstance(index, Tensor) and index.dtype is dtypes.bool_:
        _check_unpacks(value)
        check_mask(tuple(index.shape), tuple(self.shape), 0)
        write(self, self.clone())  # pyright: ignore[reportAttributeAccessIssue]  # where the mask is true need not be known
        return
    if isinstance(value, Tensor) and _is_there_already(self, index, value):
        check_writable(self)
        storage_of(self).write(stored_value(self))
        return
    view, items = parse(self, index)
    if items is None:
        put(view, value)
        return
    if not isinstance(value, Tensor):
        value = scalar_like(view, value)
    put_indexed(view, items, value)


def _is_there_already(tensor: Tensor, index: object, value: Tensor) -> bool:
    """Whether a view that was read from host memory is the one that this index selects: ``x[i] += 1`` ends with storing what is there."""
    view = view_record(value)
    if not isinstance(view, HostView) or view.base is not tensor or requires_grad_flag(value):
        return False
    return is_basic(index) and view.is_at(index, storage_of(tensor))  # among tuples (True, 0) equals (1, 0)


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _tensor_type(tensor: Tensor) -> str:
    return f"torch.{TENSOR_TYPES.get(tensor.dtype.name, tensor.dtype.scalar_name)}Tensor"


def _check_unpacks(value: object) -> None:
    """Raises the error with which PyTorch refuses to assign an int that is no int64, also to a tensor of another dtype."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("Overflow when unpacking long long")


def scalar_like(tensor: Tensor, value: object) -> Tensor:
    """A number as a 0-dim tensor of the tensor's dtype and device."""
    _check_unpacks(value)
    return scalar(tensor, number_for(value, tensor.dtype, alone=True))


@op(
    name="_scalar_like",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    differentiable=False,
    samples=[Sample(shapes=((3,),), args=(2,))],
)
def scalar(input: Array, value: Number) -> Array:
    """A number as a 0-dim array of the input's dtype."""
    return jnp.asarray(value).astype(input.dtype)


@op(
    name="_filled",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    differentiable=False,
    samples=[Sample(shapes=((3,),), args=(2,))],
)
def filled(input: Array, value: Number) -> Array:
    """An array like the input, each element ``value``."""
    return jnp.broadcast_to(jnp.asarray(value).astype(input.dtype), input.shape)


def put(view: Tensor, value: object) -> None:
    """Writes a number or a tensor that broadcasts into a tensor, in place."""
    check_writable(view)
    if not isinstance(value, Tensor):
        _check_unpacks(value)
        write(view, filled(view, number_for(value, view.dtype, alone=True)), inner=Inner.IN_WINDOWS)
        return
    if (
        storage_of(value) is storage_of(view)
        and view_record(value) is not None
        and value.is_set_to(view)
        and not view._geometry.overlaps  # PyTorch's gradients of such a write are those of a copy
    ):
        storage_of(view).write(stored_value(view))  # ``x[i] += 1`` ends with storing what is there already
        return
    shape, size = list(view.shape), list(value.shape)
    while len(size) > len(shape) and size[0] == 1:
        size.pop(0)
    if len(size) != value.dim():
        value = value.reshape(size)
    if size != shape:
        value = value.expand(shape)
    refuse_overlap(Reading.SAME_PLACES, view, [value])
    write(view, value if value.dtype is view.dtype else value.to(view.dtype), inner=Inner.IN_WINDOWS)


def put_indexed(view: Tensor, items: list[object], value: Tensor, accumulate: bool = False) -> None:
    """Writes a tensor to the places that masks and tensors of indices name, in place."""
    check_writable(view)
    mask = None if accumulate else only_mask(items)
    if mask is not None and value.numel() == 1:
        check_mask(mask.shape, view.shape, 0)
        refuse_byte_mask(mask)
        number, wide = value.reshape(()).to(view.dtype), trailing(mask, view)
        warn_of_expanded(view, "masked_fill_", "tensor[mask] = scalar")
        _change(view, lambda shown: fill_where(shown, wide, number))
        return
    refuse_overlap(Reading.ELSEWHERE, view, [value])
    warn_of_expanded(view, "index_put_", "tensor[indices] = tensor")
    if value.dtype is not view.dtype:
        refuse_dtypes(view, items, value)
    if mask is not None and mask.dtype is dtypes.bool_:
        check_mask(mask.shape, view.shape, 0)
        if value.dim() == view.dim() - mask.dim() + 1:
            _change(view, lambda shown: place_in_order(shown, mask, value))
            return
    places = expand_masks(view.shape, items)
    _change(view, lambda shown: put_at(shown, places, value, accumulate))


def refuse_dtypes(target: Tensor, indices: list[object], values: Tensor) -> None:
    """Raises PyTorch's error for values of another dtype than the tensor that they are put into; if their shape is wrong, it says that."""
    put_at(alias(target), expand_masks(target.shape, indices), alias(values).to(target.dtype), False)  # pyright: ignore[reportAttributeAccessIssue]
    raise RuntimeError(
        f"Index put requires the source and destination dtypes match, got {target.dtype.scalar_name} for the destination and "
        f"{values.dtype.scalar_name} for the source."
    )


def check_shape(source: Sequence[int], target: Sequence[int]) -> tuple[int, ...]:
    """The shape of values without leading ones that the places do not have; RuntimeError unless they can be broadcast to the places."""
    source, target = tuple(source), tuple(target)
    lead = len(source) - len(target)
    shape = source[lead:] if lead > 0 and source[:lead] == (1,) * lead else source
    try:
        fits = lax.broadcast_shapes(shape, target) == target
    except ValueError:
        fits = False
    if not fits or (source and not target):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(source)} cannot be broadcast to indexing result of shape {list(target)}"
        )
    return shape


def _change(view: Tensor, change: Callable[[Tensor], Tensor]) -> None:
    if view_record(view) is not None and view._geometry.overlaps:
        write_in_turn(view, change, Inner.ANYWHERE)
    else:
        write(view, change(view))


def trailing(mask: Tensor, tensor: Tensor) -> Tensor:
    """A mask over the first dimensions with dimensions of size 1 after them."""
    extra_dims = tensor.dim() - mask.dim()
    return mask.reshape([*mask.shape, *[1] * extra_dims]) if extra_dims else mask


@op(
    name="_masked_fill",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="IndexPutBackward0",
    saves=Saves.INPUTS,
    samples=[],
)
def fill_where(input: Array, mask: Indices, value: Array) -> Array:
    """``value`` (0-dim) where the mask says so."""
    return jnp.where(mask, value, input)


def _check_count(input: object, mask: Array | np.ndarray, values: Array | Tensor) -> tuple[object, object]:
    count = mask.sum()
    return (count != values.shape[0]) & (values.shape[0] != 1), count


def _wrong_count(value: int, *args: object, avals: Sequence[Aval]) -> Exception:
    target, mask, value_shape = (list(a.shape) for a in avals)
    return RuntimeError(
        f"shape mismatch: value tensor of shape {value_shape} cannot be broadcast to indexing result of shape "
        f"{[value, *target[len(mask) :]]}"
    )


@op(
    name="_place_in_order",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="IndexPutBackward0",
    saves=Saves.INPUTS,
    check=ValueCheck(_check_count, _wrong_count),
    samples=[],
)
def place_in_order(input: Array, mask: Indices, values: Array) -> Array:
    """The n-th true element of the mask gets ``values[n]``, without anybody knowing how many there are."""
    inner = input.shape[mask.ndim :]
    _check_inner(values.shape, inner, mask.ndim)
    values = jnp.broadcast_to(values, (values.shape[0], *inner))
    if values.shape[0] == 0:
        return input
    numbers = jnp.cumsum(mask.reshape(-1).astype(np.int64)) - 1
    gathered = values.at[jnp.clip(numbers, 0, values.shape[0] - 1)].get(mode="promise_in_bounds").reshape(input.shape)
    return jnp.where(mask.reshape(mask.shape + (1,) * len(inner)), gathered, input)


def _check_inner(shape: Sequence[int], inner: Sequence[int], masked: int) -> None:
    for a, b in zip(shape[1:], inner, strict=True):
        if a not in (1, b):
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(shape)} cannot be broadcast to indexing result of shape "
                f"{[shape[0], *inner]}"
            )


@op(
    name="_index_put",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="IndexPutBackward0",
    saves=Saves.INPUTS,
    check=ValueCheck(_out_of_range, _error),
    samples=[],
)
def put_at(input: Array, indices: list[Indices], values: Array, accumulate: bool = False) -> Array:
    """``input`` with ``values`` at the places that the indices name, or added there."""
    subscript = _subscript(input, indices)
    target = jax.eval_shape(lambda array: array[subscript], input).shape
    source_shape = check_shape(values.shape, target)
    values = jnp.broadcast_to(values.reshape(source_shape), target)
    return add_at(input, subscript, values) if accumulate else set_at(input, tuple(indices), values)


# ---- filling by a mask


@op(
    name="_masked_fill_number",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="MaskedFillBackward0",
    samples=[],
)
def fill_number(input: Array, mask: Indices, value: Number) -> Array:
    """A number where the mask says so."""
    return jnp.where(mask, jnp.asarray(value).astype(input.dtype), input)


@op(
    name="_masked_fill_tensor",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="MaskedFillBackward1",
    samples=[],
)
def fill_tensor(input: Array, mask: Indices, value: Array) -> Array:
    """A 0-dim array where the mask says so."""
    return jnp.where(mask, value.astype(input.dtype), input)


@composite(
    forms=Form.FUNCTION | Form.METHOD | Form.INPLACE,
    validation=Validation(
        expanded=True, inplace=lambda self, *_, **__: warn_of_expanded(self, "masked_fill_", "tensor[mask] = scalar")
    ),
)
def masked_fill(input: Tensor, mask: Tensor, value: object) -> Tensor:
    """A number, or a 0-dim tensor, where ``mask`` is true, ``input`` elsewhere.

    >>> torch.masked_fill(torch.tensor([1, 2, 3]), torch.tensor([True, False, True]), 0)
    tensor([0, 2, 0])
    """
    if mask.dtype is not dtypes.bool_:
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {dtypes.C_NAMES.get(mask.dtype.name, mask.dtype.name)}"
        )
    common_shape([input.shape, mask.shape])
    if not isinstance(value, Tensor):
        return fill_number(input, mask, number_for(value, input.dtype))
    if value.dim():
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
        )
    if not dtypes.can_cast(value.dtype, input.dtype):
        number_for(value.item(), input.dtype)
    return fill_tensor(input, mask, value)


@composite(forms=Form.METHOD)
def fill_diagonal_(self: Tensor, fill_value: object, wrap: bool = False) -> Tensor:
    """Puts a number onto the main diagonal of this tensor.

    Args:
        wrap: whether the diagonal of a tall matrix begins anew, one row below its end.

    >>> torch.zeros(2, 3).fill_diagonal_(5)
    tensor([[5., 0., 0.],
            [0., 5., 0.]])
    """
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.dim() > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    if wrap and self.dim() == 2:
        height, width = self.shape
        rows = np.arange(height)
        rows = rows[rows % (width + 1) != width]
        where = (rows, rows % (width + 1))
    else:
        where = (np.arange(min(self.shape)),) * self.dim()
    self[tuple(from_host(indices.copy()) for indices in where)] = number_for(fill_value, self.dtype)
    return self


@composite(forms=Form.METHOD)
def __delitem__(self: Tensor, index: object) -> None:
    """Raises: a tensor keeps its size."""
    raise TypeError("Tensor does not support deleting items")
