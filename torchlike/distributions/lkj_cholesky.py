"""The LKJ distribution of correlation matrices, as Cholesky factors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .. import ops
from .._core.annotations import TensorOrNumber
from .._core.dtypes import finfo
from .._core.size import Size
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Lower Cholesky factors of correlation matrices ``C`` of density proportional to ``det(C)**(concentration - 1)``.

    Args:
        dim: the matrices' size.
        concentration: 1 makes all matrices equally likely, more prefers matrices close to the identity.

    >>> torch.distributions.LKJCholesky(3, 0.5).event_shape
    torch.Size([3, 3])

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.lkj_cholesky.LKJCholesky; the onion method of
    Lewandowski, Kurowicka, Joe, "Generating random correlation matrices based on vines and extended onion method" (2009).
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: TensorOrNumber = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        marginal = self.concentration + 0.5 * (dim - 2)
        like = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        offset = ops.cat([ops.zeros(1, **like), ops.arange(dim - 1, **like)])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)

    def _expanded_part(self, part: Distribution, batch_shape: Size) -> Distribution:
        return part.expand(batch_shape + Size((self.dim,)))

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        # Each row is drawn by itself: first the squared length of its part left of the diagonal, then the direction of this part.
        with no_grad():
            y = self._beta.sample(sample_shape).unsqueeze(-1)
            normal = _standard_normal(
                self._extended_shape(sample_shape), self.concentration.dtype, self.concentration.device
            ).tril(-1)
            direction = normal / normal.norm(dim=-1, keepdim=True)
            direction[..., 0, :] = 0.0
            w = ops.sqrt(y) * direction
            tiny = finfo(w.dtype).tiny
            diagonal = (1 - (w**2).sum(-1)).clamp(min=tiny).sqrt()
            return w + ops.diag_embed(diagonal)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = ops.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        log_density = (order * diagonal.log()).sum(-1)
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        normalizer = 0.5 * n * math.log(math.pi) + ops.mvlgamma(alpha - 0.5, n) - ops.lgamma(alpha) * n
        return log_density - normalizer
