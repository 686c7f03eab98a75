"""Views by stride: diagonals, sliding windows, ``as_strided``; and the in-place forms that turn a tensor into a view of itself."""

from __future__ import annotations

import gc
import itertools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.annotations import MemoryFormat
from ..._core.fields import (
    count_write,
    is_whole_storage,
    move_to_storage,
    rebase,
    root_of,
    storage_of,
    version_of,
    view_record,
)
from ..._core.layouts import channels_last, channels_last_3d, memory_format, preserve_format
from ..._core.modes import carries, modes, same_tangent
from ..._core.sparse import is_sparse, unsupported
from ..._core.storage import DetachedStorage, Storage
from ..._core.strided import Strided, contiguous_strides, memory_order
from ..._core.tensor import Tensor, from_storage, wrap_dim
from ..._core.views import DEFAULT, View
from ..._core.vmapped import levels_of
from ...dispatch.apply import without_derivative
from ...dispatch.arguments import misfit_error
from ...dispatch.inplace import check_not_inference, check_writable
from ...dispatch.options import Resizing, check_grows, with_unset_filled
from ...dispatch.pullback import MissingRule, no_tangent
from ...dispatch.register import CATALOG, Category, Form, Promote, Sample, Saves, composite, op
from ...dispatch.type_names import type_name
from ...dispatch.warned import Determinism
from ...engine.aval import check_countable
from .complex_numbers import conj_view, is_conj, is_neg, neg_view, view_as_real
from .reshape import copy_as_shape, permute, view_as_shape
from .resizing import holders_of
from .slicing import window
from .storages import TypedStorage, UntypedStorage, in_elements_of


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    view=True,
    saves=Saves.NOTHING,
    samples=[
        Sample(shapes=((3, 4),)),
        Sample(shapes=((3, 4),), args=(-1,)),
        Sample(shapes=((2, 3, 4),), args=(1, 0, 2)),
    ],
)
def diagonal(input: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """The diagonals of the matrices that two dimensions form, as the last dimension of a view.

    >>> torch.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    a, b = wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if isinstance(input, Strided):
        return input.diagonal(offset, a, b)
    rows, columns = input.shape[a], input.shape[b]
    if not (-rows < offset < columns):
        other_sizes = [n for d, n in enumerate(input.shape) if d not in (a, b)]
        return jnp.zeros((*other_sizes, 0), input.dtype)
    return jnp.diagonal(input, offset, a, b)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.METHOD,
    view=True,
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 7),), args=(1, 3, 2)), Sample(shapes=((4,),), args=(0, 2, 1))],
)
def unfold(input: Array, dimension: int, size: int, step: int) -> Array:
    """Windows of ``size`` elements, ``step`` apart, along a dimension: the last dimension of a view.

    >>> torch.tensor([1, 2, 3, 4]).unfold(0, 2, 1)
    tensor([[1, 2],
            [2, 3],
            [3, 4]])
    """
    dim = wrap_dim(dimension, input.ndim)
    if input.ndim == 0:
        input = input.reshape((1,))
        flat = True
    else:
        flat = False
    most = input.shape[dim]
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > most:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {most} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if isinstance(input, Strided):
        strided: Any = Strided([size], [1], input.offset) if flat else input.windows(dim, size, step)
        return strided
    count = (most - size) // step + 1
    grid = np.arange(count)[:, None] * step + np.arange(size)  # (windows, size)
    windows = jnp.take(input, grid, axis=dim, mode="clip")
    moved = jnp.moveaxis(windows, dim + 1, -1)
    return moved.reshape((size,)) if flat else moved


@op(
    name="_as_strided",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    view=True,
    backward="AsStridedBackward0",
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 4),), args=((2, 2), (1, 2), 1))],
)
def strided_view(input: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int) -> Array:
    """The elements at any places of memory without gaps: a whole storage, or a part of it, from whose beginning places count."""
    if isinstance(input, Strided):
        placed: Any = Strided(size, stride, input.offset + storage_offset)
        return placed
    layout = Strided(size, stride, storage_offset)
    check_countable(layout.shape, input.dtype.itemsize)
    return input.reshape(-1).at[layout.positions()].get(mode="promise_in_bounds")


@composite(forms=Form.FUNCTION | Form.METHOD)
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A view of the memory by shape, strides and offset, counted in elements of the storage.

    >>> torch.tensor([1, 2, 3, 4]).as_strided((2, 2), (1, 1))
    tensor([[1, 2],
            [2, 3]])
    """
    size, stride = [int(n) for n in size], [int(n) for n in stride]
    offset = input.storage_offset() if storage_offset is None else int(storage_offset)
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if modes.grad_enabled and input._tracked:
        input._edge()  # raises if a write has taken its history
    if any(n < 0 for n in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {stride}")
    last = offset + int(np.dot(np.array(size, np.int64) - 1, np.array(stride, np.int64)))
    part = _part_with_gradient(input, offset, offset if 0 in size else last)
    if part is not None:
        return strided_view(part, tuple(size), tuple(stride), offset - part.storage_offset())
    whole = _in_elements_of(whole_storage(input), input.dtype)
    if 0 not in size and last >= whole.numel():
        item = input.element_size()
        raise RuntimeError(
            f"setStorage: sizes {size}, strides {stride}, storage offset {offset}, and itemsize {item} requiring a storage size of "
            f"{(last + 1) * item} are out of bounds for storage of size {whole.numel() * item}"
        )
    result = strided_view(whole, tuple(size), tuple(stride), offset)
    owner, view, parent = input if input._base is None else input._base, view_record(result), view_record(input)
    assert view is not None
    origin = view.origin if parent is None else view.origin or parent.origin
    if owner is not whole or origin != view.origin:  # a detached part of the memory has views that lie outside of it
        rebase(result, owner, origin)
    result = conj_view(result) if is_conj(input) else result
    result = neg_view(result) if is_neg(input) else result
    if carries(input):  # as in PyTorch, which takes the tangent to lie as the tensor does
        modes.level.put(result, as_strided(modes.level.tangent(input), size, stride, offset))
    return result


def _part_with_gradient(tensor: Tensor, first: int, last: int) -> Tensor | None:
    """What the view's gradient goes to: the tensor, or the leaf or result that it is a view of.

    Either must be a part of its memory without gaps that has all these elements. None: neither is, or there is no gradient.
    """
    if is_whole_storage(tensor) or is_conj(tensor) or is_neg(tensor):
        return None
    for owner in (tensor, tensor._base):
        if owner is not None and not is_whole_storage(owner) and owner._tracked and owner.dtype is tensor.dtype:
            begin = owner.storage_offset()
            if owner.is_contiguous() and begin <= first and last < begin + owner.numel():
                return owner
    return None


def _in_elements_of(whole: Tensor, dtype: dtypes.dtype) -> Tensor:
    """All of a storage as elements of another dtype, which a view of it has."""
    if whole.dtype is dtype:
        return whole
    flat: Any = view_as_shape(whole, (whole.numel(),))
    if whole.dtype.category == dtypes.COMPLEX and whole.dtype.to_real() is dtype:
        return view_as_shape(view_as_real(flat), (2 * whole.numel(),))
    return flat.view(dtype)


def whole_storage(tensor: Tensor) -> Tensor:
    """The tensor that is all of the storage: the base of a view, if it is that."""
    owner = tensor if tensor._base is None else tensor._base
    if is_whole_storage(owner):
        return owner
    if owner.requires_grad:
        raise NotImplementedError(
            "as_strided of a tensor that requires grad and does not own all of its memory is not supported yet"
        )
    return from_storage(storage_of(owner))


# ---- a tensor that becomes a view of itself


def _become(tensor: Tensor, show: Callable[[], Tensor]) -> Tensor:
    """Gives ``tensor`` the shape and the history of the view of it that ``show`` makes."""
    new = show()
    view, old = view_record(new), view_record(tensor)
    assert view is not None
    base, origin = (None, DEFAULT) if old is None else (old.base, old.origin)
    recorded = modes.grad_enabled
    version = version_of(tensor) + 1 if recorded or base is None else None
    if not recorded and base is None and tensor._tracked:
        if tensor.grad_fn is not None:
            new, recorded = _with_former_history(tensor, new, show), True
    move_to_storage(tensor, storage_of(tensor), view)
    if recorded:
        tensor._share_history(new)
    else:
        tensor._keep_history()
    same_tangent(tensor, new)
    count_write(tensor)
    # Where no gradients are recorded, a view keeps its old version. So it gets its history anew from its base, as after any write.
    rebase(tensor, base, origin, version)
    return tensor


def _with_former_history(tensor: Tensor, new: Tensor, show: Callable[[], Tensor]) -> Tensor:
    """The new view of a result, with a history although none is recorded.

    PyTorch's node stays that of the former shape, and takes a gradient of the new shape only if it can be summed to the former one.
    """
    before, after = tuple(tensor.shape), tuple(new.shape)
    if len(before) <= len(after) and all(n in (1, m) for n, m in zip(before[::-1], after[::-1], strict=False)):
        modes.grad_enabled = True
        try:
            return show()
        finally:
            modes.grad_enabled = False
    node = tensor.grad_fn
    assert node is not None
    words = f"invalid gradient at index 0 - got {list(after)} but expected shape compatible with {list(before)}"
    rule = MissingRule(f"Function {node.name()} returned an {words}", node.name())
    new._set_history(rule.node_class.create(rule, (tensor._edge(),), (), (), (new._aval,)))
    return new


def _in_place(function: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    def call(self: Tensor, *args: object, **kwargs: object) -> Tensor:
        check_writable(self)
        return _become(self, lambda: function(self, *args, **kwargs))

    call.__doc__ = f"``{name[:-1]}`` in place: the tensor itself gets the new shape."
    return composite(forms=Form.METHOD, name=name)(call)


# PyTorch numbers the autograd nodes of these views separately from those of the ordinary forms.
_NAMES: dict[str, object] = {
    "squeeze": lambda input, dim: "SqueezeBackward" + ("3" if dim is None else "4" if isinstance(dim, int) else "5"),
    "unsqueeze": "UnsqueezeBackward1",
    "t": "TBackward1",
    "transpose": "TransposeBackward1",
}
_STEPS = {
    name: op(
        name=f"_{name}_",
        promote=Promote.NONE,
        accepts=Category.ALL,
        forms=Form.NONE,
        view=True,
        backward=backward,
        saves=Saves.NOTHING,
        samples=[],
    )(CATALOG[name].compute)
    for name, backward in _NAMES.items()
}
for _name, _step in _STEPS.items():
    _in_place(_step, f"{_name}_")
for _name in ("swapaxes_", "swapdims_"):
    _in_place(_STEPS["transpose"], _name)
_in_place(as_strided, "as_strided_")


@composite(forms=Form.METHOD)
def resize_(self: Tensor, *sizes: Any, size: Any = None, memory_format: MemoryFormat | None = None) -> Tensor:
    """Another shape for the same memory, elements in order.

    Where the memory does not suffice, the tensor moves to a longer one, whose further elements are zero.

    Raises:
        NotImplementedError: the memory does not suffice, and other tensors share it.
    """
    sizes = sizes if size is None else (*sizes, size)
    size = tuple(int(n) for n in (sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes))
    for n in size:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")
    check_not_inference(self)
    if self.requires_grad and not modes.inference:
        raise RuntimeError("cannot resize variables that require grad")
    if carries(self):
        raise RuntimeError("cannot resize variables that has a forward grad")
    if memory_format is preserve_format:
        raise RuntimeError("Unsupported memory formatPreserve")
    if math.prod(size) >= 2**63:
        raise RuntimeError("numel: integer multiplication overflow")
    check_countable(size, self.element_size())
    if memory_format is None or memory_format.order is None:
        # What the storage has beyond the tensor keeps its values, and is the tensor's after the call.
        before = _memory(self).numel() - self.storage_offset() if Determinism.on else 0
        return self if size == tuple(self.shape) else with_unset_filled(_resized(self, size), before)
    order = memory_format.order_of(len(size))
    return _permuted(_resized(self, tuple(size[d] for d in order)), order)


def _permuted(tensor: Tensor, order: tuple[int, ...]) -> Tensor:
    """The tensor itself, whose dimensions are in the order of memory, with its dimensions in their own."""
    return _become(tensor, lambda: permute(tensor, tuple(order.index(d) for d in range(len(order)))))


def _resized(self: Tensor, size: tuple[int, ...]) -> Tensor:
    conjugated, negated = is_conj(self), is_neg(self)
    with _without_grad():
        count, offset, before = int(np.prod(size, dtype=np.int64)), self.storage_offset(), _memory(self).numel()
        if offset + count > before:
            check_grows(self, offset + count)
            if before and _is_shared(self):
                raise NotImplementedError(
                    f"torchlike does not support resize_ to {list(size)}, which needs {offset + count} elements of memory, since other "
                    f"tensors share the memory, which has {before}"
                )
            longer = Storage(zero_extended(_memory(self), (offset + count,))._value())
            longer.version = version_of(self)
            count_write(self)  # seen by graph nodes that have saved it
            move_to_storage(self, longer)
        part = view_as_shape(window(_memory(self), ((count, 1),), (offset,)), size)
        part = conj_view(part) if conjugated else part
        part = neg_view(part) if negated else part
        if not self._tracked:
            return _become(self, lambda: part)
        view = view_record(part)  # the result of ``out=`` under ``no_grad``, of which autograd notices nothing
        assert view is not None
        move_to_storage(self, storage_of(part), view.rebased(None))
        count_write(self)
        return self


def _memory(tensor: Tensor) -> Tensor:
    """All of the memory that a tensor lies in, one element after the other."""
    whole = _in_elements_of(whole_storage(tensor), tensor.dtype)
    return whole if whole.dim() == 1 else view_as_shape(whole, (whole.numel(),))


Resizing.to = _resized


def _is_shared(tensor: Tensor) -> bool:
    """Whether a program has more tensors, or a storage object, that show a tensor's memory.

    Everything that shows it refers to its storage. If nothing but the tensor and this call does, the memory is not shared. Otherwise this
    looks through all objects for the tensors, which takes some milliseconds.
    """
    if sys.getrefcount(storage_of(tensor)) == 2:
        return False
    gc.collect()
    storages: list[object] = [root_of(tensor)]
    storages += holders_of(storages[0], DetachedStorage)
    for storage in storages:
        holders = holders_of(storage, (Tensor, UntypedStorage))
        for holder in holders:
            if holder is not tensor:
                # A base that only its views refer to is none of the program's. Here the list, the name and the call refer to it.
                views = sum(isinstance(referrer, View) for referrer in gc.get_referrers(holder))
                if sys.getrefcount(holder) > 3 + views:
                    return True
    return False


@op(
    name="_lengthened",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    differentiable=False,
    samples=[Sample(shapes=((3,),), args=((2, 2),))],
)
def zero_extended(input: Array, size: Any) -> Array:
    """A vector filled up with zeros to the elements that a shape has."""
    extra_count = int(np.prod(size, dtype=np.int64)) - input.shape[0]
    return jnp.concatenate([input, jnp.zeros((extra_count,), input.dtype)]).reshape(size)


@composite(forms=Form.FUNCTION | Form.METHOD)
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """``resize_`` to the shape of another tensor; with ``torch.preserve_format`` also to its order of the dimensions in memory."""
    if memory_format is preserve_format:
        formats = (channels_last, channels_last_3d)
        lies = [f for f in formats if not the_template.is_contiguous() and the_template.is_contiguous(f)]
        memory_format = lies[0] if lies else None
    return resize_(input, tuple(the_template.shape), memory_format=memory_format)


@composite(forms=Form.METHOD)
def set_(
    self: Tensor,
    source: Any = None,
    storage_offset: int = 0,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    """Makes this tensor share the memory of another one, or a storage, from then on with its shape, or the one given."""
    check_writable(self)
    if carries(self):
        raise no_tangent("set_")
    if is_sparse(self) or is_sparse(source):
        raise unsupported("set_", (self, source))
    if source is None:
        empty = Storage(zero_extended(window(_flat(self), ((0, 1),), (0,)), (0,))._value())
        return without_derivative(_share_memory_of(self, empty, None), [self], "set_")
    if isinstance(source, TypedStorage):
        if source.dtype is not self.dtype:
            raise RuntimeError(
                f"Expected a Storage of type {dtypes.C_NAMES[self.dtype.name]} or an UntypedStorage, but got type "
                f"{source.dtype.scalar_name} for argument 1 'storage'"
            )
        source = source.untyped()
    with_history = [self, source] if isinstance(source, Tensor) and size is None else [self]
    if isinstance(source, UntypedStorage):
        with _without_grad():
            source = in_elements_of(source, self.dtype)
    elif not isinstance(source, Tensor):
        raise misfit_error("set_", "source", 1, f"must be Tensor, not {type_name(source)}")
    if source.dtype is not self.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {dtypes.C_NAMES[source.dtype.name]} to a tensor of type {dtypes.C_NAMES[self.dtype.name]}"
        )
    with _without_grad():
        if is_conj(source):
            source = conj_view(source)  # as the memory has it
        if is_neg(source):
            source = neg_view(source)
        if size is not None:
            source = _seen_as(source, tuple(size), stride, storage_offset)
    if not set(levels_of(source._aval)).issubset(levels_of(self._aval)):
        raise RuntimeError(
            "vmap: aten::set_(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
            "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over. Please try to use "
            "out-of-place operators instead of aten::set_."
        )
    view = view_record(source)
    _share_memory_of(self, storage_of(source), view and view.rebased(None, DEFAULT))
    return without_derivative(self, with_history, "set_")


def _seen_as(source: Tensor, size: tuple[int, ...], stride: Any, offset: int) -> Tensor:
    """The memory of a tensor in another shape.

    Raises:
        RuntimeError: the shape means nothing.
    """
    if stride is not None and len(stride) != len(size):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    if min(size, default=0) < 0:
        raise RuntimeError("numel: integer multiplication overflow")
    if stride is not None and min(stride, default=0) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    return as_strided(source, size, contiguous_strides(size) if stride is None else stride, offset)


def _share_memory_of(tensor: Tensor, storage: Storage, view: View | None) -> Tensor:
    """Gives a tensor other memory. It keeps its own version counter, which counts this as one more write."""
    former = storage_of(tensor)
    former.version += 1  # seen by views of the tensor, and by graph nodes that have saved it
    own = DetachedStorage(storage)
    own.version = former.version
    move_to_storage(tensor, own, view)
    tensor._leave_graphs()
    return tensor


def _flat(tensor: Tensor) -> Tensor:
    return copy_as_shape(tensor, (tensor.numel(),))


class _without_grad:
    def __enter__(self) -> None:
        self.before, modes.grad_enabled = modes.grad_enabled, False

    def __exit__(self, *exc: object) -> None:
        modes.grad_enabled = self.before


_AMBIGUOUS = "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."


@composite(forms=Form.METHOD)
def dim_order(self: Tensor, *, ambiguity_check: bool | list[memory_format] = False) -> tuple[int, ...]:
    """The dimensions in the order in which they follow each other in memory, the slowest first.

    Args:
        ambiguity_check: True: refuse a tensor for which several orders are right. A list of formats: one for which not just one is.

    >>> torch.empty((2, 3, 5, 7), memory_format=torch.channels_last).dim_order()
    (0, 2, 3, 1)

    Raises:
        RuntimeError: the order is not the only one.
    """
    if not isinstance(ambiguity_check, bool):
        if not isinstance(ambiguity_check, list) or not all(isinstance(f, memory_format) for f in ambiguity_check):
            raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
        if sum(self.is_contiguous(memory_format=f) for f in ambiguity_check) != 1:
            raise RuntimeError(_AMBIGUOUS)
    elif ambiguity_check and _has_several_orders(self):
        raise RuntimeError(_AMBIGUOUS)
    if self.is_contiguous():
        return tuple(range(self.dim()))
    return memory_order(tuple(self.shape), [self.stride()])


def _has_several_orders(tensor: Tensor) -> bool:
    strides = tensor.stride()
    return any(a == b for a, b in itertools.pairwise(strides)) or 1 in tensor.shape
