"""The multivariate normal distribution with a covariance of low rank and a diagonal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from .. import ops
from .._core.tensor import Tensor
from ..ops.linalg.factorisations import linalg_cholesky
from ..ops.linalg.solving import linalg_solve_triangular
from . import constraints
from .distribution import Distribution
from .multivariate_normal import log_determinant, matrix_vector, squared_distance
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def capacitance_tril(factor: Tensor, diagonal: Tensor) -> Tensor:
    """The Cholesky factor of ``I + W^T D^-1 W``."""
    m = factor.shape[-1]
    inner = factor.mT / diagonal.unsqueeze(-2) @ factor
    return linalg_cholesky(inner + ops.eye(m, dtype=factor.dtype, device=factor.device))


def lowrank_log_determinant(diagonal: Tensor, capacitance: Tensor) -> Tensor:
    """``log det (W W^T + D)``."""
    return 2 * log_determinant(capacitance) + diagonal.log().sum(-1)


def lowrank_squared_distance(factor: Tensor, diagonal: Tensor, x: Tensor, capacitance: Tensor) -> Tensor:
    """``x (W W^T + D)^-1 x`` by Woodbury's formula."""
    through = matrix_vector(factor.mT / diagonal.unsqueeze(-2), x)
    return (x.pow(2) / diagonal).sum(-1) - squared_distance(capacitance, through)


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with covariance ``cov_factor cov_factor^T + diag(cov_diag)``.

    Args:
        loc: the mean, of shape ``(..., n)``.
        cov_factor: of shape ``(..., n, m)``, with ``m`` much smaller than ``n``: nothing of size ``n`` by ``n`` is computed.
        cov_diag: of shape ``(..., n)``, positive.

    >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.tensor([[1.0], [0.0]]), torch.ones(2))
    >>> d.variance
    tensor([2., 1.])

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.lowrank_multivariate_normal.LowRankMultivariateNormal
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            batch = ops.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc = loc.expand(batch + event)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand(batch + event)
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = capacitance_tril(cov_factor, cov_diag)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Self:
        new = super().expand(batch_shape, _instance)
        for name in ("scale_tril", "covariance_matrix", "precision_matrix"):
            new.__dict__.pop(name, None)  # computed for the batch before its expansion
        return new

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    def _spread(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def variance(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The variances."""
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        # D^1/2 times the factor of D^-1/2 W W^T D^-1/2 + I, a matrix that is well conditioned.
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        inner = scaled @ scaled.mT + ops.eye(self._event_shape[0], dtype=root.dtype, device=root.device)
        return self._spread(root * linalg_cholesky(inner))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return self._spread(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, by Woodbury's formula."""
        over = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        a = linalg_solve_triangular(self._capacitance_tril, over, upper=False)
        return self._spread(self._unbroadcasted_cov_diag.reciprocal().diag_embed() - a.mT @ a)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        factor = self._unbroadcasted_cov_factor
        eps_w = _standard_normal(shape[:-1] + factor.shape[-1:], self.loc.dtype, self.loc.device)
        eps_d = _standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + matrix_vector(factor, eps_w) + self._unbroadcasted_cov_diag.sqrt() * eps_d

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        factor, diagonal = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        distance = lowrank_squared_distance(factor, diagonal, value - self.loc, self._capacitance_tril)
        spread = lowrank_log_determinant(diagonal, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + spread + distance)

    def entropy(self) -> Tensor:
        spread = lowrank_log_determinant(self._unbroadcasted_cov_diag, self._capacitance_tril)
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + spread)
        return entropy.expand(self._batch_shape)
