"""Views that keep the elements and change the shape: reshaping, transposing, broadcasting, and copies with a layout of their own."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.annotations import Dtype, IntOrInts, MemoryFormat
from ..._core.fields import move_to_storage, rebase, steps_of, storage_of, view_record
from ..._core.layouts import contiguous_format, memory_format as memory_format_, preserve_format
from ..._core.strided import Strided, memory_order
from ..._core.tensor import Tensor, alias, from_host, from_storage, wrap_dim
from ..._core.views import ViewStep, laid_out
from ...dispatch.apply import in_order_of
from ...dispatch.arguments import are_integers, check_tensors
from ...dispatch.register import Category, Form, Promote, Sample, Saves, composite, op
from ...dispatch.warned import warn_once
from ...numerics.windows import FULL, TAKE, read_slices

Dims = tuple[int, ...]  # may be written spread out: x.permute(1, 0)
TENSOR_TYPES = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "int32": "Int",
    "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool",
}  # fmt: skip


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """A shape with its one -1 replaced; RuntimeError in PyTorch's words where the elements do not fit."""
    shape = tuple(int(n) for n in shape)
    free = [i for i, n in enumerate(shape) if n == -1]
    if len(free) > 1:
        raise RuntimeError("only one dimension can be inferred")
    for n in shape:
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n} at index {shape.index(n)} of shape {list(shape)}")
    known_size = math.prod(n for n in shape if n != -1)
    if free:
        if known_size == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can be "
                "any value and is ambiguous"
            )
        if numel % known_size == 0:
            return tuple(numel // known_size if n == -1 else n for n in shape)
    elif known_size == numel:
        return shape
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")


def _shown(name: str, argument: str, sizes: tuple[Any, ...], tensor: Tensor) -> tuple[Any, tuple[int, ...]]:
    """The operation by which ``reshape`` shows a tensor in a shape, and this, with its one -1 replaced.

    For plain integers it is found once: it depends on them and on the layout, which nothing changes. A tensor may be another number later.

    Raises:
        TypeError, RuntimeError: those of ``unpack_sizes`` and ``infer_size``.
    """
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    view = view_record(tensor)
    layout = tensor._aval.shape if view is None else tensor._geometry
    known = are_integers(map(type, sizes))
    found = _views.get((sizes, layout)) if known else None
    if found is None:
        size = infer_size(unpack_sizes(name, argument, sizes), math.prod(tensor._aval.shape))
        if view is None or layout.contiguous:  # pyright: ignore[reportAttributeAccessIssue]
            found = view_as_shape, size
        else:
            found = (alias_as_shape if can_view(tensor, size) else copy_as_shape), size
        if known:
            if len(_views) >= MAX_VIEWS:
                _views.clear()
            _views[sizes, layout] = found
    return found


_views: dict[tuple[object, object], tuple[Any, tuple[int, ...]]] = {}
MAX_VIEWS = 4096


def unpack_sizes(name: str, argument: str, sizes: tuple[object, ...]) -> tuple[Any, ...]:
    """Sizes as given, spread out or in one sequence; TypeError in PyTorch's words for what is no integer."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    elif sizes and isinstance(sizes[0], str):
        raise TypeError(f"{name}(): argument '{argument}' (position 1) must be tuple of ints, not str")
    for position, size in enumerate(sizes):
        if size.__class__ is not int and not (hasattr(size, "__index__") and not isinstance(size, bool)):
            raise TypeError(
                f"{name}(): argument '{argument}' failed to unpack the object at pos {position + 1} with error \"type must be "
                f'tuple of ints,but got {type(size).__name__}"'
            )
    return sizes


def can_view(tensor: Tensor, size: tuple[int, ...]) -> bool:
    """Whether the memory can be seen under another shape without a copy."""
    if view_record(tensor) is None:
        return True
    geometry = tensor._geometry
    if geometry.contiguous:
        return True
    try:
        geometry.reshape(size)
    except ValueError:
        return False
    return True


# ---- the same elements in the same order


@op(
    name="_view",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    view=True,
    backward="ViewBackward0",
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 4),), args=((2, 6),))],
)
def view_as_shape(input: Array, size: Sequence[int]) -> Array:
    """The same elements in the same order under another shape."""
    return input.reshape(size)


@op(
    name="_reshape_alias",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    view=True,
    backward="ReshapeAliasBackward0",
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 4),), args=((2, 6),))],
)
def alias_as_shape(input: Array, size: Sequence[int]) -> Array:
    """As ``_view``; the name PyTorch gives a reshaped tensor that is not contiguous."""
    return input.reshape(size)


@op(
    name="_unsafe_view",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="UnsafeViewBackward0",
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 4),), args=((2, 6),))],
)
def copy_as_shape(input: Array, size: object) -> Array:
    """As ``_view``, in memory of its own."""
    return input.reshape(size)


def _bits(x: Array, dtype: Any) -> Array:
    """The memory of an array that lies in order, read as another dtype; the last dimension grows or shrinks with the elements."""
    if x.dtype == dtype:
        return x
    if not x.ndim:  # of one size, so it stays one element
        return _bits(x.reshape(1), dtype).reshape(())
    if x.dtype.kind == "c":  # XLA has no bitcast of complex numbers and of bool
        parts = jnp.stack([x.real, x.imag], -1)
        return _bits(parts.reshape((*x.shape[:-1], 2 * x.shape[-1])), dtype)
    if dtype.kind == "c":
        parts = _bits(x, np.dtype(f"f{dtype.itemsize // 2}"))
        pairs = parts.reshape((*parts.shape[:-1], parts.shape[-1] // 2, 2))
        return jax.lax.complex(pairs[..., 0], pairs[..., 1])
    if x.dtype == np.bool_:
        return _bits(x.astype(np.uint8), dtype)
    if dtype == np.bool_:
        return _bits(x, np.dtype(np.uint8)) != 0
    ratio = dtype.itemsize // x.dtype.itemsize
    if ratio > 1:
        x = x.reshape((*x.shape[:-1], x.shape[-1] // ratio, ratio))
    bits = jax.lax.bitcast_convert_type(x, dtype)
    if dtype.itemsize < x.dtype.itemsize:
        return bits.reshape((*bits.shape[:-2], bits.shape[-2] * bits.shape[-1]))
    return bits


def _written_bits(whole: Array, part: Array) -> Array:
    """The memory after a write to a view of it as another dtype. A byte that was true and still is stays as it was."""
    if part.dtype == np.bool_:
        before = _bits(whole, np.dtype(np.uint8))
        part = jnp.where((before != 0) == part, before, part.astype(np.uint8))
    return _bits(part, whole.dtype)


@op(
    name="_view_dtype",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    view=True,
    scatter_into_base=lambda whole, part, dtype, sizes: _written_bits(whole, part),
    differentiable=False,
    saves=Saves.NOTHING,
    samples=[],
)
def view_as_dtype(input: Array, dtype: Dtype, sizes: Any) -> Array:
    """The same bits read as another dtype. ``sizes``: of an element before and after."""
    if isinstance(input, Strided):
        before, after = sizes
        if before == after:
            return input
        scale = lambda n: n * before // after  # noqa: E731
        shape, strides = (*input.shape[:-1], scale(input.shape[-1])), [*map(scale, input.strides[:-1]), 1]
        layout: Any = Strided(shape, strides, scale(input.offset))
        return layout
    return _bits(input, dtype.numpy)


@composite(forms=Form.METHOD)
def view(self: Tensor, *size: object, dtype: Dtype | None = None, **keywords: object) -> Tensor:
    """The same memory seen in another shape, one of whose sizes may be -1, or as another dtype.

    >>> torch.tensor([1, 2, 3, 4]).view(2, -1)
    tensor([[1, 2],
            [3, 4]])

    Raises:
        RuntimeError: the number of elements differs, or the memory cannot be seen so without a copy.
    """
    if keywords and "size" in keywords:
        size = (keywords.pop("size"),)
    if len(size) == 1 and isinstance(size[0], dtypes.dtype):
        dtype = size[0]
    if keywords or (dtype is None and not size):
        raise TypeError(
            "view() received an invalid combination of arguments - got (), but expected one of:\n * (torch.dtype dtype)\n * (tuple of "
            "ints size)\n"
        )
    if dtype is not None:
        return _view_dtype(self, dtype)
    operation, shape = _shown("view", "size", size, self)
    if operation is copy_as_shape:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return view_as_shape(self, shape)


def _view_dtype(tensor: Tensor, dtype: dtypes.dtype) -> Tensor:
    if tensor.is_conj():  # pyright: ignore[reportAttributeAccessIssue]
        raise RuntimeError(
            "torch.Tensor.view is not supported for conjugate view tensors when converting to a different dtype."
        )
    if tensor.is_neg():  # pyright: ignore[reportAttributeAccessIssue]
        raise RuntimeError(
            "torch.Tensor.view is not supported for tensors with negative bit set when converting to a different dtype."
        )
    if dtype is tensor.dtype:
        return alias(tensor)
    old, new = tensor.dtype.itemsize, dtype.itemsize
    if old != new:
        _check_element_sizes(tensor, dtype)
    tensor = alias(_bytes_of_booleans(tensor))  # PyTorch's has no history either, and is no view of the base
    return without_base(view_as_dtype(tensor, dtype, (old, new)))


def _bytes_of_booleans(tensor: Tensor) -> Tensor:
    """For booleans that a view shows of other elements: their bytes, which may be others than 0 and 1. Any other tensor as it is."""
    if tensor.dtype is not dtypes.bool_:
        return tensor
    whole = from_storage(storage_of(tensor))
    if whole.dtype is dtypes.bool_:
        return tensor
    elements: Any = view_as_dtype(
        view_as_shape(whole.detach(), (whole.numel(),)), dtypes.uint8, (whole.dtype.itemsize, 1)
    )
    place = tensor._geometry
    return elements.as_strided(place.shape, place.strides, place.offset)


def _check_element_sizes(tensor: Tensor, dtype: dtypes.dtype) -> None:
    """Raises PyTorch's errors where memory cannot be seen as elements of another size."""
    old, new = tensor.dtype.itemsize, dtype.itemsize
    words = f"to view {tensor.dtype.scalar_name} as {dtype.scalar_name} (different element sizes)"
    if not tensor.dim():
        raise RuntimeError(f"self.dim() cannot be 0 {words}")
    strides = tensor._geometry.strides
    if strides[-1] != 1 and (new > old or tensor.shape[-1] != 1):
        raise RuntimeError(f"self.stride(-1) must be 1 {words}, but got {strides[-1]}")
    if new < old:
        return
    ratio = new // old
    if tensor.shape[-1] % ratio:
        raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {words}, but got {tensor.shape[-1]}")
    if tensor._geometry.offset % ratio:
        raise RuntimeError(
            f"self.storage_offset() must be divisible by {ratio} {words}, but got {tensor._geometry.offset}"
        )
    for dim, stride in enumerate(strides[:-1]):
        if stride % ratio:
            raise RuntimeError(f"self.stride({dim}) must be divisible by {ratio} {words}, but got {stride}")


@composite(forms=Form.FUNCTION | Form.METHOD)
def reshape(input: Tensor, *shape: object, **keywords: object) -> Tensor:
    """The same elements in another shape: a view where that is possible, else a copy.

    >>> torch.reshape(torch.tensor([[1, 2], [3, 4]]), (-1,))
    tensor([1, 2, 3, 4])
    """
    if keywords and "shape" in keywords:
        shape = (keywords.pop("shape"),)
    if keywords:
        raise TypeError(f"reshape() got an unexpected keyword argument '{next(iter(keywords))}'")
    operation, size = _shown("reshape", "shape", shape, input)
    return operation(input, size)


@composite(forms=Form.METHOD)
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """``view`` with the shape of another tensor."""
    return view(self, other.shape)


@composite(forms=Form.METHOD)
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """``reshape`` with the shape of another tensor."""
    return reshape(self, other.shape)


@composite(forms=Form.FUNCTION | Form.METHOD)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from ``start_dim`` to ``end_dim``, both included, as one.

    >>> torch.flatten(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 2, 3, 4])
    """
    shape = input._aval.shape
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(input, (1,))
    if start == end:
        return input
    return reshape(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@composite(forms=Form.FUNCTION | Form.METHOD)
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension seen as several, one of whose sizes may be -1.

    >>> torch.unflatten(torch.tensor([1, 2, 3, 4]), 0, (2, 2))
    tensor([[1, 2],
            [3, 4]])
    """
    shape = input.shape
    dim = wrap_dim(dim, len(shape))
    sizes = [int(n) for n in sizes]
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    size = shape[dim]
    try:
        full = infer_size(sizes, size)
    except RuntimeError:
        if sizes.count(-1) > 1:
            raise
        raise RuntimeError(
            f"unflatten: Provided sizes {sizes} don't multiply up to the size of dim {dim} ({size}) in the input tensor"
        ) from None
    return view(input, (*shape[:dim], *full, *shape[dim + 1 :]))


@composite(forms=Form.FUNCTION | Form.METHOD)
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension: a view where that is possible."""
    return view(contiguous(input), -1)


# ---- dimensions in another order


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    view=True,
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((2, 3, 4),), args=((2, 0, 1),)), Sample(shapes=((),), args=((),))],
)
def permute(input: Array, dims: Dims) -> Array:
    """Dimensions in another order, as a view.

    >>> torch.permute(torch.ones(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """
    if len(dims) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(dims)}"
        )
    order = [wrap_dim(int(d), input.ndim) for d in dims]
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return input.transpose(order)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    view=True,
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((2, 3, 4),), args=(0, 2)), Sample(shapes=((),), args=(0, -1))],
)
def transpose(input: Array, dim0: int, dim1: int) -> Array:
    """Two dimensions swapped, as a view.

    >>> torch.transpose(torch.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([[1, 3],
            [2, 4]])
    """
    a, b = wrap_dim(dim0, input.ndim), wrap_dim(dim1, input.ndim)
    order = list(range(input.ndim))
    if order:
        order[a], order[b] = b, a
    return input.transpose(order)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    view=True,
    backward="TBackward0",
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 4),)), Sample(shapes=((3,),))],
)
def t(input: Array) -> Array:
    """A matrix transposed, as a view; tensors of fewer dimensions as they are."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return input.transpose(list(range(input.ndim))[::-1])


@composite(forms=Form.FUNCTION | Form.METHOD)
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Another name of ``transpose``."""
    return transpose(input, axis0, axis1)


@composite(forms=Form.FUNCTION | Form.METHOD)
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Another name of ``transpose``."""
    return transpose(input, dim0, dim1)


@composite(forms=Form.FUNCTION | Form.METHOD)
def movedim(input: Tensor, source: IntOrInts, destination: IntOrInts) -> Tensor:
    """Dimensions put at other places, the rest in their order, as a view.

    >>> torch.movedim(torch.ones(2, 3, 4), 0, 2).shape
    torch.Size([3, 4, 2])
    """
    pairs = [[a] if isinstance(a, int) else list(a) for a in (source, destination)]
    if len(pairs[0]) != len(pairs[1]):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({pairs[0]} dims) should contain the same number of dims as "
            f"destination ({pairs[1]} dims)"
        )
    rank = input.dim()
    from_, to = ([wrap_dim(d, rank) for d in dims] for dims in pairs)
    for name, dims, dims_as_passed in (("source", from_, pairs[0]), ("destination", to, pairs[1])):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({dims_as_passed})")
    order = [d for d in range(rank) if d not in from_]
    for place, dim in sorted(zip(to, from_, strict=True)):
        order.insert(place, dim)
    return permute(input, tuple(order)) if rank else input


@composite(forms=Form.FUNCTION | Form.METHOD)
def moveaxis(input: Tensor, source: object, destination: object) -> Tensor:
    """Another name of ``movedim``."""
    return movedim(input, source, destination)


def _warn_of_scalar(name: str, instead: str = "This function is the identity in these cases.") -> None:
    warn_once(f"{name} is deprecated on 0-D tensors. {instead}")


_CONJ = "Consider using x.conj()."


@composite(forms=Form.PROPERTY, name="T")
def reversed_dims(self: Tensor) -> Tensor:
    """The dimensions in reverse order."""
    if self.dim() == 0:
        _warn_of_scalar("Tensor.T")
    elif self.dim() != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in a "
            "future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
            "reverse the dimensions of a tensor.",
        )
    return permute(self, tuple(range(self.dim()))[::-1])


@composite(forms=Form.PROPERTY, name="mT")
def matrix_transpose(self: Tensor) -> Tensor:
    """The last two dimensions swapped."""
    if self.dim() == 0:
        _warn_of_scalar("Tensor.mT")
        return self
    if self.dim() == 1:
        raise RuntimeError("tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor.")
    return transpose(self, -2, -1)


def _conjugate(tensor: Tensor) -> Tensor:
    return tensor.conj() if tensor.is_complex() else tensor  # pyright: ignore[reportAttributeAccessIssue]


@composite(forms=Form.PROPERTY, name="H")
def hermitian(self: Tensor) -> Tensor:
    """A matrix transposed and conjugated."""
    if self.dim() not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if self.dim() > 2 else "")
        )
    if self.dim() == 0:
        _warn_of_scalar("Tensor.H", _CONJ)
    return _conjugate(transpose(self, 0, 1) if self.dim() else self)


@composite(forms=Form.PROPERTY, name="mH")
def matrix_hermitian(self: Tensor) -> Tensor:
    """The last two dimensions swapped, and conjugated."""
    if self.dim() == 1:
        raise RuntimeError("tensor.mH is only supported on matrices or batches of matrices. Got 1-D tensor.")
    if self.dim() == 0:
        _warn_of_scalar("Tensor.mH", _CONJ)
        return _conjugate(self)
    return adjoint(self)


@composite(forms=Form.FUNCTION | Form.METHOD)
def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions swapped, and conjugated."""
    if input.dim() == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    if input.dim() == 0:
        _warn_of_scalar("adjoint()", _CONJ)
    return _conjugate(transpose(input, -2, -1) if input.dim() else input)


# ---- dimensions of size 1


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    view=True,
    backward=lambda input, dim: "SqueezeBackward" + ("0" if dim is None else "1" if isinstance(dim, int) else "2"),
    saves=Saves.NOTHING,
    samples=[
        Sample(shapes=((1, 3, 1),)),
        Sample(shapes=((1, 3, 1),), args=(0,)),
        Sample(shapes=((1, 3, 1),), args=((0, 1, 2),)),
        Sample(shapes=((),)),
    ],
)
def squeeze(input: Array, dim: IntOrInts | None = None) -> Array:
    """Without the dimensions of size 1, or without those of them that are named, as a view.

    >>> torch.squeeze(torch.ones(1, 3, 1)).shape
    torch.Size([3])
    """
    rank = input.ndim
    if dim is None:
        dims = range(rank)
    else:
        values = [dim] if isinstance(dim, int) else list(dim)
        dims = [wrap_dim(int(d), rank) for d in values]
        if len(set(dims)) != len(dims):
            raise RuntimeError(
                f"dim {next(d for d in dims if dims.count(d) > 1)} appears multiple times in the list of dims"
            )
    removed_dims = {d for d in dims if rank and input.shape[d] == 1}
    return read_slices(input, tuple(TAKE if d in removed_dims else FULL for d in range(rank)), (0,) * len(removed_dims))


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    view=True,
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 4),), args=(1,)), Sample(shapes=((3, 4),), args=(-1,))],
)
def unsqueeze(input: Array, dim: int) -> Array:
    """A dimension of size 1 put in at a place, as a view.

    >>> torch.unsqueeze(torch.tensor([1, 2]), 1)
    tensor([[1],
            [2]])
    """
    dim = wrap_dim(dim, input.ndim + 1)
    return read_slices(input, (FULL,) * dim + (None,), ())


# ---- broadcasting


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.METHOD,
    view=True,
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 1),), args=((2, 3, 4),)), Sample(shapes=((),), args=((2, 2),))],
)
def expand(input: Array, size: Dims, *, implicit: bool = False) -> Array:
    """Dimensions of size 1 repeated without copying; -1 keeps a size.

    >>> torch.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    shape, lead = input.shape, len(size) - input.ndim
    if lead < 0:
        kind = dtypes.from_numpy_dtype(np.dtype(input.dtype))
        raise RuntimeError(
            f"expand(torch.{TENSOR_TYPES.get(kind.name, kind.scalar_name)}Tensor{{{list(shape)}}}, size={list(size)}): the number of "
            f"sizes provided ({len(size)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    target = []
    for i, n in enumerate(size):
        n = int(n)
        if i < lead:
            if n == -1:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
                )
            target.append(n)
        elif n == -1 or n == shape[i - lead] or shape[i - lead] == 1:
            target.append(shape[i - lead] if n == -1 else n)
        else:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({shape[i - lead]}) at non-singleton dimension "
                f"{i}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
    if isinstance(input, Strided):
        layout: Any = input.broadcast_to(target)
        return layout
    return jnp.broadcast_to(input, target)


@composite(forms=Form.METHOD)
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """``expand`` to the shape of another tensor."""
    return expand(self, tuple(other.shape))


@composite(forms=Form.METHOD)
def sum_to_size(self: Tensor, *sizes: object, size: object = None) -> Tensor:
    """The sums that undo broadcasting: over the dimensions that a tensor of this shape would have been expanded along."""
    own = self
    target_shape = tuple(int(n) for n in unpack_sizes("sum_to_size", "size", sizes if size is None else (*sizes, size)))
    if not target_shape:
        return own.sum()  # an integer of one element is summed, too, and becomes int64
    lead = own.dim() - len(target_shape)
    if lead < 0 or any(n not in (1, m) for n, m in zip(target_shape, own.shape[lead:], strict=True)):
        raise RuntimeError(f"size {{{list(target_shape)}}} is not expandable to size {{{list(own.shape)}}}.")
    dims = [d for d in range(own.dim()) if d < lead or (target_shape[d - lead] == 1 and own.shape[d] != 1)]
    return own.sum(dims, True).reshape(target_shape) if dims else own


@composite(forms=Form.FUNCTION | Form.METHOD)
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """``expand`` as a function.

    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(input, tuple(size))


@composite(forms=Form.FUNCTION)
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """All of the tensors expanded to their common shape.

    >>> [x.shape for x in torch.broadcast_tensors(torch.ones(3, 1), torch.ones(2))]
    [torch.Size([3, 2]), torch.Size([3, 2])]
    """
    check_tensors("broadcast_tensors", tensors)
    shape = common_shape([x.shape for x in tensors])
    return tuple(x if x.shape == shape else expand(x, shape) for x in tensors)


def common_shape(shapes: Any) -> tuple[int, ...]:
    """The shape that shapes broadcast to; RuntimeError in PyTorch's words where there is none."""
    common: list[int] = []
    for shape in shapes:
        lead = len(shape) - len(common)
        common = [1] * lead + common
        for dim in reversed(range(len(common))):
            back = dim - len(common)
            n = shape[back] if -back <= len(shape) else 1
            if n != common[dim] and n != 1 and common[dim] != 1:
                raise RuntimeError(
                    f"The size of tensor a ({common[dim]}) must match the size of tensor b ({n}) at non-singleton dimension {dim}"
                )
            common[dim] = n if common[dim] == 1 else common[dim]
    return tuple(common)


# ---- copies


@op(
    name="_copy",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="CloneBackward0",
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 4),))],
)
def copy(input: Array) -> Array:
    """The elements in memory of their own."""
    return jnp.copy(input)


@composite(forms=Form.FUNCTION | Form.METHOD)
def clone(input: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """A copy in memory of its own; gradients flow through it.

    >>> x = torch.tensor([1, 2])
    >>> y = x.clone()
    >>> y[0] = 5
    >>> x
    tensor([1, 2])
    """
    if memory_format is not None and memory_format.order is not None:
        return _laid_out(input, memory_format)
    result = copy(input)
    if memory_format is None or memory_format is preserve_format:
        lay_out(result, input)
    return result


def lay_out(result: Tensor, like: Tensor) -> Tensor:
    """The result itself, a tensor that was made just now, in memory in the order of another one's dimensions, as PyTorch's copies are."""
    view = view_record(like)
    if view is None or view_record(result) is not None:
        return result
    geometry = like._geometry
    if geometry.contiguous:
        return result
    order = memory_order(geometry.shape, (geometry.strides,))
    if order != tuple(range(len(order))):
        found = laid_out(result._value(), order, *_steps_for(order))
        if found is not None:
            move_to_storage(result, *found)
    return result


def lay_out_channels(result: Tensor, like: Tensor) -> Tensor:
    """The result itself, with its channels last in memory if those of another tensor are, as images of PyTorch's are."""
    if view_record(like) is not None and _has_channels_last(like._geometry):
        lay_out(result, like)
    return result


def _in_order_of(result: Tensor, operands: Sequence[Tensor]) -> None:
    """Puts the channels of a result last in memory where PyTorch does, because those of its operands are."""
    shape = result._aval.shape
    if len(shape) not in (4, 5):
        return
    order = _order_for(shape, *[operand._geometry for operand in operands])
    if order is not None:
        found = laid_out(result._value(), order, *_steps_for(order))
        if found is not None:
            move_to_storage(result, *found)


@functools.lru_cache(1024)  # layouts are compared by identity: those of one kind are one object
def _order_for(shape: Dims, *operands: Strided) -> tuple[int, ...] | None:
    """The memory order of what is computed from operands of these layouts; None if it has no channels last."""
    if not any(own.shape == shape and _has_channels_last(own) for own in operands):
        return None
    spread = []
    for own in operands:
        lead = len(shape) - own.ndim
        steps = zip(own.strides, own.shape, shape[lead:], strict=True)
        spread.append([0] * lead + [stride if n == m else 0 for stride, n, m in steps])
    order = memory_order(shape, spread)
    return order if order[-1] == 1 else None


in_order_of.append(_in_order_of)


def _has_channels_last(geometry: Any) -> bool:
    """Whether the channels of images lie closest in memory. What has no extent in one of these dimensions does not count."""
    shape, strides, rank = geometry.shape, geometry.strides, len(geometry.shape)
    if rank not in (4, 5) or not strides[1]:
        return False
    least = 0
    for d in (1, *range(rank - 1, 1, -1), 0):
        if not shape[d] or strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * max(shape[d], 1)
    return True


@functools.lru_cache(256)
def _steps_for(order: tuple[int, ...]) -> tuple[ViewStep, ViewStep]:
    """The views that bring dimensions into the order of memory, and back."""
    inverse = tuple(order.index(d) for d in range(len(order)))
    any_tensor = from_host(np.zeros((1,) * len(order), np.float32))
    return steps_of(permute(any_tensor, order))[0], steps_of(permute(any_tensor, inverse))[0]


def _laid_out(input: Tensor, memory_format: memory_format_) -> Tensor:
    """A copy whose dimensions follow each other in memory as the format says."""
    order = memory_format.order_of(input.dim())
    # Memory is always laid out in the order of a value's dimensions, so another layout is a permuted view of a copy in that order.
    result = permute(copy(permute(input, order)), tuple(order.index(d) for d in range(len(order))))
    return without_base(result)


def without_base(tensor: Tensor) -> Tensor:
    """Makes a view the owner of its memory: what it was a view of is nobody else's."""
    rebase(tensor, None)
    return tensor


@composite(forms=Form.METHOD)
def contiguous(self: Tensor, memory_format: MemoryFormat | None = None) -> Tensor:
    """The tensor itself if its elements lie in memory in order, else a copy that does."""
    return self if self.is_contiguous(memory_format) else clone(self, memory_format=memory_format or contiguous_format)
