"""The multivariate normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import ops
from .._core.tensor import Tensor
from ..ops.linalg.factorisations import linalg_cholesky
from ..ops.linalg.solving import linalg_solve_triangular
from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

if TYPE_CHECKING:
    from .._core.size import Size


__all__ = ["MultivariateNormal"]


def matrix_vector(matrix: Tensor | None, vector: Tensor) -> Tensor:
    """Products of matrices and vectors, of any batch dimensions."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def squared_distance(tril: Tensor, x: Tensor) -> Tensor:
    """``x (L L^T)^-1 x`` for lower triangular ``L``."""
    if tril.dim() == 2:  # one matrix for all vectors: one call solves for all of them
        flat = x.reshape(-1, x.shape[-1])
        return linalg_solve_triangular(tril, flat.mT, upper=False).pow(2).sum(-2).reshape(x.shape[:-1])
    return linalg_solve_triangular(tril, x.unsqueeze(-1), upper=False).squeeze(-1).pow(2).sum(-1)


def tril_of_precision(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse of a positive definite matrix."""
    # The lower factor of the reversed matrix, reversed again, is an upper U with P = U U^T. The result is the inverse of U^T.
    inverse = linalg_cholesky(ops.flip(precision, (-2, -1))).flip((-2, -1)).mT
    identity = ops.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return linalg_solve_triangular(inverse, identity, upper=False)


def inverse_of(tril: Tensor) -> Tensor:
    """``(L L^T)^-1`` for lower triangular ``L``."""
    return ops.cholesky_inverse(tril)


def log_determinant(tril: Tensor) -> Tensor:
    """``log det L`` of a lower triangular matrix."""
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class ScaleTril:
    """A matrix in three forms: the covariance, its inverse, or its Cholesky factor. The other two are computed when they are read."""

    _unbroadcasted_scale_tril: Tensor
    _batch_shape: Size

    @staticmethod
    def only_matrix(error: type[Exception], **matrices: object) -> tuple[str, Any]:
        """The name and the value of the one matrix that is not None; an error if there are none or several."""
        passed_matrices = {name: matrix for name, matrix in matrices.items() if matrix is not None}
        if len(passed_matrices) != 1:
            raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        return next(iter(passed_matrices.items()))

    def set_scale_tril(self, name: str, matrix: Tensor) -> None:
        """Computes the Cholesky factor from the matrix of this name."""
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = linalg_cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = tril_of_precision(matrix)

    def _for_batch(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._for_batch(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self._for_batch(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._for_batch(inverse_of(self._unbroadcasted_scale_tril))


class MultivariateNormal(ScaleTril, Distribution):
    """The normal distribution of vectors. Pass exactly one of the three matrices.

    Args:
        loc: the mean, of shape ``(..., n)``.
        covariance_matrix: of shape ``(..., n, n)``, positive definite.
        precision_matrix: its inverse.
        scale_tril: its lower Cholesky factor, from which most is computed.

    >>> torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.multivariate_normal.MultivariateNormal
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = self.only_matrix(
            ValueError, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        if matrix.dim() < 2:
            described = "scale_tril matrix" if name == "scale_tril" else name
            described = "precision_matrix" if name == "precision_matrix" else described
            raise ValueError(f"{described} must be at least two-dimensional, with optional leading batch dimensions")
        batch = ops.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self.set_scale_tril(name, matrix)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variance = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return variance.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        eps = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + matrix_vector(self._unbroadcasted_scale_tril, eps)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = squared_distance(self._unbroadcasted_scale_tril, value - self.loc)
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + distance) - log_determinant(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        standard_entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (standard_entropy + log_determinant(self._unbroadcasted_scale_tril)).expand(self._batch_shape)
