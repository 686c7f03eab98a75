"""Joining tensors into one, and splitting one into views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import Array

from ..._core import dtypes
from ..._core.strided import Strided
from ..._core.tensor import Tensor, wrap_dim
from ...dispatch.arguments import check_tensors, check_value
from ...dispatch.options import is_integer
from ...dispatch.overlap import Reading
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, Saves, Validation, composite, op
from ...numerics.windows import FULL, TAKE, read_slices
from .reshape import reshape, unsqueeze
from .slicing import narrow

if TYPE_CHECKING:
    from ..._core.strided import Strided


__all__ = ["split"]


# ---- joining


def _joined_out(result: dtypes.dtype, out: dtypes.dtype) -> Exception | None:
    if dtypes.can_cast(result, out):
        return None
    return TypeError(f"torch.cat(): input types can't be cast to the desired output type {out.scalar_name}")


_JOINING: dict[str, Any] = {
    "promote": Promote.REDUCE_SAME,
    "accepts": Category.ALL,
    "forms": Form.FUNCTION | Form.OUT,
    "saves": Saves.NOTHING,
    "samples": [],
    "autocast": {"cpu": Autocast.PROMOTE},
    "overlap": Reading.ELSEWHERE,
    "validation": Validation(out=_joined_out),
}


# Up to so many parts of ``unbind`` are slices.
FEW = 8


@op(**_JOINING)
def cat(tensors: list[Array], dim: int = 0) -> Array:
    """Tensors put one after the other along a dimension; elsewhere their sizes agree. Empty 1-d tensors are passed over.

    >>> torch.cat([torch.tensor([1, 2]), torch.tensor([3])])
    tensor([1, 2, 3])
    """
    check_tensors("cat", tensors)
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for position, array in enumerate(tensors):
        if array.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    # Old programs start with ``torch.tensor([])`` and join to it whatever comes, so PyTorch passes over tensors of shape (0,), and
    # of no other.
    real = [(i, a) for i, a in enumerate(tensors) if a.shape != (0,)]
    if not real:  # nothing to join, whatever the dimension
        return jnp.concatenate(tensors)
    first = real[0][1]
    dim = wrap_dim(dim, first.ndim)
    for position, array in real[1:]:
        if array.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {array.ndim}")
        for d, (a, b) in enumerate(zip(first.shape, array.shape, strict=True)):
            if a != b and d != dim:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {a} but got size {b} for tensor number "
                    f"{position} in the list."
                )
    return jnp.concatenate([a for _, a in real], dim)


@composite(forms=Form.FUNCTION | Form.OUT, overlap=Reading.ELSEWHERE, validation=Validation(out=_joined_out))
def concat(tensors: object, dim: int = 0, *, axis: int | None = None) -> Tensor:
    """Another name of ``cat``."""
    return cat(tensors, dim if axis is None else axis)


@composite(forms=Form.FUNCTION | Form.OUT, overlap=Reading.ELSEWHERE, validation=Validation(out=_joined_out))
def concatenate(tensors: object, dim: int = 0, *, axis: int | None = None) -> Tensor:
    """Another name of ``cat``."""
    return cat(tensors, dim if axis is None else axis)


@op(**_JOINING)
def stack(tensors: list[Array], dim: int = 0) -> Array:
    """Tensors of one shape put side by side along a new dimension.

    >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    check_tensors("stack", tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    dim = wrap_dim(dim, tensors[0].ndim + 1)
    for position, array in enumerate(tensors):
        if array.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and {list(array.shape)} at "
                f"entry {position}"
            )
    return jnp.stack(tensors, dim)


def _map_tensors(function: Callable[[Tensor], Tensor], tensors: Any) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    check_tensors("atleast", tensors)
    return function(tensors[0]) if len(tensors) == 1 else tuple(function(x) for x in tensors)


@composite(forms=Form.FUNCTION)
def atleast_1d(*tensors: object) -> Any:
    """Each tensor with at least one dimension."""
    return _map_tensors(lambda x: reshape(x, (1,)) if x.dim() == 0 else x, tensors)


@composite(forms=Form.FUNCTION)
def atleast_2d(*tensors: object) -> Any:
    """Each tensor with at least two dimensions; new ones come first."""
    return _map_tensors(
        lambda x: reshape(x, (1, 1)) if x.dim() == 0 else unsqueeze(x, 0) if x.dim() == 1 else x, tensors
    )


@composite(forms=Form.FUNCTION)
def atleast_3d(*tensors: object) -> Any:
    """Each tensor with at least three dimensions: a vector becomes (1, n, 1), a matrix (n, m, 1)."""

    def grow(x: Tensor) -> Tensor:
        if x.dim() == 0:
            return reshape(x, (1, 1, 1))
        return unsqueeze(unsqueeze(x, 0), -1) if x.dim() == 1 else unsqueeze(x, -1) if x.dim() == 2 else x

    return _map_tensors(grow, tensors)


def _non_empty(name: str, tensors: Any) -> list[Tensor]:
    check_tensors(name, tensors)
    if not len(tensors):
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return list(tensors)


@composite(forms=Form.FUNCTION | Form.OUT, overlap=Reading.ELSEWHERE, validation=Validation(out=_joined_out))
def hstack(tensors: object) -> Tensor:
    """Tensors joined along the second dimension, vectors along their only one.

    >>> torch.hstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([1, 2, 3, 4])
    """
    grown = [atleast_1d(x) for x in _non_empty("hstack", tensors)]
    return cat(grown, 0 if grown[0].dim() == 1 else 1)


@composite(forms=Form.FUNCTION | Form.OUT, overlap=Reading.ELSEWHERE, validation=Validation(out=_joined_out))
def vstack(tensors: object) -> Tensor:
    """Tensors joined along the first dimension, vectors as rows.

    >>> torch.vstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return cat([atleast_2d(x) for x in _non_empty("vstack", tensors)], 0)


@composite(forms=Form.FUNCTION | Form.OUT, overlap=Reading.ELSEWHERE, validation=Validation(out=_joined_out))
def row_stack(tensors: object) -> Tensor:
    """Another name of ``vstack``."""
    check_tensors("row_stack", tensors)
    return vstack(tensors)


@composite(forms=Form.FUNCTION | Form.OUT, overlap=Reading.ELSEWHERE, validation=Validation(out=_joined_out))
def dstack(tensors: object) -> Tensor:
    """Tensors joined along the third dimension.

    >>> torch.dstack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[[1, 3],
             [2, 4]]])
    """
    return cat([atleast_3d(x) for x in _non_empty("dstack", tensors)], 2)


@composite(forms=Form.FUNCTION | Form.OUT, overlap=Reading.ELSEWHERE, validation=Validation(out=_joined_out))
def column_stack(tensors: object) -> Tensor:
    """Tensors joined along the second dimension, vectors as columns."""
    columns = _non_empty("column_stack", tensors)
    return hstack([x if x.dim() > 1 else reshape(x, (x.numel(), 1)) for x in columns])


# ---- splitting


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    view=True,
    saves=Saves.NOTHING,
    several=True,
    samples=[Sample(shapes=((3, 4),)), Sample(shapes=((3, 4),), args=(1,))],
)
def unbind(input: Array, dim: int = 0) -> tuple[Array, ...]:
    """Slices along a dimension, without it, as a tuple of views.

    >>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    if input.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, input.ndim)
    if isinstance(input, Strided) or input.shape[dim] <= FEW:
        lead = (FULL,) * dim
        return tuple(read_slices(input, (*lead, TAKE), (i,)) for i in range(input.shape[dim]))
    # One primitive for all: a slice each would be traced for each, and its derivative would be a sum of as many arrays. (Over devices XLA
    # divides such a sum better than the concatenation that is the primitive's derivative.)
    return tuple(jnp.unstack(input, axis=dim))


def _pieces(input: Array | Strided, sizes: Sequence[int], dim: int) -> tuple[Any, ...]:
    pieces, start = [], 0
    for size in sizes:
        pieces.append(read_slices(input, (*[FULL] * dim, (size, 1)), (start,)))
        start += size
    return tuple(pieces)


@op(
    name="_split",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    view=True,
    saves=Saves.NOTHING,
    backward="SplitBackward0",
    several=True,
    samples=[Sample(shapes=((3, 4),), args=(2,)), Sample(shapes=((3, 4),), args=(3, 1))],
)
def equal_pieces(input: Array, split_size: int, dim: int = 0) -> tuple[Array, ...]:
    """Pieces of one size, the last perhaps smaller."""
    if input.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = wrap_dim(dim, input.ndim)
    size = input.shape[dim]
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    if split_size == 0 and size:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    if not size:
        return _pieces(input, [0], dim)
    return _pieces(input, [min(split_size, size - start) for start in range(0, size, split_size)], dim)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    view=True,
    saves=Saves.NOTHING,
    several=True,
    samples=[Sample(shapes=((3, 4),), args=([1, 2],)), Sample(shapes=((3, 4),), args=([1, 0, 3], 1))],
)
def split_with_sizes(input: Array, split_sizes: Sequence[int], dim: int = 0) -> tuple[Array, ...]:
    """Pieces of the given sizes, as views."""
    if input.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = wrap_dim(dim, input.ndim)
    sizes = [int(n) for n in split_sizes]
    if any(n < 0 for n in sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={sizes}"
        )
    total = 0
    for n in sizes:
        total += n
    if total != input.shape[dim]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input.shape[dim]} (input tensor's size at dimension {dim}), but "
            f"got split_sizes={sizes}"
        )
    return _pieces(input, sizes, dim)


@composite(forms=Form.METHOD, name="split")
def _split_method(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of one size (the last may be smaller) or of the given sizes, as views."""
    if isinstance(split_size, (list, tuple)):
        return split_with_sizes(self, tuple(split_size), dim)
    if not is_integer(split_size):
        check_value("split_with_sizes", "split_sizes", 2, "Sequence[int]", split_size)
    return equal_pieces(self, int(split_size), dim)


def split(tensor: Tensor, split_size_or_sections: object, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of one size (the last may be smaller) or of the given sizes, as views.

    >>> torch.split(torch.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    return _split_method(tensor, split_size_or_sections, dim)


@composite(forms=Form.FUNCTION | Form.METHOD)
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most so many pieces of one size, the last perhaps smaller, as views.

    >>> torch.chunk(torch.tensor([1, 2, 3]), 2)
    (tensor([1, 2]), tensor([3]))
    """
    if input.dim() == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = input.shape[wrap_dim(dim, input.dim())]
    # PyTorch keeps the number of pieces here. Where there are elements, it may return fewer pieces than were asked for.
    if size == 0:
        return split_with_sizes(input, (0,) * chunks, dim)
    return equal_pieces(input, -(-size // chunks), dim)


@composite(forms=Form.FUNCTION | Form.METHOD)
def tensor_split(input: Tensor, indices_or_sections: Any = None, dim: int = 0, **keywords: Any) -> tuple[Tensor, ...]:
    """Views between the given indices, or so many whose sizes differ by one at most.

    >>> torch.tensor_split(torch.tensor([1, 2, 3]), (1,))
    (tensor([1]), tensor([2, 3]))
    """
    for name in ("indices", "sections", "tensor_indices_or_sections"):
        if name in keywords:
            indices_or_sections = keywords.pop(name)
    if keywords or indices_or_sections is None:
        raise TypeError("tensor_split() received an invalid combination of arguments")
    if not isinstance(indices_or_sections, (Tensor, list, tuple)):
        check_value("tensor_split", "sections", None, "int", indices_or_sections)
    if input.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, input.dim())
    size = input.shape[dim]
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.dtype.name != "int64":
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                + indices_or_sections.dtype.scalar_name
            )
        indices_or_sections = indices_or_sections.tolist()
    if is_integer(indices_or_sections):
        count = int(indices_or_sections)  # pyright: ignore[reportArgumentType]
        if count <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {count}")
        # The first pieces have one element more each.
        least, more = divmod(size, count)
        ends = [least * (i + 1) + min(i + 1, more) for i in range(count)]
    else:
        ends = [int(i) for i in indices_or_sections] + [size]
    pieces, start = [], 0
    for end in ends:
        # Indices mean what they mean in a slice of Python: negative ones count from the end, and those outside are moved to the
        # border.
        begin, stop = (min(max(i + size if i < 0 else i, 0), size) for i in (start, end))
        pieces.append(narrow(input, dim, begin, max(stop - begin, 0)))
        start = end
    return tuple(pieces)


def _split_along(name: str, input: Tensor, parts: object, dim: int, least: int) -> tuple[Tensor, ...]:
    if input.dim() < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {input.dim()} dimensions!"
        )
    if not isinstance(parts, (list, tuple)):
        check_value(name, "sections", 2, "int", parts)
    if isinstance(parts, int) and (parts == 0 or input.shape[dim] % parts):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {input.shape[dim]} is not divisible "
            f"by the split_size {parts}!"
        )
    return tensor_split(input, parts, dim)


@composite(forms=Form.FUNCTION | Form.METHOD)
def hsplit(input: Tensor, indices_or_sections: object) -> tuple[Tensor, ...]:
    """``tensor_split`` along the second dimension, of a vector along its only one."""
    return _split_along("hsplit", input, indices_or_sections, 0 if input.dim() == 1 else 1, 1)


@composite(forms=Form.FUNCTION | Form.METHOD)
def vsplit(input: Tensor, indices_or_sections: object) -> tuple[Tensor, ...]:
    """``tensor_split`` along the first dimension."""
    return _split_along("vsplit", input, indices_or_sections, 0, 2)


@composite(forms=Form.FUNCTION | Form.METHOD)
def dsplit(input: Tensor, indices_or_sections: object) -> tuple[Tensor, ...]:
    """``tensor_split`` along the third dimension."""
    return _split_along("dsplit", input, indices_or_sections, 2, 3)
