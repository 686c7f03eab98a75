"""Transforms of vectors and matrices: simplexes, Cholesky factors, and plain reshaping."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ... import ops
from ..._core.dtypes import finfo
from ..._core.size import Size
from ..._core.tensor import Tensor
from ...nn import functional as F
from .. import constraints
from ..utils import tril_matrix_to_vec, vec_to_tril_matrix
from ._base import ParameterlessTransform, Transform

if TYPE_CHECKING:
    from ..constraints import Constraint


__all__ = [
    "CorrCholeskyTransform", "LowerCholeskyTransform", "PositiveDefiniteTransform", "ReshapeTransform", "SoftmaxTransform",
    "StickBreakingTransform",
]  # fmt: skip


class ReshapeTransform(Transform):
    """Gives the last dimensions, of shape ``in_shape``, the shape ``out_shape``."""

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Constraint:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Constraint:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform, with a cache of this size."""
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """0, since a reshape changes no volume."""
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of the result for an argument of this shape."""
        return _with_last_dimensions(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of the argument for a result of this shape."""
        return _with_last_dimensions(shape, self.out_shape, self.in_shape)


def _with_last_dimensions(shape: Sequence[int], old: Size, new: Size) -> Size:
    """Replaces the last dimensions ``old`` of a shape by ``new``."""
    if len(shape) < len(old):
        raise ValueError("Too few dimensions on input")
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


class CorrCholeskyTransform(Transform):
    """A vector of ``d (d - 1) / 2`` numbers to the Cholesky factor of a ``d`` by ``d`` correlation matrix.

    The tanh of a number is a partial correlation. Each row has length 1: an entry takes its share, the partial correlation, of the length
    that the entries before it leave.

    Source: Lewandowski, Kurowicka, Joe, "Generating random correlation matrices based on vines and extended onion method" (2009).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        x = ops.tanh(x)
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        remaining_length = (1 - r**2).sqrt().cumprod(-1)
        r = r + ops.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * F.pad(remaining_length[..., :-1], [1, 0], value=1.0)

    def _inverse(self, y: Tensor) -> Tensor:
        remaining = 1 - ops.cumsum(y * y, dim=-1)  # of the squared length, behind each entry
        before = F.pad(remaining[..., :-1], [1, 0], value=1.0)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(before, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Tensor | None = None) -> Tensor:
        """The sum of two logarithms: of the tanh's derivative, and of the remaining lengths by which it is multiplied."""
        remaining = 1 - (y * y).cumsum(dim=-1)
        stick = 0.5 * tril_matrix_to_vec(remaining, diag=-2).log().sum(-1)
        tanh = -2 * (x + F.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return stick + tanh

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of the result for an argument of this shape."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        n = shape[-1]
        d = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*shape[:-1], d, d))

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of the argument for a result of this shape."""
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        d = shape[-1]
        return Size((*shape[:-2], d * (d - 1) // 2))


class SoftmaxTransform(ParameterlessTransform):
    """``y = exp(x) / sum(exp(x))``. Not invertible; the inverse returns ``log(y)``, which is useful for optimisation."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        return F.softmax(x, -1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The same shape, which has at least one dimension."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(ParameterlessTransform):
    """``n`` numbers to a point of the simplex with ``n + 1`` coordinates.

    Each coordinate is a piece broken off a stick of length 1: the sigmoid of a number is the share of the stick that remains.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _offset(self, x: Tensor) -> Tensor:
        """The shift by which zeros become the middle of the simplex."""
        return x.shape[-1] - x.new_ones(x.shape[-1]).cumsum(-1) + 1

    def _call(self, x: Tensor) -> Tensor:
        z = ops.sigmoid(x - self._offset(x).log())
        remaining = (1 - z).cumprod(-1)
        return F.pad(z, [0, 1], value=1) * F.pad(remaining, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        pieces = y[..., :-1]  # the last coordinate is whatever remains
        remaining = (1 - pieces.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return pieces.log() - remaining.log() + self._offset(pieces).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum of two logarithms: of the sigmoids' derivatives, and of the remaining lengths by which they are multiplied."""
        x = x - self._offset(x).log()
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """One coordinate more."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """One coordinate less."""
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return Size((*shape[:-1], shape[-1] - 1))


class LowerCholeskyTransform(ParameterlessTransform):
    """Any matrix to a lower triangular one with a positive diagonal: zeros above the diagonal, and exp of the diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(ParameterlessTransform):
    """Any matrix to a positive definite one, by way of its Cholesky factor."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        x = LowerCholeskyTransform()(x)
        return x @ x.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(ops.cholesky(y))
