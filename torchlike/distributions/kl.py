"""The Kullback-Leibler divergence, by pairs of distributions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import total_ordering
from typing import Any

from .. import ops
from .._core.tensor import Tensor
from ..autograd.engine import grad
from ..nn import functional as F
from ..ops.linalg.solving import linalg_solve_triangular
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    lowrank_log_determinant,
    lowrank_squared_distance,
)
from .multivariate_normal import MultivariateNormal, log_determinant, squared_distance
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, ...], Callable[[Distribution, Distribution], Tensor]] = {}
_KL_MEMOIZE: dict[tuple[type, ...], Callable[[Distribution, Distribution], Tensor] | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Decorates the function that computes ``KL(p || q)`` for these classes and their subclasses.

    Raises:
        TypeError: an argument is not a class of distributions.

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.kl.register_kl
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type) and issubclass(kind, Distribution):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorator(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorator


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """``KL(p || q)``, the mean of ``log p(x) - log q(x)`` over draws of ``p``.

    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5000)

    Raises:
        NotImplementedError: the two classes have no formula.

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.kl.kl_divergence
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch(*pair)
    function = _KL_MEMOIZE[pair]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}"
        )
    return function(p, q)


@total_ordering
class _Match:
    """A pair of classes, ordered by how special they are; the first class counts before the second."""

    def __init__(self, *types: type) -> None:
        self.types = types

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Match) and self.types == other.types

    __hash__ = object.__hash__

    def __le__(self, other: _Match) -> bool:
        for own_type, other_type in zip(self.types, other.types, strict=True):
            if not issubclass(own_type, other_type):
                return False
            if own_type is not other_type:
                break
        return True


def _dispatch(type_p: type, type_q: type) -> Callable[[Distribution, Distribution], Tensor] | None:
    """The function that is registered for the most special classes."""
    pairs = [pair for pair in _KL_REGISTRY if issubclass(type_p, pair[0]) and issubclass(type_q, pair[1])]
    if not pairs:
        return None
    by_p: tuple[type, ...] = min(_Match(*pair) for pair in pairs).types
    by_q: tuple[type, ...] = min(_Match(*reversed(pair)) for pair in pairs).types[::-1]
    function, other_function = _KL_REGISTRY[by_p], _KL_REGISTRY[by_q]
    if function is not other_function:
        names = [kind.__name__ for kind in (type_p, type_q, *by_p, *by_q)]
        warnings.warn(
            f"Ambiguous kl_divergence({names[0]}, {names[1]}). Please register_kl({names[2]}, {names[5]})",
            RuntimeWarning,
            stacklevel=3,
        )
    return function


def _where_infinite(condition: Tensor, divergence: Tensor) -> Tensor:
    """``divergence``, but infinite where ``p`` has values that ``q`` excludes."""
    return ops.where(condition, math.inf, divergence)


# ---- p and q of one family


@register_kl(Bernoulli, Bernoulli)
def _(p: Bernoulli, q: Bernoulli) -> Tensor:
    ones = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    ones = ops.where(p.probs == 0, 0.0, _where_infinite(q.probs == 0, ones))
    zeros = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    return ones + ops.where(p.probs == 1, 0.0, _where_infinite(q.probs == 1, zeros))


@register_kl(Beta, Beta)
def _(p: Beta, q: Beta) -> Tensor:
    return kl_divergence(p._dirichlet, q._dirichlet)


@register_kl(Binomial, Binomial)
def _(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    odds = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return _where_infinite(p.total_count > q.total_count, p.total_count * odds)


@register_kl(Categorical, Categorical)
def _(p: Categorical, q: Categorical) -> Tensor:
    terms = p.probs * (p.logits - q.logits)
    return ops.where(p.probs == 0, 0.0, _where_infinite(q.probs == 0, terms)).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return kl_divergence(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    constants = p._cont_bern_log_norm() + ops.log1p(-p.probs) - q._cont_bern_log_norm() - ops.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + constants


@register_kl(Dirichlet, Dirichlet)
def _(p: Dirichlet, q: Dirichlet) -> Tensor:
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    constants = total_p.lgamma() - total_q.lgamma() + (q.concentration.lgamma() - p.concentration.lgamma()).sum(-1)
    slopes = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    return constants + ((p.concentration - q.concentration) * slopes).sum(-1)


@register_kl(Exponential, Exponential)
def _(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
        )
    params_p = [parameter.detach().requires_grad_() for parameter in p._natural_params]
    normalizer = p._log_normalizer(*params_p)
    slopes = grad(normalizer.sum(), params_p, create_graph=True)
    divergence = q._log_normalizer(*q._natural_params) - normalizer
    for of_p, of_q, slope in zip(params_p, q._natural_params, slopes, strict=True):
        divergence = divergence - _sum_rightmost((of_q - of_p) * slope, len(q.event_shape))
    return divergence


@register_kl(Gamma, Gamma)
def _(p: Gamma, q: Gamma) -> Tensor:
    return (
        q.concentration * (p.rate / q.rate).log()
        + ops.lgamma(q.concentration)
        - ops.lgamma(p.concentration)
        + (p.concentration - q.concentration) * ops.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Geometric, Geometric)
def _(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - ops.log1p(-q.probs) / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -ratio.log() + away + ratio * euler_constant + ops.exp(ops.lgamma(1 + ratio) - away) - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def _(p: HalfNormal, q: HalfNormal) -> Tensor:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _(p: Laplace, q: Laplace) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * ops.exp(-away / p.scale) - 1


@register_kl(Normal, Normal)
def _(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    divergence = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return _where_infinite(p.scale < q.scale, divergence)


@register_kl(Poisson, Poisson)
def _(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _(p: Uniform, q: Uniform) -> Tensor:
    divergence = ((q.high - q.low) / (p.high - p.low)).log()
    return _where_infinite((q.low > p.low) | (q.high < p.high), divergence)


@register_kl(Cauchy, Cauchy)
def _(p: Cauchy, q: Cauchy) -> Tensor:
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Independent, Independent)
def _(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


# ---- normal vectors


def _check_sizes(p: Any, q: Any, names: str) -> None:
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {names} with different event shapes cannot be computed")


def _squared(tril: Tensor, matrix: Tensor) -> Tensor:
    """The sum of the squares of ``L^-1 M``, which is the trace of ``(L L^T)^-1 M M^T``."""
    return linalg_solve_triangular(tril, matrix, upper=False).pow(2).sum((-2, -1))


def _lowrank_trace(q: Any, matrix: Tensor) -> Tensor:
    """The trace of ``(W W^T + D)^-1 M M^T``, for the covariance of a low-rank ``q``."""
    diagonal, factor = q._unbroadcasted_cov_diag, q._unbroadcasted_cov_factor
    through = (factor.mT / diagonal.unsqueeze(-2)) @ matrix
    return (matrix.pow(2) / diagonal.unsqueeze(-1)).sum((-2, -1)) - _squared(q._capacitance_tril, through)


def _gaussian_divergence(log_ratio: Tensor, trace: Tensor, distance: Tensor, p: Any) -> Tensor:
    return 0.5 * (log_ratio + trace + distance - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    _check_sizes(p, q, "Multivariate Normals")
    tril_p, tril_q = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    log_ratio = 2 * (log_determinant(tril_q) - log_determinant(tril_p))
    return _gaussian_divergence(log_ratio, _squared(tril_q, tril_p), squared_distance(tril_q, q.loc - p.loc), p)


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _(p: MultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _check_sizes(p, q, "(Low Rank) Multivariate Normals")
    factor, diagonal = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    tril = p._unbroadcasted_scale_tril
    log_ratio = lowrank_log_determinant(diagonal, q._capacitance_tril) - 2 * log_determinant(tril)
    distance = lowrank_squared_distance(factor, diagonal, q.loc - p.loc, q._capacitance_tril)
    return _gaussian_divergence(log_ratio, _lowrank_trace(q, tril), distance, p)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    _check_sizes(p, q, "(Low Rank) Multivariate Normals")
    tril = q._unbroadcasted_scale_tril
    factor, diagonal = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag
    log_ratio = 2 * log_determinant(tril) - lowrank_log_determinant(diagonal, p._capacitance_tril)
    trace = _squared(tril, factor) + _squared(tril, diagonal.sqrt().diag_embed())
    return _gaussian_divergence(log_ratio, trace, squared_distance(tril, q.loc - p.loc), p)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _(p: LowRankMultivariateNormal, q: LowRankMultivariateNormal) -> Tensor:
    _check_sizes(p, q, "Low Rank Multivariate Normals")
    factor, diagonal = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    log_ratio = lowrank_log_determinant(diagonal, q._capacitance_tril) - lowrank_log_determinant(
        p._unbroadcasted_cov_diag, p._capacitance_tril
    )
    trace = _lowrank_trace(q, p._unbroadcasted_cov_factor)
    trace = trace + _lowrank_trace(q, p._unbroadcasted_cov_diag.sqrt().diag_embed())
    distance = lowrank_squared_distance(factor, diagonal, q.loc - p.loc, q._capacitance_tril)
    return _gaussian_divergence(log_ratio, trace, distance, p)


# ---- p and q of two families: minus the entropy of p, minus the mean of log q, which follows from one or two moments of p


@register_kl(Bernoulli, Poisson)
def _(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


def _to_normal(p: Distribution, q: Any) -> Tensor:
    square = q.scale.pow(2)
    return -p.entropy() + 0.5 * ops.log(2 * math.pi * square) + 0.5 * (p.variance + (p.mean - q.loc).pow(2)) / square


def _to_exponential(p: Distribution, q: Any) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


def _to_gamma(p: Distribution, q: Any) -> Tensor:
    constant = ops.lgamma(q.concentration) - q.concentration * q.rate.log()
    return -p.entropy() + constant - (q.concentration - 1) * _mean_log(p) + q.rate * p.mean


def _to_gumbel(p: Distribution, q: Any) -> Tensor:
    away = (q.loc - p.mean) / q.scale
    return -p.entropy() + q.scale.log() - away + ops.exp(q.loc / q.scale) * _mean_exp(p, q.scale)


def _to_continuous_bernoulli(p: Distribution, q: Any) -> Tensor:
    return -p.entropy() - p.mean * q.logits - ops.log1p(-q.probs) - q._cont_bern_log_norm()


def _mean_log(p: Any) -> Tensor:
    """The mean of ``log x``."""
    match p:
        case Beta():
            return ops.digamma(p.concentration1) - ops.digamma(p.concentration1 + p.concentration0)
        case Exponential():
            return -p.rate.log() - euler_constant
        case Pareto():
            return p.scale.log() + p.alpha.reciprocal()
        case _:
            return (ops.xlogy(p.high, p.high) - ops.xlogy(p.low, p.low)) / (p.high - p.low) - 1


def _mean_exp(p: Any, scale: Tensor) -> Tensor:
    """The mean of ``exp(-x / scale)``."""
    match p:
        case Exponential():
            return p.rate * scale / (p.rate * scale + 1)
        case Gamma():
            return (1 + (p.rate * scale).reciprocal()).pow(-p.concentration)
        case Normal():
            return ops.exp(-p.loc / scale + 0.5 * (p.scale / scale).pow(2))
        case _:
            return scale * (ops.exp(-p.low / scale) - ops.exp(-p.high / scale)) / (p.high - p.low)


for _p in (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Uniform):
    register_kl(_p, Normal)(_to_normal)
for _p in (Beta, ContinuousBernoulli, Gamma):
    register_kl(_p, Exponential)(_to_exponential)
for _p in (Beta, Exponential):
    register_kl(_p, Gamma)(_to_gamma)
for _p in (Exponential, Gamma, Normal, Uniform):
    register_kl(_p, Gumbel)(_to_gumbel)
register_kl(Beta, ContinuousBernoulli)(_to_continuous_bernoulli)


@register_kl(Beta, Uniform)
def _(p: Beta, q: Uniform) -> Tensor:
    return _where_infinite((q.low > 0) | (q.high < 1), -p.entropy() + (q.high - q.low).log())


@register_kl(ContinuousBernoulli, Uniform)
def _(p: ContinuousBernoulli, q: Uniform) -> Tensor:
    # PyTorch requires space on both sides: even for [0, 1] itself its result is infinite.
    return _where_infinite((q.low >= 0) | (q.high <= 1), -p.entropy() + (q.high - q.low).log())


@register_kl(Normal, Laplace)
def _(p: Normal, q: Laplace) -> Tensor:
    away = p.loc - q.loc
    ratio = away / p.scale
    distance = math.sqrt(2 / math.pi) * p.scale * ops.exp(-0.5 * ratio.pow(2)) + away * ops.erf(math.sqrt(0.5) * ratio)
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


@register_kl(Pareto, Exponential)
def _(p: Pareto, q: Exponential) -> Tensor:
    return _where_infinite(p.alpha <= 1, _to_exponential(p, q))


@register_kl(Pareto, Gamma)
def _(p: Pareto, q: Gamma) -> Tensor:
    return _where_infinite(p.alpha <= 1, _to_gamma(p, q))


@register_kl(Pareto, Normal)
def _(p: Pareto, q: Normal) -> Tensor:
    return _where_infinite(p.alpha <= 2, _to_normal(p, q))


@register_kl(Uniform, Beta)
def _(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    constant = ops.lgamma(a) + ops.lgamma(b) - ops.lgamma(a + b)
    other = (ops.xlogy(1 - p.low, 1 - p.low) - ops.xlogy(1 - p.high, 1 - p.high)) / (p.high - p.low) - 1
    divergence = -p.entropy() + constant - (a - 1) * _mean_log(p) - (b - 1) * other
    return _where_infinite((p.high > 1) | (p.low < 0), divergence)


@register_kl(Uniform, ContinuousBernoulli)
def _(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    return _where_infinite((p.high > 1) | (p.low < 0), _to_continuous_bernoulli(p, q))


@register_kl(Uniform, Exponential)
def _(p: Uniform, q: Exponential) -> Tensor:
    return _where_infinite(p.low < 0, _to_exponential(p, q))


@register_kl(Uniform, Gamma)
def _(p: Uniform, q: Gamma) -> Tensor:
    return _where_infinite(p.low < 0, _to_gamma(p, q))


@register_kl(Uniform, Pareto)
def _(p: Uniform, q: Pareto) -> Tensor:
    divergence = -p.entropy() - (q.alpha * q.scale.pow(q.alpha)).log() + (q.alpha + 1) * _mean_log(p)
    return _where_infinite(p.low < q.scale, divergence)


# ---- p has values that q excludes: the divergence is infinite


def _never(p: Distribution, q: Distribution) -> Tensor:
    return ops.full_like(p.mean, math.inf)


for _p, _qs in {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}.items():
    for _q in _qs:
        register_kl(_p, _q)(_never)
