"""class Distribution: the base class of all probability distributions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from .. import ops
from .._core.size import Size
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..ops.creation.drawing import of_all_examples
from . import constraints
from .utils import lazy_property

if TYPE_CHECKING:
    from .constraints import Constraint


__all__ = ["Distribution"]


class Distribution:
    """A probability distribution, or a batch of them.

    A sample has the shape ``sample_shape + batch_shape + event_shape``: how many draws, how many distributions, how large one draw is.

    Args:
        batch_shape: one distribution for each index of it.
        event_shape: the shape of one draw.
        validate_args: whether parameters, and the values given to ``log_prob``, are checked. None: see ``set_default_validate_args``.

    Raises:
        ValueError: a parameter outside its constraint.

    >>> torch.distributions.Normal(torch.zeros(3), 1.0).batch_shape
    torch.Size([3])

    Source: https://docs.pytorch.org/docs/stable/distributions.html#torch.distributions.distribution.Distribution
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    _validate_args: bool = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Sets whether new distributions check their arguments by default."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _validate_parameters(self) -> None:
        try:
            constraints_by_name = self.arg_constraints
        except NotImplementedError:
            constraints_by_name = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        for name, constraint in constraints_by_name.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property):
                continue  # not computed yet: the parameters it is computed from are checked
            value = getattr(self, name)
            if not of_all_examples(constraint.check(value)).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution {self!r} to satisfy "
                    f"the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Self:
        """The same distribution over a larger batch; its parameters are expanded and not copied."""
        new = self._get_checked_instance(self._family(), _instance)
        batch_shape = Size(batch_shape)
        constraints_by_name = self.arg_constraints
        for name, value in self.__dict__.items():
            if name in constraints_by_name and isinstance(value, Tensor):
                event = value.shape[value.dim() - constraints_by_name[name].event_dim :]
                value = value.expand(batch_shape + event)
            elif isinstance(value, Distribution):
                value = self._expanded_part(value, batch_shape)
            new.__dict__[name] = value
        new._batch_shape = batch_shape
        return new

    def _expanded_part(self, part: Distribution, batch_shape: Size) -> Distribution:
        """A distribution that is a part of this one, expanded to a batch of this shape."""
        return part.expand(batch_shape)

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw."""
        return self._event_shape

    if TYPE_CHECKING:  # subclasses may have a plain attribute or a property
        arg_constraints: dict[str, Constraint]
        support: Constraint
    else:

        @property
        def arg_constraints(self) -> dict[str, Constraint]:
            """The constraint of each parameter, by name."""
            raise NotImplementedError

        @property
        def support(self) -> Constraint:
            """The constraint that all draws satisfy."""
            raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws, without a gradient."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws through which gradients flow to the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """``n`` draws."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at a value."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most this value."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The value below which draws lie with this probability."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along the first dimension; with ``expand`` for each of the batch."""
        raise NotImplementedError

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        """``values`` along the first dimension; the batch's dimensions have the size 1, or are expanded."""
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp of the entropy."""
        return ops.exp(self.entropy())

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        if not isinstance(sample_shape, Size):
            sample_shape = Size(sample_shape)
        return Size(sample_shape + self._batch_shape + self._event_shape)

    def _validate_sample(self, value: Tensor) -> None:
        """Raises a ValueError for a value outside of the distribution's support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = value.dim() - len(self._event_shape)
        if value.shape[max(start, 0) :] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.shape), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the distribution with "
                "`validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not of_all_examples(support.check(value)).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support ({support!r}) of "
                f"the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _family(self) -> type:
        """The class of this package that an instance belongs to."""
        # Where `import torch` means torchlike, the classes say PyTorch's address.
        packages = "torchlike.distributions.", "torch.distributions."
        return next(c for c in type(self).__mro__ if f"{c.__module__}.".startswith(packages))

    def _get_checked_instance(self, cls: type, _instance: Distribution | None = None) -> Any:
        """A new instance for ``expand``, without a call of ``__init__``. A subclass with its own ``__init__`` must define ``expand``."""
        if _instance is not None:
            return _instance
        if type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must also define a custom "
                ".expand() method."
            )
        return self.__new__(type(self))

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        values = [(name, self.__dict__[name]) for name in names]
        text = ", ".join(f"{name}: {v if v.numel() == 1 else v.size()}" for name, v in values)
        return f"{self.__class__.__name__}({text})"
