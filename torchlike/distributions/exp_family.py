"""ExponentialFamily: distributions with an entropy that follows from their normaliser."""

from __future__ import annotations

from .._core.tensor import Tensor
from ..autograd.engine import grad
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with density ``exp(t(x) . theta - F(theta) + k(x))``.

    Subclasses give the natural parameters ``theta`` (``_natural_params``), the log-normaliser ``F`` (``_log_normalizer``) and the mean
    of ``k`` (``_mean_carrier_measure``); the entropy is ``F - theta . F'(theta) - E[k]``, with the derivative from autograd.

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.exp_family.ExponentialFamily
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Tensor | float:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        result = -self._mean_carrier_measure
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        slopes = grad(normalizer.sum(), params, create_graph=True)
        result = result + normalizer
        for param, slope in zip(params, slopes, strict=True):
            result = result - (param * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return result
