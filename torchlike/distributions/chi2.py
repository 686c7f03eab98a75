"""The chi-squared distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from .._core.annotations import TensorOrNumber
from .._core.tensor import Tensor
from . import constraints
from .gamma import Gamma

if TYPE_CHECKING:
    from .distribution import Distribution


__all__ = ["Chi2"]


class Chi2(Gamma):
    """The sum of the squares of ``df`` standard normal numbers: ``Gamma(df / 2, 1 / 2)``.

    >>> torch.distributions.Chi2(4.0).mean
    tensor(4.)

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.chi2.Chi2
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: TensorOrNumber, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new.concentration, new.rate = self.concentration.expand(batch_shape), self.rate.expand(batch_shape)
        return new

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
