"""Products of matrices in groups, as a mixture of experts makes them; and reductions over segments."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core import dtypes
from ..._core.annotations import Dtype
from ..._core.tensor import Tensor, wrap_dim
from ...dispatch.register import Category, Form, Indices, Promote, alias, composite, op
from ...numerics.matmul_precision import precision


@op(name="_grouped_mm", promote=Promote.NONE, accepts=Category.FLOAT, forms=Form.FUNCTION, samples=[])
def _grouped_mm(
    mat_a: Array, mat_b: Array, offs: Indices | None = None, bias: Array | None = None, out_dtype: Dtype | None = None
) -> Array:
    """Products of matrices, a group each; where a side has two dimensions, the groups lie in it one after the other.

    Args:
        mat_a: (m, k), with groups of rows or, if both have two dimensions, of columns; or (g, m, k).
        mat_b: (k, n), or (g, k, n).
        offs: (g), int32: where each group ends; what lies behind the last gives zeros. Not given if both have three dimensions.
        bias, out_dtype: for PyTorch's signature; a bias and another dtype are refused, as there.

    >>> a, b = torch.ones(3, 2), torch.stack([torch.eye(2), 2 * torch.eye(2)])
    >>> torch.nn.functional.grouped_mm(a, b, offs=torch.tensor([1, 3], dtype=torch.int32))
    tensor([[1., 1.],
            [2., 2.],
            [2., 2.]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.grouped_mm.html
    """
    _check_grouped(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return jnp.matmul(mat_a, mat_b, precision=precision())
    sizes = jnp.diff(offs, prepend=np.int32(0))
    if mat_b.ndim == 3:
        return _rows(mat_a, mat_b, sizes)
    if mat_a.ndim == 3:  # groups of columns: the same with everything transposed
        return _rows(mat_b.T, mat_a.transpose(0, 2, 1), sizes).T
    return _sums(mat_a, mat_b, sizes)


def _rows(a: Array, b: Array, sizes: Array) -> Array:
    """(m, k) by (g, k, n): rows in groups. Sums are made in float32, whatever the dtype."""
    out = lax.ragged_dot(a, b, sizes, precision=precision(), preferred_element_type=jnp.float32)
    return out.astype(a.dtype)


@jax.custom_vjp
def _sums(a: Array, b: Array, sizes: Array) -> Array:
    """(m, k) by (k, n) gives (g, m, n): a product for each group of what is summed over. JAX has no derivative of it."""
    dims = lax.RaggedDotDimensionNumbers((((1,), (0,)), ((), ())), (1,), ())
    out = lax.ragged_dot_general(a, b, sizes, dims, precision=precision(), preferred_element_type=jnp.float32)
    return out.astype(a.dtype)


def _sums_bwd(saved: tuple[Array, Array, Array], cotangent: Array) -> tuple[Array, Array, None]:
    a, b, sizes = saved
    return _rows(b, cotangent.transpose(0, 2, 1), sizes).T, _rows(a.T, cotangent, sizes), None


_sums.defvjp(lambda a, b, sizes: (_sums(a, b, sizes), (a, b, sizes)), _sums_bwd)


def _check_grouped(a: Array, b: Array, offs: Array | None, bias: Array | None, out_dtype: object) -> None:
    operand_dtypes = [dtypes.from_numpy_dtype(x.dtype) for x in (a, b)]
    for name, dtype in zip(("mat_a", "mat_b"), operand_dtypes, strict=True):
        if dtype.name not in ("float32", "bfloat16", "float16"):
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {dtype.scalar_name}")
    for name, x in (("mat_a", a), ("mat_b", b)):
        if x.ndim not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if (offs is None) is not (a.ndim == b.ndim == 3):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if offs is not None and offs.dtype.name != "int32":
        raise RuntimeError("Offsets have to be int32")
    groups = {x.shape[0] for x in (a, b) if x.ndim == 3} | (set() if offs is None else {offs.shape[0]})
    if len(groups) > 1:
        raise RuntimeError("matrix batch sizes have to match")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype is not operand_dtypes[0]:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    if operand_dtypes[0] is not operand_dtypes[1]:
        names = [dtypes.C_NAMES[dtype.name] for dtype in operand_dtypes]
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {names[0]} != {names[1]}")


# ---- segments


@composite(forms=Form.FUNCTION)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """Reduces stretches of a dimension, which lie one after the other.

    Args:
        data: (*rows, n, *rest); as many dimensions are rows as ``axis`` says.
        reduce: ``"sum"``, ``"mean"``, ``"max"``, ``"min"`` or ``"prod"``.
        lengths: (*rows, g): how long each stretch is; in all n.
        offsets: (*rows, g + 1): where each begins, and where the last ends; instead of ``lengths``.
        unsafe: whether ``lengths`` are taken as they are. Otherwise they are read, which ends the recorded segment.
        initial: a number that each reduction begins with.

    >>> torch.segment_reduce(torch.tensor([1.0, 2.0, 3.0]), "sum", lengths=torch.tensor([2, 0, 1]))
    tensor([3., 0., 3.])
    """
    kind = {"amax": "max", "amin": "min"}.get(reduce, reduce)
    if kind not in ("sum", "mean", "max", "min", "prod"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    axis = wrap_dim(axis, data.dim())
    borders = lengths if offsets is None else offsets
    if borders is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if axis != borders.dim() - 1:
        name = "lengths" if offsets is None else "offsets"
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}.")
    if offsets is None:
        if not unsafe:
            lengths_array = borders._array()
            if (lengths_array < 0).any():
                raise RuntimeError("lengths contains negative value!")
            if (lengths_array.sum(-1) != data.shape[axis]).any():
                raise RuntimeError(
                    "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
                )
        borders = borders.new_zeros((*borders.shape[:-1], borders.shape[-1] + 1)).slice_scatter(
            borders.cumsum(-1), -1, 1
        )
    return _segments(data, borders, kind, None if initial is None else float(initial))


inner_segment_reduce = alias("_segment_reduce", segment_reduce)  # the name that PyTorch's own programs call


@op(
    name="_segments",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward="SegmentReduceBackward0",
    refuse="_segment_reduce_cpu",
    samples=[],
)
def _segments(data: Array, offsets: Indices, kind: str, initial: float | None) -> Array:
    """``data`` with the dimension behind the rows of ``offsets`` reduced, stretch by stretch."""
    reduce_row = lambda values, starts: _segments_of_one(values, starts, kind, initial)  # noqa: E731
    for _ in range(offsets.ndim - 1):
        reduce_row = jax.vmap(reduce_row)
    return reduce_row(data, offsets)


def _segments_of_one(data: Array, offsets: Array, kind: str, initial: float | None) -> Array:
    groups, dtype = offsets.shape[0] - 1, data.dtype
    places = jnp.arange(data.shape[0], dtype=offsets.dtype)
    # Each element belongs to the first group that ends behind it, so empty groups get none.
    owner = jnp.searchsorted(offsets[1:], places, side="right").astype(np.int32)
    first = jnp.asarray(
        {"sum": 0, "mean": 0, "prod": 1, "max": -np.inf, "min": np.inf}[kind] if initial is None else initial, dtype
    )
    if kind in ("sum", "mean"):
        out = jax.ops.segment_sum(data, owner, groups) + first
        if kind == "sum":
            return out
        count = jnp.diff(offsets).astype(dtype).reshape(-1, *(1,) * (data.ndim - 1))
        return out / (count if initial is None else jnp.maximum(count, jnp.ones_like(count)))
    if kind == "prod":
        return _segment_prod(data, owner, groups) * first
    extreme, better = (jax.ops.segment_max, jnp.maximum) if kind == "max" else (jax.ops.segment_min, jnp.minimum)
    best = lax.stop_gradient(better(extreme(data, owner, groups), first))
    # Several best elements share the gradient equally. NaN counts as best.
    among = (data == best[owner]) | jnp.isnan(data)
    count = jax.ops.segment_sum(among.astype(dtype), owner, groups)[owner]
    # Zero in value, with a slope: ``best`` itself has no gradient.
    change = jnp.where(
        among, (data - lax.stop_gradient(data)) / jnp.maximum(count, jnp.ones_like(count)), jnp.zeros_like(data)
    )
    return best + jax.ops.segment_sum(change, owner, groups)


def _segment_prod(data: Array, owner: Array, groups: int) -> Array:
    """Products, whose derivative holds at zeros and NaN too: the product of all others."""

    @jax.custom_jvp
    def prod(x: Array) -> Array:
        return jax.ops.segment_prod(x, owner, groups)

    @prod.defjvp
    def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> Any:
        (x,), (change,) = primals, tangents
        safe, others = x, jnp.ones_like(x)
        for is_special, value in ((x == jnp.zeros_like(x), 0.0), (jnp.isnan(x), np.nan)):  # what cannot be divided out
            count = is_special.astype(x.dtype)
            elsewhere = jax.ops.segment_sum(count, owner, groups)[owner] > count
            others = jnp.where(elsewhere, jnp.asarray(value, x.dtype), others)
            safe = jnp.where(is_special, jnp.ones_like(x), safe)
        slope = others * prod(safe)[owner] / safe
        return prod(x), jax.ops.segment_sum(slope * change, owner, groups)

    return prod(data)
