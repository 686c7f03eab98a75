"""Activations with checks or random numbers in addition to their declaration; softmax and related functions."""

from __future__ import annotations

import warnings

from ..._core.annotations import Dtype
from ..._core.tensor import Tensor
from ...dispatch.inplace import into
from ...ops.creation.generators import Generator
from ...ops.elementwise import activation, gated, pointwise
from ...ops.nn.norm import log_softmax as _log_softmax, softmax as _softmax

__all__ = ["elu_", "gumbel_softmax", "hardtanh", "hardtanh_", "log_softmax", "rrelu", "rrelu_", "softmax", "softmin"]


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The input kept within ``min_val`` and ``max_val``.

    >>> F.hardtanh(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return into(input, inplace, activation.hardtanh(input, min_val, max_val))


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """``leaky_relu`` with slopes drawn from [lower, upper) in training, and their mean otherwise."""
    return into(input, inplace, gated.rrelu(input, lower, upper, training))


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """``hardtanh`` in place."""
    return hardtanh(input, min_val, max_val, inplace=True)


def elu_(input: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    """``elu`` in place: ``scale * input`` where ``input`` is positive, else ``scale * alpha * (exp(input_scale * input) - 1)``.

    >>> F.elu_(torch.tensor([-1.0, 0.0, 2.0]), scale=2)
    tensor([-1.2642,  0.0000,  4.0000])
    """
    return into(input, True, activation.scaled_elu(input, alpha, scale, input_scale))


def rrelu_(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """``rrelu`` in place, which may draw from a generator of its own."""
    return into(input, True, gated.rrelu(input, lower, upper, training, generator))


def _implicit_dim(name: str, ndim: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Dtype | None = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along a dimension.

    >>> F.softmax(torch.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    dim = _implicit_dim("softmax", input.dim()) if dim is None else dim
    return _softmax(input, dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Dtype | None = None) -> Tensor:
    """``softmax(-input)``.

    >>> F.softmin(torch.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([0.6652, 0.2447, 0.0900])
    """
    dim = _implicit_dim("softmin", input.dim()) if dim is None else dim
    return _softmax(pointwise.neg(input), dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Dtype | None = None) -> Tensor:
    """The logarithm of ``softmax``, computed without overflow.

    >>> F.log_softmax(torch.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([-2.4076, -1.4076, -0.4076])
    """
    dim = _implicit_dim("log_softmax", input.dim()) if dim is None else dim
    return _log_softmax(input, dim, dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Samples of the Gumbel-softmax distribution: ``softmax((logits + noise) / tau)``.

    Args:
        hard: give one-hot rows, whose gradient is that of the soft ones.

    Source: Jang, Gu, Poole, "Categorical reparameterization with Gumbel-softmax" (2017).
    """
    noise = -logits.detach().clone().exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return logits.detach().clone().zero_().scatter_(dim, index, 1.0) - soft.detach() + soft
