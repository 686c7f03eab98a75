"""Copies with the elements arranged anew: repeated, flipped, rolled, rotated, cut to triangles, put on diagonals and grids."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core import devices, dtypes
from ..._core.annotations import DeviceLike, Dtype, IntOrInts, Layout
from ..._core.meta import on_meta
from ..._core.tensor import Tensor, from_host, from_value, wrap_dim
from ...dispatch.arguments import check_tensors, check_value
from ...dispatch.bindings import FUNCTIONS
from ...dispatch.options import is_integer
from ...dispatch.out_dtypes import exactly
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, Saves, Validation, composite, op
from ...dispatch.type_names import type_name
from ...dispatch.unsigned import refuse_wide_unsigned
from ...dispatch.warned import warn_once
from ...engine.aval import CPU, check_room
from ...engine.interpreter import for_numpy
from ...engine.value import Value
from ..shape.joining import stack
from ..shape.reshape import expand, flatten, reshape, unsqueeze, view
from .index import index_tensor

Dims = tuple[int, ...]


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.METHOD,
    saves=Saves.NOTHING,
    samples=[
        Sample(shapes=((3, 4),), args=((2, 1),)),
        Sample(shapes=((3,),), args=((2, 0),)),
        Sample(shapes=((),), args=((2,),)),
    ],
)
def repeat(input: Array, repeats: Dims) -> Array:
    """The tensor so many times along each dimension, in memory of its own.

    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    if len(repeats) < input.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * (len(repeats) - input.ndim) + input.shape
    size = [n * int(k) for n, k in zip(shape, repeats, strict=True)]
    for k, n in zip(repeats, size, strict=True):
        if k < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {size}")
    return jnp.tile(input, tuple(int(k) for k in repeats))


def _spread_tile(self: Tensor, *dims: Any, **keywords: object) -> Tensor:
    """``Tensor.tile``, which takes its numbers one by one as well."""
    if dims and not isinstance(dims[0], (tuple, list)) and all(is_integer(d) for d in dims):
        dims = (tuple(int(d) for d in dims),)
    try:
        return FUNCTIONS["tile"](self, *dims, **keywords)
    except TypeError as error:
        error.args = (str(error).replace("(position 2)", "(position 1)"),)
        raise


@composite(forms=Form.FUNCTION | Form.METHOD, method=_spread_tile)
def tile(input: Tensor, dims: IntOrInts) -> Tensor:
    """As ``repeat``; missing numbers of repeats count as 1.

    >>> torch.tile(torch.tensor([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    if not isinstance(dims, (tuple, list)) or not all(is_integer(d) for d in dims):
        raise TypeError(f"tile(): argument 'dims' (position 2) must be tuple of ints, not {type_name(dims)}")
    return repeat(input, (1,) * (input.dim() - len(dims)) + tuple(dims))


@composite(forms=Form.FUNCTION | Form.METHOD)
def repeat_interleave(
    input: Tensor, repeats: Tensor | int | None = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element, or each slice along a dimension, so many times in a row.

    Args:
        repeats: one number, or a 1-d integer tensor with one for each slice; then it is read.

    >>> torch.repeat_interleave(torch.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    if repeats is not None and not isinstance(repeats, Tensor):
        check_value("repeat_interleave", "repeats", None, "int", repeats)
    if repeats is None:
        counts = _counts(input)
        return _host(np.repeat(np.arange(len(counts)), counts).astype(counts.dtype), input)
    if dim is None:
        input, dim = flatten(input), 0
    dim = wrap_dim(dim, input.dim())
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        total = repeats * (input.shape[dim] if input.dim() else 1)
        if output_size is not None and output_size != total:
            raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {total} but got {output_size}")
        if input.dim() == 0:
            input = reshape(input, (1,))
        size = list(input.shape)
        size.insert(dim + 1, repeats)
        return flatten(expand(unsqueeze(input, dim + 1), size).clone(), dim, dim + 1)  # pyright: ignore[reportAttributeAccessIssue]
    if on_meta(repeats) and output_size is not None:
        return input.index_select(dim, _undetermined(output_size, input))  # pyright: ignore[reportAttributeAccessIssue]
    counts = _counts(repeats)
    if len(counts) == 1:
        counts = np.repeat(counts, input.shape[dim])
    if len(counts) != input.shape[dim]:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {len(counts)} and input.size({dim}) = "
            f"{input.shape[dim]}"
        )
    return input.index_select(dim, _host(np.repeat(np.arange(len(counts)), counts), input))  # pyright: ignore[reportAttributeAccessIssue]


def _counts(repeats: Tensor) -> np.ndarray:
    if repeats.dim() > 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.dtype.name not in ("int64", "int32"):
        raise RuntimeError("repeats has to be Long or Int tensor")
    if on_meta(repeats):
        raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
    counts = repeats._array().reshape(-1)
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    check_room((sum(counts.tolist()),), counts.dtype, repeats._aval.placement)
    return counts


def _undetermined(count: int, like: Tensor) -> Tensor:
    """So many indices on the meta device."""
    return from_value(Value.full((count,), np.dtype(np.int64), like._aval.placement))


def _host(array: np.ndarray, like: Tensor) -> Tensor:
    return from_value(Value.on_host(array, like._aval.placement))


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    saves=Saves.NOTHING,
    samples=[
        Sample(shapes=((3, 4),), args=((0,),)),
        Sample(shapes=((3, 4),), args=((0, -1),)),
        Sample(shapes=((3, 4),), args=((),)),
    ],
)
def flip(input: Array, dims: Dims) -> Array:
    """The elements in reverse order along dimensions, as a copy.

    >>> torch.flip(torch.tensor([1, 2, 3]), (0,))
    tensor([3, 2, 1])
    """
    dim_list = [dims] if isinstance(dims, int) else dims
    wrapped = [wrap_dim(int(d), input.ndim) for d in dim_list]
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    innermost = next((d for d in reversed(range(input.ndim)) if input.shape[d] > 1), None)
    if innermost in wrapped:  # PyTorch copies whole rows otherwise, for which it has kernels
        refuse_wide_unsigned("flip_cpu", dtypes.from_numpy_dtype(input.dtype))
    return jnp.flip(input, wrapped) if wrapped and input.ndim else jnp.copy(input)


@composite(forms=Form.FUNCTION | Form.METHOD)
def fliplr(input: Tensor) -> Tensor:
    """Columns in reverse order.

    >>> torch.fliplr(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if input.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, (1,))


@composite(forms=Form.FUNCTION | Form.METHOD)
def flipud(input: Tensor) -> Tensor:
    """Rows in reverse order.

    >>> torch.flipud(torch.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    if input.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, (0,))


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    saves=Saves.NOTHING,
    samples=[
        Sample(shapes=((3, 4),), args=(1,)),
        Sample(shapes=((3, 4),), args=(-1, 0)),
        Sample(shapes=((3, 4),), args=((1, 2), (0, 1))),
    ],
)
def roll(input: Array, shifts: IntOrInts, dims: IntOrInts | None = None) -> Array:
    """The elements moved along dimensions, those that leave at the end coming in at the front.

    >>> torch.roll(torch.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """
    shifts = [shifts] if isinstance(shifts, int) else [int(s) for s in shifts]
    dims = [] if dims is None else [dims] if isinstance(dims, int) else [int(d) for d in dims]
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        return jnp.roll(input.reshape(-1), shifts[0]).reshape(input.shape)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return jnp.roll(input, shifts, [wrap_dim(d, input.ndim) for d in dims])


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    saves=Saves.NOTHING,
    samples=[
        Sample(shapes=((3, 4),)),
        Sample(shapes=((2, 3, 4),), args=(-1, (1, 2))),
        Sample(shapes=((3, 4),), args=(2,)),
    ],
)
def rot90(input: Array, k: int = 1, dims: Sequence[int] = (0, 1)) -> Array:
    """The plane of two dimensions turned ``k`` times by 90 degrees, from the first towards the second.

    >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if (dims[0] - dims[1]) % input.ndim == 0:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    for number, d in enumerate(dims):
        if not -input.ndim <= d < input.ndim:
            raise RuntimeError(f"Rotation dim{number} out of range, dim{number} = {d}")
    return jnp.rot90(input, k, (dims[0], dims[1]))


# The most elements of a triangle's mask that is kept as a constant of the program.
_MAX_CONSTANT_ELEMENTS = 2**24


def _triangle(name: str, input: Array, diagonal: int, upper: bool) -> Array:
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
    rows, columns = input.shape[-2:]
    down, across = (lax.broadcasted_iota(np.int64, shape, d) for d, shape in enumerate([(rows, 1), (1, columns)]))
    if not for_numpy() and rows * columns <= _MAX_CONSTANT_ELEMENTS:  # then nothing is computed
        down, across = np.arange(rows)[:, None], np.arange(columns)
    inside: Any = across >= down + diagonal if upper else across <= down + diagonal
    return jnp.where(inside, input, jnp.zeros((), input.dtype))


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.ELEMENTWISE,
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 4),)), Sample(shapes=((2, 3, 4),), args=(-1,))],
)
def tril(input: Array, diagonal: int = 0) -> Array:
    """Zero above a diagonal of each matrix.

    >>> torch.tril(torch.tensor([[1, 2], [3, 4]]))
    tensor([[1, 0],
            [3, 4]])
    """
    return _triangle("tril", input, diagonal, upper=False)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.ELEMENTWISE,
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 4),)), Sample(shapes=((2, 3, 4),), args=(1,))],
)
def triu(input: Array, diagonal: int = 0) -> Array:
    """Zero below a diagonal of each matrix.

    >>> torch.triu(torch.tensor([[1, 2], [3, 4]]))
    tensor([[1, 2],
            [0, 4]])
    """
    return _triangle("triu", input, diagonal, upper=True)


def _triangle_indices(inside: np.ndarray, dtype: Dtype | None, device: DeviceLike | None) -> Tensor:
    dtype = dtypes.int64 if dtype is None else dtype
    return from_value(Value.on_host(np.stack(np.nonzero(inside)).astype(dtype.numpy), devices.placement(device)))


@composite(forms=Form.FUNCTION)
def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Rows and columns, as (2, n), of the elements on a diagonal and below it."""
    check_room((row, col), np.dtype(np.bool_), CPU)
    return _triangle_indices(np.tri(row, col, offset, np.bool_), dtype, device)


@composite(forms=Form.FUNCTION)
def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    layout: Layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Rows and columns, as (2, n), of the elements on a diagonal and above it."""
    check_room((row, col), np.dtype(np.bool_), CPU)
    return _triangle_indices(~np.tri(row, col, offset - 1, np.bool_), dtype, device)


# ---- diagonals


@op(
    name="_diagonal_copy",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="DiagonalBackward0_copy",
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 4),), args=(1,))],
)
def diagonal_copy(input: Array, offset: int) -> Array:
    """A diagonal of a matrix in memory of its own."""
    return jnp.diagonal(input, offset)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD,
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3,),)), Sample(shapes=((2, 3),), args=(1, 0, 2)), Sample(shapes=((3,),), args=(-1,))],
)
def diag_embed(input: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    """Matrices, in two new dimensions, with the last dimension of the input on a diagonal.

    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    a, b = wrap_dim(dim1, input.ndim + 1), wrap_dim(dim2, input.ndim + 1)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if a > b:
        a, b, offset = b, a, -offset
    length = input.shape[-1] + abs(offset)
    padding = [(0, 0)] * (input.ndim - 1) + [(max(-offset, 0), max(offset, 0))]
    rows = jnp.pad(input, padding)[..., None]  # (..., length, 1)
    on_diagonal = np.arange(length)[None, :] - np.arange(length)[:, None] == offset
    return jnp.moveaxis(jnp.where(on_diagonal, rows, jnp.zeros((), input.dtype)), (-2, -1), (a, b))


def _diag_out(result: dtypes.dtype, out: dtypes.dtype) -> Exception:
    if dtypes.can_cast(result, out):
        return exactly(result, out)
    return RuntimeError(
        f"diag: result type {result.scalar_name} can't be cast to the desired out= type {out.scalar_name}"
    )


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT, validation=Validation(out=_diag_out))
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with a vector on its diagonal.

    >>> torch.diag(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if input.dim() == 1:
        return diag_embed(input, diagonal)
    if input.dim() != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.dim()}D")
    return diagonal_copy(input, diagonal)


@composite(forms=Form.FUNCTION | Form.METHOD)
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """The matrix with all elements, flattened, on a diagonal."""
    return diag_embed(view(input.contiguous(), -1), offset)  # pyright: ignore[reportAttributeAccessIssue]


@op(
    name="_block_diag",
    promote=Promote.REDUCE_SAME,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="BlockDiagBackward0",
    saves=Saves.NOTHING,
    samples=[],
)
def blocks(tensors: list[Array]) -> Array:
    """Matrices along the diagonal of a matrix of zeros."""
    matrices = []
    for position, array in enumerate(tensors):
        if array.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {position} has {array.ndim} dimensions"
            )
        matrices.append(array if array.ndim == 2 else array.reshape((1, -1)))
    width, left, rows = 0, 0, []
    for matrix in matrices:
        width += matrix.shape[1]
    for matrix in matrices:
        rows.append(jnp.pad(matrix, ((0, 0), (left, width - left - matrix.shape[1]))))
        left += matrix.shape[1]
    return jnp.concatenate(rows, 0)


@composite(forms=Form.FUNCTION)
def block_diag(*tensors: object) -> Tensor:
    """Matrices (or numbers and rows) along the diagonal of a matrix of zeros.

    >>> torch.block_diag(torch.tensor([[1, 2]]), torch.tensor(3))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """
    check_tensors("block_diag", tensors)
    return blocks(list(tensors)) if tensors else from_host(np.zeros((1, 0), dtypes.get_default_dtype().numpy))


# ---- grids


@composite(forms=Form.FUNCTION)
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates on the grid that vectors span: the i-th result varies along the i-th dimension.

    That is ``indexing="ij"``; with "xy" the first two dimensions are swapped.

    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
    vectors: list[Tensor] = list(  # pyright: ignore[reportAssignmentType]
        tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    )
    if not vectors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        warn_once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    check_tensors("meshgrid", vectors)
    for x in vectors:
        if x.dim() > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x!r}")
        if x.dtype is not vectors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if x.device != vectors[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    swapped = indexing == "xy" and len(vectors) >= 2
    ordered = [vectors[1], vectors[0], *vectors[2:]] if swapped else vectors
    shape = tuple(x.numel() for x in ordered)
    grids = [
        expand(view(x, tuple(-1 if d == place else 1 for d in range(len(shape)))), shape)
        for place, x in enumerate(ordered)
    ]
    if swapped:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@composite(forms=Form.FUNCTION)
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Every choice of one element from each vector, as rows.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    check_tensors("cartesian_prod", tensors)
    for x in tensors:
        if x.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([flatten(grid) for grid in meshgrid(*tensors, indexing="ij")], 1)


@composite(forms=Form.FUNCTION)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Every choice of ``r`` elements of a vector, in order, as rows.

    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return _host(np.zeros(0, input.dtype.numpy), input)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    picks = np.array(list(choose(range(input.numel()), r)), np.int64).reshape(-1, r)
    return stack([index_tensor(input, [_host(np.ascontiguousarray(column), input)]) for column in picks.T], 1)


@op(
    promote=Promote.NONE,
    accepts=Category.INTEGER | Category.FLOAT | Category.COMPLEX,
    forms=Form.FUNCTION | Form.METHOD,
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((3, 4),)), Sample(shapes=((0, 4),))],
    autocast={"cpu": Autocast.FLOAT32},
)
def trace(input: Array) -> Array:
    """The sum of a matrix's diagonal.

    >>> torch.trace(torch.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    n = min(input.shape)
    diagonal = input[:n, :n].reshape(n * n)[:: n + 1]
    return jnp.sum(diagonal, dtype=np.int64 if input.dtype.kind in "iu" else input.dtype)
