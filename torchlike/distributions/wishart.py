"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from numbers import Number
from typing import TYPE_CHECKING

from .. import ops
from .._core.dtypes import finfo
from .._core.size import Size
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..ops.linalg.matrix_functions import linalg_slogdet
from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import ScaleTril, log_determinant
from .utils import _standard_normal

if TYPE_CHECKING:
    from .distribution import Distribution


__all__ = ["Wishart"]


class Wishart(ScaleTril, ExponentialFamily):
    """The distribution of ``X^T X`` of ``df`` normal vectors of mean 0. Pass exactly one of the three matrices.

    Args:
        df: degrees of freedom, above the matrices' size less 1.
        covariance_matrix: of shape ``(..., n, n)``, positive definite.
        precision_matrix: its inverse.
        scale_tril: its lower Cholesky factor.

    >>> torch.distributions.Wishart(torch.tensor(4.0), torch.eye(2)).mean
    tensor([[4., 0.],
            [0., 4.]])

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.wishart.Wishart; draws: Bartlett, "On the theory
    of statistical regression" (1933).
    """

    arg_constraints = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0  # pyright: ignore[reportAssignmentType]

    def __init__(
        self,
        df: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = self.only_matrix(
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, Number):
            batch = Size(matrix.shape[:-2])
            self.df = ops.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch = ops.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch)
        event = matrix.shape[-2:]
        if self.df.le(event[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event[-1] - 1}.")
        self.__dict__[name] = matrix.expand((*batch, -1, -1))
        if self.df.lt(event[-1]).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch, event, validate_args=validate_args)
        self.set_scale_tril(name, matrix)
        steps = ops.arange(event[-1], dtype=self.df.dtype, device=self.df.device)
        self._dist_chi2 = Chi2(self.df.unsqueeze(-1) - steps.expand((*batch, -1)))

    def _expanded_part(self, part: Distribution, batch_shape: Size) -> Distribution:
        return part.expand(batch_shape + self._event_shape[-1:])

    @property
    def mean(self) -> Tensor:
        return self.df.reshape((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = ops.where(factor > 0, factor, math.nan)
        return factor.reshape((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.reshape((*self._batch_shape, 1, 1)) * (covariance.pow(2) + products)

    def _bartlett(self, sample_shape: Sequence[int]) -> Tensor:
        n = self._event_shape[-1]
        noise = self._dist_chi2.rsample(sample_shape).clamp(min=finfo(self.df.dtype).tiny).sqrt().diag_embed()
        rows, columns = ops.tril_indices(n, n, offset=-1).unbind()
        shape = Size(sample_shape) + self._batch_shape + Size((n * (n - 1) // 2,))
        below = _standard_normal(shape, self._unbroadcasted_scale_tril.dtype, self._unbroadcasted_scale_tril.device)
        noise[..., rows, columns] = below.type_as(noise)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape: Sequence[int] = (), max_try_correction: int | None = None) -> Tensor:
        """Draws samples, and those again that are positive definite, with a warning, which is how PyTorch gets its numbers.

        Those that are not (from rounding) are drawn up to ``max_try_correction`` times (default: 3).
        """
        sample = self._bartlett(sample_shape)
        again = self._definite(sample)
        if not again.any():
            return sample
        warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(3 if max_try_correction is None else max_try_correction):
            drawn = self._bartlett((int(again.sum()),))
            sample[again] = drawn
            bad = ~self._definite(drawn)
            if not bad.any():
                break
            again = again.masked_scatter(again, bad)  # a new mask: the gradient reads the one before
        return sample

    def _definite(self, sample: Tensor) -> Tensor:
        """Whether a draw has a positive definite matrix in its batch."""
        with no_grad():
            definite = self.support.check(sample)
            return definite.amax(tuple(range(-len(self._batch_shape), 0))) if self._batch_shape else definite

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        tril = self._unbroadcasted_scale_tril
        return (
            -nu * (p * math.log(2) / 2 + log_determinant(tril))
            - ops.mvlgamma(nu / 2, p)
            + (nu - p - 1) / 2 * linalg_slogdet(value).logabsdet
            - ops.cholesky_solve(value, tril).diagonal(dim1=-2, dim2=-1).sum(-1) / 2
        )

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        return (
            (p + 1) * (p * math.log(2) / 2 + log_determinant(self._unbroadcasted_scale_tril))
            + ops.mvlgamma(nu / 2, p)
            - (nu - p - 1) / 2 * _digammas(nu / 2, p)
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        p = self._event_shape[-1]
        half = y + (p + 1) / 2
        return half * (-linalg_slogdet(-2 * x).logabsdet + math.log(2) * p) + ops.mvlgamma(half, p)


def _digammas(x: Tensor, p: int) -> Tensor:
    """The derivative of ``mvlgamma``."""
    steps = ops.arange(p, dtype=x.dtype, device=x.device) / 2
    return ops.digamma(x.unsqueeze(-1) - steps.expand((*x.shape, -1))).sum(-1)
