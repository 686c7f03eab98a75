"""Copying forms of views: ``*_copy`` returns what a view shows, and ``*_scatter`` a copy in which that part is replaced."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from ..._core.annotations import Dtype, IntOrInts
from ..._core.strided import Strided
from ..._core.tensor import Tensor, wrap_dim
from ...dispatch.out_dtypes import exactly
from ...dispatch.register import CATALOG, Category, Form, Promote, Sample, Saves, Validation, composite, op
from ...numerics.windows import put_at_layout
from . import complex_numbers as complex_numbers  # they declare views that are named below
from .joining import chunk
from .slicing import select
from .strided_views import as_strided

MATRIX = Sample(shapes=((3, 4),))


def _copy_of(
    view: str,
    name: str,
    node: object = None,
    samples: list[Sample] | tuple[Sample, ...] = (MATRIX,),
    forms: Form = Form.FUNCTION | Form.OUT,
) -> Any:
    """The op ``name`` that computes what the view does, into memory of its own."""
    of = CATALOG[view]
    backward = node or of.backward_name
    function = op(
        name=name,
        promote=Promote.NONE,
        accepts=of.dtype_rule.accepts,
        forms=forms,
        several=of.several,
        saves=Saves.NOTHING,
        differentiable=of.differentiable,
        refuse=of.dtype_rule.refuse,
        backward=(lambda *args: f"{backward(*args)}_copy") if callable(backward) else f"{backward}_copy",
        samples=list(samples),
    )
    return function(of.compute)


diagonal_copy = _copy_of("diagonal", "diagonal_copy")
expand_copy = _copy_of("expand", "expand_copy", samples=[Sample(shapes=((3, 1),), args=((3, 4),))])
permute_copy = _copy_of("permute", "permute_copy", samples=[Sample(shapes=((3, 4),), args=((1, 0),))])
squeeze_copy = _copy_of("squeeze", "squeeze_copy", samples=[Sample(shapes=((3, 1),))])
t_copy = _copy_of("t", "t_copy")
transpose_copy = _copy_of("transpose", "transpose_copy", samples=[Sample(shapes=((3, 4),), args=(0, 1))])
unbind_copy = _copy_of("unbind", "unbind_copy")
unfold_copy = _copy_of("unfold", "unfold_copy", samples=[Sample(shapes=((3, 7),), args=(1, 3, 2))])
unsqueeze_copy = _copy_of("unsqueeze", "unsqueeze_copy", samples=[Sample(shapes=((3, 4),), args=(1,))])
view_as_real_copy = _copy_of("view_as_real", "view_as_real_copy")
view_as_complex_copy = _copy_of("view_as_complex", "view_as_complex_copy", samples=[Sample(shapes=((3, 2),))])
split_with_sizes_copy = _copy_of(
    "split_with_sizes", "split_with_sizes_copy", samples=[Sample(shapes=((3, 4),), args=([1, 2],))]
)
split_copy = _copy_of("_split", "split_copy", "SplitBackward0", [Sample(shapes=((3, 4),), args=(2,))])


# ---- copies of views that are composed of others


@op(name="alias_copy", promote=Promote.NONE, accepts=Category.ALL, forms=Form.FUNCTION | Form.OUT, backward="AliasBackward0_copy",
    saves=Saves.NOTHING, samples=[MATRIX])  # fmt: skip
def alias_copy(input: Array) -> Array:
    """A copy of the tensor."""
    return jnp.copy(input)


@composite(forms=Form.METHOD)
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What ``load_state_dict`` puts in the place of this parameter: a copy into it, or with ``assign`` the other tensor.

    >>> torch.zeros(2).module_load(torch.ones(2))
    tensor([1., 1.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.Tensor.module_load.html
    """
    if assign:
        return other.detach()
    return self.copy_(other).detach()


@composite(
    forms=Form.FUNCTION | Form.OUT,
    validation=Validation(out=exactly),
)
def detach_copy(input: Tensor) -> Tensor:
    """A copy of the tensor without its history."""
    return alias_copy(input.detach())  # pyright: ignore[reportAttributeAccessIssue]


@composite(forms=Form.FUNCTION | Form.OUT)
def as_strided_copy(input: Tensor, size: Sequence[int], stride: IntOrInts, storage_offset: int | None = None) -> Tensor:
    """What ``as_strided`` shows, copied."""
    return alias_copy(as_strided(input, size, stride, storage_offset))


@composite(forms=Form.FUNCTION | Form.OUT)
def select_copy(input: Tensor, dim: int, index: int) -> Tensor:
    """What ``select`` shows, copied."""
    return alias_copy(select(input, dim, index))


def _slice_of(input: Tensor, dim: int, start: object, end: object, step: int) -> Tensor:
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    index = (slice(None),) * wrap_dim(dim, input.dim()) + (slice(start, end, step),)
    return input[index]  # pyright: ignore[reportIndexIssue]


@composite(
    forms=Form.FUNCTION | Form.OUT,
    validation=Validation(out=exactly),
)
def slice_copy(input: Tensor, dim: int = 0, start: object = None, end: object = None, step: int = 1) -> Tensor:
    """What ``input[..., start:end:step]`` shows at a dimension, copied."""
    return alias_copy(_slice_of(input, dim, start, end, step))


@composite(forms=Form.FUNCTION | Form.OUT)
def view_copy(input: Tensor, *sizes: object, size: object = None, dtype: Dtype | None = None) -> Tensor:
    """What ``view`` shows, copied."""
    return alias_copy(input.view(*sizes if size is None else (*sizes, size), dtype=dtype))  # pyright: ignore[reportAttributeAccessIssue]


# ---- pieces that PyTorch lets one write to


def _unsafe(view: str, name: str, node: str, sample: Sample) -> Any:
    return op(
        name=name, promote=Promote.NONE, accepts=Category.ALL, forms=Form.FUNCTION | Form.METHOD, several=True,
        saves=Saves.NOTHING, backward=node, samples=[sample],
    )(CATALOG[view].compute)  # fmt: skip


unsafe_split = _unsafe("_split", "unsafe_split", "UnsafeSplitBackward0", Sample(shapes=((3, 4),), args=(2,)))
unsafe_split_with_sizes = _unsafe(
    "split_with_sizes",
    "unsafe_split_with_sizes",
    "UnsafeSplitWithSizesBackward0",
    Sample(shapes=((3, 4),), args=([1, 2],)),
)


@composite(forms=Form.FUNCTION | Form.METHOD)
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """As ``chunk``, in memory of its own."""
    sizes = [piece.shape[dim] for piece in chunk(input, chunks, dim)]
    return unsafe_split(input, sizes[0], dim) if sizes[0] else unsafe_split_with_sizes(input, sizes, dim)


# ---- a tensor with other elements where a view would show them


def _check_shape(shape: tuple[int, ...], src: Array) -> None:
    if src.shape != shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(shape)}"
        )


def _scattered(input: Array, layout: Strided, src: Array) -> Array:
    _check_shape(layout.shape, src)
    return put_at_layout(input, layout, src.astype(input.dtype))


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 4), (3,))), Sample(shapes=((3, 4), (2,)), args=(-1,))],
)
def diagonal_scatter(input: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """``input`` with ``src`` on a diagonal.

    >>> torch.diagonal_scatter(torch.zeros(2, 2), torch.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    layout = Strided(input.shape)
    return _scattered(input, CATALOG["diagonal"].compute(layout, offset, dim1, dim2), src)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 4), (4,)), args=(0, -1))],
)
def select_scatter(input: Array, src: Array, dim: int, index: int) -> Array:
    """``input`` with ``src`` at one index of a dimension.

    >>> torch.select_scatter(torch.zeros(2, 2), torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    if input.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, input.ndim)
    size = input.shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}"
        )
    at = (slice(None),) * dim + (index,)
    _check_shape(input.shape[:dim] + input.shape[dim + 1 :], src)
    return input.at[at].set(src.astype(input.dtype))


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 4), (3, 2)), args=(1, 1, 4, 2))],
)
def slice_scatter(
    input: Array, src: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Array:
    """``input`` with ``src`` at ``start:end:step`` of a dimension.

    >>> torch.slice_scatter(torch.zeros(3), torch.ones(2), 0, 1)
    tensor([0., 1., 1.])
    """
    if input.ndim == 0:
        raise RuntimeError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    dim = wrap_dim(dim, input.ndim)
    places = range(input.shape[dim])[slice(start, end, step)]
    _check_shape((*input.shape[:dim], len(places), *input.shape[dim + 1 :]), src)
    at = (slice(None),) * dim + (slice(start, end, step),)
    return input.at[at].set(src.astype(input.dtype))


@op(
    name="_as_strided_scatter",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    saves=Saves.NOTHING,
    backward="AsStridedScatterBackward0",
    samples=[Sample(shapes=((3, 4), (2, 2)), args=((2, 2), (1, 2), 1), gradient=False)],
)
def strided_scatter(input: Array, src: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int) -> Array:
    """A tensor that lies in order, with ``src`` at the places that shape, strides and offset name."""
    return _strided_scatter(input, src, Strided(size, stride, storage_offset))


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def _strided_scatter(input: Array, src: Array, layout: Strided) -> Array:
    return _scattered(input, layout, src)


def _forward(input: Array, src: Array, layout: Strided) -> tuple[Array, None]:
    return _scattered(input, layout, src), None


def _backward(layout: Strided, _: None, grad: Array) -> tuple[Array, Array]:
    # PyTorch gives the input the gradient of the places that were written to, although the result depends on the other places.
    strided_grad = grad.reshape(-1)[layout.positions()]
    return _scattered(jnp.zeros_like(grad), layout, strided_grad), strided_grad


_strided_scatter.defvjp(_forward, _backward)


@composite(forms=Form.FUNCTION | Form.METHOD)
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """``input`` with ``src`` at the places of its memory that ``as_strided`` would show.

    >>> torch.as_strided_scatter(torch.zeros(4), torch.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """
    if input.storage_offset() or not input.is_contiguous():  # pyright: ignore[reportAttributeAccessIssue]
        raise NotImplementedError("as_strided_scatter of a tensor that does not lie in order is not supported yet")
    as_strided(input, size, stride, storage_offset)  # for its checks
    return strided_scatter(input, src, tuple(size), tuple(stride), storage_offset or 0)


@composite(forms=Form.METHOD)
def to_padded_tensor(self: Tensor, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
    """Raises: only nested tensors, which have a method of this name, are padded.

    >>> torch.nested.nested_tensor([[1, 2], [3]]).to_padded_tensor(0)
    tensor([[1, 2],
            [3, 0]])
    """
    raise NotImplementedError(
        "Could not run 'aten::to_padded_tensor' with arguments from the 'CPU' backend: it is for nested tensors alone"
    )
