"""Distances between all pairs of rows."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.tensor import Tensor
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, Saves, composite, op
from .matmul import contract

_MODES = {
    "use_mm_for_euclid_dist_if_necessary": None,
    "use_mm_for_euclid_dist": 1,
    "donot_use_mm_for_euclid_dist": 2,
}
MANY = 25  # rows from which PyTorch takes Euclidean distances from a matrix product, unless told otherwise


def _root(total: Array, p: float) -> Array:
    """``total ** (1 / p)``, whose gradient at 0 is 0."""
    zero = total == 0
    safe = jnp.where(zero, jnp.ones((), total.dtype), total)
    root = jnp.sqrt(safe) if p == 2 else safe ** jnp.asarray(1 / p, total.dtype)
    return jnp.where(zero, jnp.zeros((), total.dtype), root)


def _norm(d: Array, p: float) -> Array:
    """The norm along the last dimension, with PyTorch's gradients: 0 where the norm is 0, the whole for every largest element."""
    if not d.shape[-1]:
        return jnp.zeros(d.shape[:-1], d.dtype)
    if p == 0:
        return jnp.sum(d != 0, axis=-1).astype(d.dtype)
    size = d * jax.lax.stop_gradient(jnp.sign(d))  # whose derivative at 0 is 0; that of JAX's ``abs`` is 1
    if p == 1:
        return jnp.sum(size, axis=-1)
    if p == 2:
        return _root(jnp.sum(d * d, axis=-1), 2)
    if p == math.inf:
        fixed = jax.lax.stop_gradient(size)
        largest = jnp.max(fixed, axis=-1)
        slopes = jnp.where(fixed == largest[..., None], size - fixed, jnp.zeros((), d.dtype))
        return largest + jnp.sum(slopes, axis=-1)
    zero = size == 0
    power = jnp.where(zero, jnp.ones((), d.dtype), size) ** jnp.asarray(p, d.dtype)
    return _root(jnp.sum(jnp.where(zero, jnp.zeros((), d.dtype), power), axis=-1), p)


@op(
    name="_pdist",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward="PdistBackward0",
    saves=Saves.RESULT,
    samples=[Sample(shapes=((4, 3),), args=(p,)) for p in (0.0, 0.5, 1.0, 2.0, 3.0, math.inf)],
)
def between_rows(input: Array, p: float) -> Array:
    """Distances of the rows i < j, in the order (0, 1), (0, 2), ..., (1, 2), ..."""
    first, second = np.triu_indices(input.shape[0], 1)
    return _norm(jnp.take(input, first, axis=0) - jnp.take(input, second, axis=0), p)


@op(
    name="_cdist",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward=lambda x1, x2, p, by_product: "ViewBackward0" if by_product else "CdistBackward0",
    samples=[Sample(shapes=((2, 4, 3), (5, 3)), args=(p, False)) for p in (0.0, 0.5, 1.0, 2.0, 3.0, math.inf)]
    + [Sample(shapes=((4, 3), (5, 3)), args=(2.0, True))],
)
def between(x1: Array, x2: Array, p: float, by_product: bool) -> Array:
    """Distances of the rows of (..., P, M) to those of (..., R, M): (..., P, R)."""
    if not by_product:
        return _norm(x1[..., :, None, :] - x2[..., None, :, :], p)
    lead = jnp.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    a, b = (jnp.broadcast_to(x, (*lead, *x.shape[-2:])).reshape(-1, *x.shape[-2:]) for x in (x1, x2))
    dots = contract(a, b, ((2,), (2,)), ((0,), (0,)))
    squares = jnp.sum(a * a, axis=-1)[:, :, None] + jnp.sum(b * b, axis=-1)[:, None, :]
    total = squares - 2 * dots
    total = jnp.where(total > 0, total, jnp.where(jnp.isnan(total), total, jnp.zeros((), total.dtype)))
    return _root(total, 2).reshape(*lead, x1.shape[-2], x2.shape[-2])


def _only_wide(name: str, x: Tensor) -> None:
    """float32 and float64, as PyTorch's kernels."""
    if x.dtype not in (dtypes.float32, dtypes.float64):
        raise NotImplementedError(f"\"{name}\" not implemented for '{x.dtype.scalar_name}'")


@composite(forms=Form.FUNCTION | Form.FUNCTIONAL, autocast={"cuda": Autocast.FLOAT32})
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The distances of norm ``p`` between all rows of (N, M), each pair once: shape (N * (N - 1) / 2).

    >>> torch.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if input.dtype.category != dtypes.FLOAT:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    _only_wide("pdist", input)
    return between_rows(input, float(p))


@composite(forms=Form.FUNCTION, autocast=Autocast.FLOAT32)
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The distances of norm ``p`` between the rows of (..., P, M) and of (..., R, M): shape (..., P, R).

    Args:
        compute_mode: whether Euclidean distances come from a matrix product, which is faster and less exact: never
            ("donot_use_mm_for_euclid_dist"), always ("use_mm_for_euclid_dist"), or with more than 25 rows.

    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.dim()}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dtype.category != dtypes.FLOAT:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype.scalar_name}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if x1.dtype is not x2.dtype:
        raise RuntimeError(f"expected scalar type {x1.dtype.scalar_name} but found {x2.dtype.scalar_name}")
    _only_wide("cdist", x1)
    mode, rows = _MODES[compute_mode], (x1.shape[-2], x2.shape[-2])
    by_product = p == 2 and (mode == 1 or (mode is None and max(rows) > MANY))
    return between(x1, x2, float(p), bool(by_product and min(rows) and x1.shape[-1]))
