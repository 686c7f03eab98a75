"""Element-wise operations on sparse tensors: functions with f(0) = 0, sums, and products."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from .._core import dtypes
from .._core.fields import stored_value
from .._core.layouts import sparse_coo
from .._core.sparse import Pattern, has_blocks, is_sparse, is_stacked, sparse_form, unsupported
from .._core.tensor import Tensor, from_host
from ..dispatch.bindings import DISPATCHER_OF, FUNCTIONS
from ..ops.linalg.sparse_kernels import added, gathered
from ._conversion import on_values, stable
from ._parts import (
    assembled,
    at_pattern,
    coalesced,
    coo_index,
    index_array,
    is_coo,
    keys_of,
    parts,
    pattern_of,
    values_of,
)

# Of a sum they may be taken value by value, so that repeated indices do not matter.
LINEAR = ("neg", "real", "deg2rad", "rad2deg")
KEEP_ZERO = (
    "abs", "sqrt", "square", "sgn", "sign", "sin", "tan", "sinh", "tanh", "asin", "atan", "asinh", "atanh", "expm1", "log1p", "ceil",
    "floor", "round", "trunc", "frac", "relu", "erf", "erfinv", "isnan", "isinf", "isposinf", "isneginf", "signbit", "nan_to_num",
)  # fmt: skip


def _unary(name: str, linear: bool) -> None:
    function = FUNCTIONS[name]
    parameters = function.declared.parameters  # pyright: ignore[reportFunctionMemberAccess]
    node = f"{''.join(word.capitalize() for word in name.split('_'))}Backward0"

    @sparse_form(DISPATCHER_OF[name].name, blocks=True, stacks=True)
    def form(sparse: Tensor, *rest: object) -> Tensor:
        if any(isinstance(argument, Tensor) for argument in rest):
            raise unsupported(name, (sparse,))
        by_position, by_name = parameters.split((sparse, *rest))
        if not linear and is_coo(sparse):
            sparse = coalesced(sparse)
        return on_values(sparse, lambda values: function(values, *by_position[1:], **by_name), node)


for _name in (*LINEAR, *KEEP_ZERO):
    if _name in DISPATCHER_OF:
        _unary(_name, _name in LINEAR)


def _number(x: object) -> bool:
    """Whether this is one number, for which a tensor of no dimensions stands too."""
    return not isinstance(x, Tensor) or (not x.dim() and not is_sparse(x))


@sparse_form("conj", "_conj_physical", blocks=True, stacks=True)
def conj(input: Tensor) -> Tensor:
    """The conjugates in memory of their own, as PyTorch gives them of sparse tensors."""
    return on_values(input, ops.conj_physical, "ConjPhysicalBackward0")


@sparse_form("pow", stacks=True)
def _power(base: Any, exponent: Any) -> Tensor:
    if not is_sparse(base) or not _number(exponent):
        raise unsupported("pow", (base, exponent))
    if not isinstance(exponent, Tensor) and exponent <= 0:
        raise RuntimeError("A sparse tensor can be raised to a positive power only: zero to any other is not zero")
    return on_values(coalesced(base) if is_coo(base) else base, lambda values: values**exponent, "PowBackward0")


@sparse_form("div", stacks=True)
def _divided(input: Any, other: Any, rounding_mode: str | None = None) -> Tensor:
    if not is_sparse(input):
        raise unsupported("div", (input, other))
    if not _number(other):
        raise RuntimeError(
            f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {list(other.shape)} for divisor)"
        )
    if rounding_mode is not None and is_coo(input):
        input = coalesced(input)
    return on_values(input, lambda values: ops.div(values, other, rounding_mode=rounding_mode), "DivBackward0")


@sparse_form("mul", blocks=True, stacks=True)
def _product(input: Any, other: Any) -> Tensor:
    if not is_sparse(input) or (is_sparse(other) and not input.dim() and other.dim()):
        input, other = other, input
    if is_sparse(other) and not other.dim():  # it stands for one number
        other = other.to_dense()
    if _number(other):
        kind = ops.result_type(input, other)  # not that of the values, which have a dimension more than the tensor
        return on_values(input, lambda values: (values * other).to(kind), "MulBackward0")
    pattern = pattern_of(input)
    _same_blocks("mul", input, other)
    if not is_sparse(other):
        return _product_with_dense(stable(input), other)
    if input.shape != other.shape:
        raise RuntimeError(
            f"mul operands have incompatible sizes: {list(input.shape)} and {list(other.shape)}. Sparse tensors do not broadcast"
        )
    if pattern_of(other).layout is not pattern.layout:
        other = other.to_sparse(layout=pattern.layout)  # pyright: ignore[reportAttributeAccessIssue]
    if is_coo(input):
        input, other = coalesced(input), coalesced(other)
        pattern = pattern_of(input)
    elif not _same_pattern(pattern, pattern_of(other)):
        coo = _product(input.to_sparse(), other.to_sparse())
        return coo.to_sparse(layout=pattern.layout)  # pyright: ignore[reportAttributeAccessIssue]
    if _same_pattern(pattern, pattern_of(other)):
        return assembled(pattern, values_of(input) * values_of(other), True, "MulBackward0")
    products = values_of(input) * at_pattern(other, pattern)
    return _where_both(pattern, products, pattern_of(other))


def _where_both(pattern: Pattern, values: Tensor, other: Pattern) -> Tensor:
    """The elements whose index the other pattern has too."""
    sizes = pattern.shape[: pattern.sparse_dim]
    index = index_array(pattern)
    common_places = np.flatnonzero(np.isin(keys_of(index, sizes), keys_of(index_array(other), sizes)))
    places = from_host(common_places).to(values.device)
    smaller = Pattern(
        pattern.layout, (from_host(np.ascontiguousarray(index[:, common_places])).to(values.device),), pattern.shape
    )
    return assembled(smaller, values.index_select(0, places), True, "MulBackward0")


def _product_with_dense(sparse: Tensor, dense: Tensor) -> Tensor:
    content = parts(sparse)
    pattern = content.pattern
    try:
        shape = np.broadcast_shapes(pattern.shape, tuple(dense.shape))
    except ValueError:
        raise RuntimeError(
            f"mul(sparse, dense): the dense tensor of shape {list(dense.shape)} does not broadcast to {list(pattern.shape)}"
        ) from None
    if shape == pattern.shape:
        factors = gathered(dense.expand(shape), coo_index(pattern), "MulBackward0")
        return assembled(pattern, values_of(sparse) * factors, content.coalesced, "MulBackward0")
    if not is_coo(sparse):
        raise unsupported("mul", (sparse, dense))
    index, copies = _spread(pattern, shape)
    factors = gathered(dense.expand(shape), index, "MulBackward0")
    values: Any = values_of(sparse)
    values = values.repeat(copies, *(1,) * (values.dim() - 1)) * factors
    return assembled(Pattern(sparse_coo, (index,), shape), values, False, "MulBackward0")


def _spread(pattern: Pattern, shape: tuple[int, ...]) -> tuple[Tensor, int]:
    """The indices of a sparse tensor that is expanded to a shape, and how often its values come one after the other."""
    extra = len(shape) - len(pattern.shape)
    own, index = (1,) * extra + pattern.shape, pattern.indices[0]
    rows, copies = [*ops.zeros((extra, pattern.count), dtype=dtypes.int64, device=index.device), *index], 1
    for dim in range(len(rows)):
        if own[dim] == 1 != shape[dim]:
            number = ops.arange(shape[dim], device=index.device).repeat_interleave(rows[dim].shape[0])
            rows = [number if place == dim else other.repeat(shape[dim]) for place, other in enumerate(rows)]
            copies *= shape[dim]
    return (ops.stack(rows) if rows else index), copies


def _same_pattern(a: Pattern, b: Pattern) -> bool:
    """Whether two patterns are the same one, as those of a tensor and of what was computed from it are."""
    if a.shape != b.shape or a.layout is not b.layout or a.count != b.count or a.block != b.block:
        return False
    pairs = list(zip(a.indices, b.indices, strict=True))
    if all(x is y or stored_value(x) is stored_value(y) for x, y in pairs):
        return True
    arrays = [(stored_value(x).array, stored_value(y).array) for x, y in pairs]
    return all(x is not None and y is not None for x, y in arrays) and all(
        bool((x._array() == y._array()).all()) for x, y in pairs
    )


@sparse_form("add", blocks=True, stacks=True)
def _sum(input: object, other: object, alpha: object = 1) -> Tensor:
    return _summed(input, other, alpha, "AddBackward0")


@sparse_form("sub", blocks=True, stacks=True)
def _difference(input: Any, other: object, alpha: Any = 1) -> Tensor:
    return _summed(input, other, -alpha, "SubBackward0")


@sparse_form("rsub")
def _reversed_difference(input: Any, other: object, alpha: Any = 1) -> Tensor:
    return _summed(other, input, -alpha, "RsubBackward1")


def _summed(input: Any, other: Any, alpha: Any, name: str) -> Tensor:
    if not is_sparse(input):
        if not isinstance(input, Tensor):
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        return _added_to_dense(input, other, alpha, name)
    if not is_sparse(other):
        if isinstance(other, Tensor) and not is_coo(input):
            return _added_to_dense(_times(other, alpha, ops.result_type(input, other)), input, 1, name)
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if input.shape != other.shape:
        raise RuntimeError(
            f"add: expected sizes of 'self' and 'other' to match, but {list(input.shape)} != {list(other.shape)}"
        )
    _same_blocks("add", input, other)
    if pattern_of(other).layout is not pattern_of(input).layout:
        other = other.to_sparse(layout=pattern_of(input).layout)
    input, other = stable(input), stable(other)
    a, b = parts(input), parts(other)
    right = _times(values_of(other), alpha, ops.result_type(input, other))
    if _same_pattern(a.pattern, b.pattern):
        return assembled(a.pattern, values_of(input) + right, a.coalesced and b.coalesced, name)
    if a.pattern.layout is not sparse_coo:
        total = _summed(input.to_sparse(), other.to_sparse(), alpha, name)
        return total.to_sparse(layout=a.pattern.layout)  # pyright: ignore[reportAttributeAccessIssue]
    if a.pattern.sparse_dim != b.pattern.sparse_dim:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same number of sparse dimensions: {a.pattern.sparse_dim} and "
            f"{b.pattern.sparse_dim}"
        )
    index = ops.cat([a.pattern.indices[0], b.pattern.indices[0]], 1)
    uncoalesced = assembled(
        Pattern(sparse_coo, (index,), a.pattern.shape), ops.cat([values_of(input), right]), False, name
    )
    return coalesced(uncoalesced) if a.coalesced and b.coalesced else uncoalesced


def _same_blocks(name: str, *operands: Any) -> None:
    """Raises the error of an operation that sparse tensors lack where there are blocks or stacks, unless both have the same ones."""
    if any(has_blocks(each) or is_stacked(each) for each in operands) and not (
        all(map(is_sparse, operands)) and _same_pattern(*(pattern_of(each) for each in operands))
    ):
        raise unsupported(name, operands)


def _added_to_dense(dense: Tensor, sparse: Tensor, alpha: object, name: str) -> Tensor:
    _same_blocks("add", dense, sparse)
    sparse = stable(sparse)
    pattern = pattern_of(sparse)
    if tuple(dense.shape) != pattern.shape:
        raise RuntimeError(
            f"add: expected 'self' to be broadcastable to the sparse tensor: {list(dense.shape)} and {list(pattern.shape)}"
        )
    kind = ops.result_type(dense, sparse)
    right = _times(values_of(sparse), alpha, kind)
    return added(dense.to(kind), coo_index(pattern), right.to(kind), name)


def _times(values: Tensor, alpha: Any, kind: dtypes.dtype) -> Tensor:
    """``alpha`` times the second operand of a sum, in the dtype of the sum: in its own -200 may be no number."""
    return values if alpha == 1 else values.to(kind) * alpha
