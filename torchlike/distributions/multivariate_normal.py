"""The multivariate normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import ops
from .._core.tensor import Tensor
from ..ops.linalg.factorisations import linalg_cholesky
from ..ops.linalg.solving import linalg_solve_triangular
from . import constraints
from .distribution import Distribution
from .utils import lazy_property, standard_normal

__all__ = ["MultivariateNormal"]


def matrix_vector(matrix: Any, vector: Any) -> Any:
    """Products of matrices and vectors, of any batch dimensions."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def squared_distance(tril: Any, x: Tensor) -> Any:
    """``x (L L^T)^-1 x`` for lower triangular ``L``."""
    if tril.dim() == 2:  # one matrix for all: its columns are solved at once
        flat = x.reshape(-1, x.shape[-1])
        return linalg_solve_triangular(tril, flat.mT, upper=False).pow(2).sum(-2).reshape(x.shape[:-1])
    return linalg_solve_triangular(tril, x.unsqueeze(-1), upper=False).squeeze(-1).pow(2).sum(-1)


def tril_of_precision(precision: Any) -> Any:
    """The Cholesky factor of the inverse of a positive definite matrix."""
    # The factor of the matrix read backwards, turned round, is an upper one, whose inverse is what is wanted.
    inverse = linalg_cholesky(ops.flip(precision, (-2, -1))).flip((-2, -1)).mT
    identity = ops.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return linalg_solve_triangular(inverse, identity, upper=False)


def inverse_of(tril: Any) -> Any:
    """``(L L^T)^-1`` for lower triangular ``L``."""
    return ops.cholesky_inverse(tril)


def log_determinant(tril: Any) -> Any:
    """``log det L`` of a lower triangular matrix."""
    return tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class MultivariateNormal(Distribution):
    """The normal distribution of vectors. Exactly one of the three matrices says how they vary.

    Args:
        loc: the mean, of shape ``(..., n)``.
        covariance_matrix: of shape ``(..., n, n)``, positive definite.
        precision_matrix: its inverse.
        scale_tril: its lower Cholesky factor, with which most is computed.

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
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = {name: matrix for name, matrix in given.items() if matrix is not None}
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            what = "scale_tril matrix" if name == "scale_tril" else name
            what = "precision_matrix" if name == "precision_matrix" else what
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch = ops.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        self.loc = loc.expand((*batch, -1))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = linalg_cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = tril_of_precision(matrix)

    def _spread(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower Cholesky factor of the covariance."""
        return self._spread(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        return self._spread(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return self._spread(inverse_of(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Any:
        found = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return found.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        eps = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + matrix_vector(self._unbroadcasted_scale_tril, eps)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        distance = squared_distance(self._unbroadcasted_scale_tril, value - self.loc)
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + distance) - log_determinant(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (found + log_determinant(self._unbroadcasted_scale_tril)).expand(self._batch_shape)
