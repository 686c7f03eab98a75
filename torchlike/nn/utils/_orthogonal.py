"""The parametrization that keeps matrices orthogonal, with its three maps."""

from __future__ import annotations

from typing import Any

from ..._core.dtypes import finfo
from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...ops.creation.filled import eye, ones_like, zeros_like
from ...ops.creation.random import randn
from ...ops.linalg.factorisations import geqrf, linalg_householder_product
from ...ops.linalg.matrix_functions import linalg_matrix_exp
from ...ops.linalg.solving import linalg_solve
from ...ops.shape.joining import cat
from ..modules.module import Module

__all__ = ["MAPS", "_Orthogonal"]

MAPS = ("matrix_exp", "cayley", "householder")


def _diagonal(matrix: Tensor) -> Tensor:
    return matrix.diagonal(dim1=-2, dim2=-1)


def _is_orthogonal(q: Tensor) -> bool:
    rows, columns = q.shape[-2:]
    if rows < columns:
        return False
    identity = eye(columns, dtype=q.dtype, device=q.device)
    return (q.mH @ q).allclose(identity.expand(*q.shape[:-2], columns, columns), atol=10 * rows * finfo(q.dtype).eps)


def _nearby(matrix: Tensor) -> Tensor:
    """The orthogonal factor of a tall matrix. Its signs are chosen so that an orthogonal matrix stays the same."""
    packed, tau = geqrf(matrix)
    return linalg_householder_product(packed, tau) * _diagonal(packed).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """From a matrix of trained numbers to one with orthonormal columns (orthonormal rows if it is wide), and back."""

    base: Any

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        is_wide = X.shape[-2] < X.shape[-1]
        X = X.mT if is_wide else X
        Q = self._reflections(X) if self.orthogonal_map == "householder" else self._rotation(X)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if is_wide else Q

    def _reflections(self, X: Tensor) -> Tensor:
        """Returns the product of the reflections whose vectors are below the diagonal, with columns signed like the diagonal."""
        A = X.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
        return linalg_householder_product(A, tau) * _diagonal(X).int().unsqueeze(-2)

    def _rotation(self, X: Tensor) -> Tensor:
        """A function of the skew-Hermitian matrix of which ``X`` is the lower triangle."""
        rows, columns = X.shape[-2:]
        X = X.tril()
        if rows != columns:
            X = cat([X, X.new_zeros(*X.shape[:-2], rows, rows - columns)], dim=-1)
        A = X - X.mH
        if self.orthogonal_map == "matrix_exp":
            Q = linalg_matrix_exp(A)
        else:
            identity = eye(rows, dtype=A.dtype, device=A.device)
            Q = linalg_solve(identity - 0.5 * A, identity + 0.5 * A)
        return Q if rows == columns else Q[..., :columns]

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        original = Q
        is_wide = Q.shape[-2] < Q.shape[-1]
        Q = Q.mT if is_wide else Q
        rows, columns = Q.shape[-2:]
        if hasattr(self, "base"):
            if rows > columns:
                padding = randn(*Q.shape[:-2], rows, rows - columns, dtype=Q.dtype, device=Q.device)
                self.base = _nearby(cat([Q, padding], dim=-1))
            else:
                self.base = Q.clone() if _is_orthogonal(Q) else _nearby(Q)
            zeros = zeros_like(original)
            _diagonal(zeros).fill_(-1.0)  # the map turns this matrix into the first columns of the identity
            return zeros
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        packed, tau = geqrf(Q)
        # tau is 0 for a column that geqrf did not reflect; the column keeps its sign.
        signs = _diagonal(packed).sign() * ones_like(tau).masked_fill(tau == 0, -1.0)
        packed = packed.clone()
        _diagonal(packed).copy_(signs)
        return packed.mT if is_wide else packed
