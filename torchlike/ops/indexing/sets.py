"""Membership, and indices of one kind turned into another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.size import Size
from ..._core.tensor import Tensor
from ...dispatch.options import is_integer
from ...dispatch.out_dtypes import exactly
from ...dispatch.register import Category, Form, Promote, Sample, Validation, composite, op
from ...dispatch.type_names import type_name
from ...numerics.denormals import order
from ...numerics.numbers import check_width
from ..creation.from_data import as_tensor
from ..shape.inspecting import result_type
from ..shape.reshape import common_shape


@op(
    name="_isin",
    promote=Promote.NONE,
    accepts=Category.INTEGER | Category.FLOAT,
    forms=Form.NONE,
    differentiable=False,
    refuse=lambda name, dtype: f"Unsupported input type encountered for isin(): {dtype.scalar_name}",
    samples=[Sample(values=([[1, 2], [3, 4]], [2, 4, 6]))],
)
def among(elements: Array, test_elements: Array) -> Array:
    """Which elements are among the others."""
    return jnp.isin(order(elements), order(test_elements)) & (elements == elements)


def _plain(value: object) -> object:
    """A number of NumPy's as Python's; NumPy's True is 1.0 to PyTorch, and not Python's True."""
    if isinstance(value, np.bool_):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def _side(value: Any) -> Tensor:
    """A side of ``isin`` as a tensor. PyTorch makes its numbers as wide as they can be."""
    if isinstance(value, Tensor):
        return value
    check_width(value)
    wide = {bool: np.bool_, int: np.int64, float: np.float64, complex: np.complex128}[type(value)]
    return as_tensor(np.asarray(value, np.uint64 if wide is np.int64 and value >= 2**63 else wide))


@composite(forms=Form.FUNCTION | Form.OUT, validation=Validation(out=exactly))
def isin(elements: object, test_elements: object, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Which elements are among ``test_elements``; one of the two may be a number.

    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 3]))
    tensor([False,  True,  True])
    """
    given: list[Any] = [_plain(x) for x in (elements, test_elements)]
    tensors = sum(isinstance(x, Tensor) for x in given)
    if not tensors or tensors + sum(isinstance(x, (bool, int, float, complex)) for x in given) < 2:
        raise TypeError(
            f"isin() received an invalid combination of arguments - got ({type_name(elements)}, {type_name(test_elements)}), but "
            "expected a Tensor for one of them"
        )
    sides = [_side(given[0]), _side(given[1])]
    for side in sides:  # PyTorch refuses the dtypes as they are, and promotes then
        if side.dtype.category in (dtypes.BOOL, dtypes.COMPLEX):
            raise RuntimeError(f"Unsupported input type encountered for isin(): {side.dtype.scalar_name}")
    common = result_type(*given)
    membership = among(*(side.to(common) for side in sides))  # pyright: ignore[reportAttributeAccessIssue]
    return membership.logical_not() if invert else membership


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    differentiable=False,
    samples=[Sample(values=([[0, 1], [2, 0]],), kwargs={"size": 3})],
)
def nonzero_static(input: Array, *, size: int, fill_value: int = -1) -> Array:
    """The indices of the first ``size`` elements that are not zero, one a row; rows of ``fill_value`` where there are fewer.

    Unlike ``nonzero`` it has a shape that does not depend on values.

    >>> torch.nonzero_static(torch.tensor([0, 5, 0, 6]), size=3)
    tensor([[ 1],
            [ 3],
            [-1]])
    """
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    if input.size == 0 and input.ndim:
        return jnp.full((size, input.ndim), fill_value, np.int64)
    if input.ndim == 0:
        return jnp.zeros((size, 0), np.int64)
    indices = jnp.nonzero(input, size=size, fill_value=fill_value)
    return jnp.stack(indices, -1).astype(np.int64)


@composite(forms=Form.FUNCTION)
def unravel_index(indices: Tensor, shape: Sequence[int]) -> tuple[Tensor, ...]:
    """The coordinates, one tensor for each dimension of ``shape``, of elements numbered in memory order.

    >>> torch.unravel_index(torch.tensor([3, 5]), (2, 3))
    (tensor([1, 1]), tensor([0, 2]))
    """
    if indices.dtype.category != dtypes.INTEGER:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not is_integer(shape) and not isinstance(shape, (tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = [int(n) for n in ((shape,) if is_integer(shape) else shape)]  # pyright: ignore[reportArgumentType]
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    coordinates = []
    quotient = indices.to(dtypes.int64)
    for n in reversed(sizes):
        coordinates.append(quotient.remainder(n))
        quotient = quotient.div(n, rounding_mode="floor")
    return tuple(reversed(coordinates))


@composite(forms=Form.FUNCTION)
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes have in common once they are broadcast.

    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    for shape in shapes:
        if not isinstance(shape, (int, tuple, list)):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
    return Size(common_shape([(int(s),) if isinstance(s, int) else tuple(s) for s in shapes]))
