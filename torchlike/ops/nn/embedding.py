"""Rows looked up by number."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core import dtypes
from ..._core.fields import is_whole_storage, stored_value
from ..._core.meta import refuse_item
from ..._core.modes import modes
from ..._core.sparse import FORMS
from ..._core.tensor import Tensor
from ...dispatch.register import Category, Form, Indices, Promote, Sample, Saves, ValueCheck, composite, op

_INDEX_TYPES = {"int64": "LongTensor", "int32": "IntTensor"}


def _out_of_range(weight: Array | Tensor, indices: Array | np.ndarray, *others: object) -> tuple[object, object]:
    """Whether some index is no row, and that index."""
    count = weight.shape[0]
    wrong = (indices < 0) | (indices >= count)
    if isinstance(wrong, np.ndarray):
        return wrong.any(), 0
    return lax.reduce_or(wrong, range(wrong.ndim)), 0


def rows_at(weight: Array, indices: Array) -> Array:
    """``weight[indices]`` without a check: what ``jax.numpy.take`` gives, which takes three times as long to trace."""
    # XLA itself keeps indices within bounds. JAX's own limits fail for 64 bits in a trace that has no 64-bit types.
    if not weight.shape[0]:  # no index is valid
        return jnp.zeros((*indices.shape, weight.shape[1]), weight.dtype)
    # (rows, size) and (*batch) give (*batch, size)
    dimensions = lax.GatherDimensionNumbers(
        offset_dims=(indices.ndim,), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    starts = lax.expand_dims(indices, (indices.ndim,))
    return lax.gather(weight, starts, dimensions, (1, weight.shape[1]), mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS)


@op(
    name="_embedding",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="EmbeddingBackward0",
    saves=Saves.NOTHING,
    check=ValueCheck(_out_of_range, lambda value, *args, avals: IndexError("index out of range in self")),
    samples=[Sample(shapes=((5, 3),), values=([[0, 4], [2, 2]],), args=(-1, False), gradient=False)],
)
def looked_up(weight: Array, indices: Indices, padding_idx: int, by_frequency: bool) -> Array:
    """The rows with these numbers.

    The row ``padding_idx`` gets no gradient (-1: all get one); ``by_frequency`` divides a row's gradient by how often it occurs.
    """
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    kind = dtypes.from_numpy_dtype(indices.dtype)
    if kind.name not in _INDEX_TYPES:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{kind.scalar_name}Tensor instead (while checking arguments for embedding)"
        )
    rows = rows_at(weight, indices)
    if by_frequency:
        rows = frequency_scaled(rows, weight, indices)
    if padding_idx < 0:
        return rows
    return jnp.where((indices == padding_idx)[..., None], jax.lax.stop_gradient(rows), rows)


def frequency_scaled(rows: Array, weight: Array, indices: Array) -> Array:
    """The rows, with gradients divided by how often each occurs."""
    counts = jnp.zeros(weight.shape[0], weight.dtype).at[indices].add(jnp.ones((), weight.dtype))
    share = rows / counts[indices][..., None]
    return jax.lax.stop_gradient(rows) + (share - jax.lax.stop_gradient(share))


@composite(forms=Form.FUNCTION)
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """The rows of ``weight`` that ``indices`` names, in the shape of the indices and one dimension more.

    >>> torch.embedding(torch.tensor([[1.0], [2.0]]), torch.tensor([1, 0]))
    tensor([[2.],
            [1.]])
    """
    if sparse and modes.grad_enabled and weight.requires_grad:  # it matters to the gradient alone
        return FORMS["_sparse_embedding"](weight, indices, padding_idx, scale_grad_by_freq)
    return looked_up(weight, indices, padding_idx, scale_grad_by_freq)


@composite(forms=Form.FUNCTIONAL)
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Class numbers as rows with a single 1.

    Args:
        num_classes: -1: one more than the largest class number there is.

    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])

    Raises:
        RuntimeError: another dtype than int64, or numbers that are no class.
    """
    if input.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not input.numel():
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return in_classes(input, num_classes)
    if num_classes != -1:
        host = stored_value(input).array if is_whole_storage(input) else None
        if host.__class__ is not np.ndarray:
            return in_classes(input, num_classes)  # checked in the program
    refuse_item(input)
    numbers = input._array()
    if numbers.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        num_classes = int(numbers.max()) + 1
    elif numbers.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return in_classes(input, num_classes)


def _no_class(tensor: Array | np.ndarray, num_classes: int) -> tuple[object, object]:
    wrong = (tensor < 0) | (tensor >= num_classes)
    return wrong.any(), tensor.min() if tensor.size else 0


@op(
    name="_one_hot",
    promote=Promote.NONE,
    accepts=Category.INTEGER,
    forms=Form.NONE,
    differentiable=False,
    check=ValueCheck(
        _no_class,
        lambda value, *args, avals: RuntimeError(
            "Class values must be non-negative." if value < 0 else "Class values must be smaller than num_classes."
        ),
    ),
    samples=[],
)
def in_classes(tensor: Indices, num_classes: int) -> Array:
    """1 where the class number is the position, else 0."""
    return (tensor[..., None] == jnp.arange(num_classes, dtype=tensor.dtype)).astype(np.int64)
